// vcsim is the vCenter simulator of the end-to-end cluster: govmomi's simulator with a certificate and a password that
// are given, and a control port through which tests ask for faults and read counts (see control.go).
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/vmware/govmomi/simulator"
)

type config struct {
	listen, control, cert, key     string
	username, password             string
	datacenters, clusters, hosts   int
	datastores, portgroups, guests int
}

func main() {
	var c config
	flag.StringVar(&c.listen, "listen", "127.0.0.1:8989", "address and port of the SDK, over TLS")
	flag.StringVar(&c.cert, "cert", "", "PEM file with the server's certificate (and chain)")
	flag.StringVar(&c.key, "key", "", "PEM file with its private key")
	flag.StringVar(&c.username, "username", "", "the one user that may log in")
	flag.StringVar(&c.password, "password", "", "and the password")
	flag.StringVar(&c.control, "control", "127.0.0.1:8990", "address and port of the control API, plain HTTP; empty for none")
	flag.IntVar(&c.datacenters, "datacenters", 1, "datacenters")
	flag.IntVar(&c.clusters, "clusters", 1, "clusters in each datacenter")
	flag.IntVar(&c.hosts, "hosts", 3, "hosts in each cluster")
	flag.IntVar(&c.datastores, "datastores", 1, "datastores in each datacenter")
	flag.IntVar(&c.portgroups, "portgroups", 1, "distributed port groups in each datacenter")
	flag.IntVar(&c.guests, "machines", 0, "virtual machines in each cluster")
	flag.Parse()
	if err := run(c); err != nil {
		log.Fatalf("vcsim: %v", err)
	}
}

func run(c config) error {
	if c.cert == "" || c.key == "" || c.username == "" || c.password == "" {
		return errors.New("--cert, --key, --username and --password are needed")
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}

	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost = c.datacenters, c.clusters, c.hosts
	model.Host, model.Machine, model.Datastore, model.Portgroup = 0, c.guests, c.datastores, c.portgroups
	defer model.Remove()
	if err := model.Create(); err != nil {
		return err
	}

	faults := newControl(model.Service, c.username, c.password)
	sdk := &http.Server{
		Addr:      c.listen,
		Handler:   faults.gate(mux(model.Service, c)),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		// HTTP/1.1 only, as vCenter's SDK end point is in practice.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(os.Stderr, "vcsim: ", 0),
	}
	failed := make(chan error, 2)
	go func() { failed <- sdk.ListenAndServeTLS("", "") }()
	if c.control != "" {
		go func() { failed <- http.ListenAndServe(c.control, faults.api()) }()
	}
	log.Printf("vcsim: SDK on https://%s/sdk, control on http://%s", c.listen, c.control)

	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	select {
	case err := <-failed:
		return err
	case <-stop.Done():
		faults.reset() // let go of the requests that hang
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = sdk.Shutdown(grace)
		return nil
	}
}

// mux is what simulator.Service.NewServer does, without its own listener: ours has a certificate of the caller's.
func mux(s *simulator.Service, c config) http.Handler {
	s.Listen = &url.URL{Scheme: "https", Host: c.listen, Path: "/sdk", User: url.UserPassword(c.username, c.password)}
	s.RegisterSDK(s.Context.Map)
	s.ServeMux.HandleFunc("/sdk/vimServiceVersions.xml", s.ServiceVersions)
	return s.ServeMux
}
