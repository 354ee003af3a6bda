// readers says how other programs read an object: kstatus by its own library (kubectl wait's cousin, which Flux and kpt use),
// and Argo CD by the health checks of our documentation, in the Lua interpreter that Argo CD has.
//
//	readers argocd-cm.yaml < objects
//
// Each line of the input is an object in JSON; each is answered by one line: {"kstatus":"Current","argo":"Healthy",…}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type reading struct {
	Kstatus        string `json:"kstatus"`
	KstatusMessage string `json:"kstatusMessage"`
	Argo           string `json:"argo"`
	ArgoMessage    string `json:"argoMessage"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("readers: ")
	if len(os.Args) != 2 {
		log.Fatal("name the ConfigMap of Argo CD, as a file")
	}
	checks, err := load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		read, err := readObject(checks, lines.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func readObject(checks map[string]string, line []byte) (reading, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(line); err != nil {
		return reading{}, err
	}
	result, err := status.Compute(object)
	if err != nil {
		return reading{}, fmt.Errorf("kstatus: %w", err)
	}
	health, message, err := argo(checks, object)
	if err != nil {
		return reading{}, fmt.Errorf("Argo CD: %w", err)
	}
	return reading{result.Status.String(), result.Message, health, message}, nil
}
