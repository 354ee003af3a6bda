// Command pause holds a pod's namespaces open: it waits for SIGTERM or SIGINT and reaps what is orphaned to it.
// Two more verbs let a test look at the network from inside a pod: `lookup NAME` and `dial HOST:PORT`.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 {
		os.Exit(probe(os.Args[1], os.Args[2]))
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

// probe prints one line with what it saw. It ends with 0 where the name resolves or the address answers, else with 3.
func probe(verb, target string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	start := time.Now()
	var err error
	var answer any
	switch verb {
	case "lookup":
		answer, err = net.DefaultResolver.LookupHost(ctx, target)
	case "dial":
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, "tcp", target); err == nil {
			answer = c.RemoteAddr()
			c.Close()
		}
	default:
		fmt.Println("unknown verb", verb)
		return 2
	}
	took := time.Since(start).Round(time.Millisecond)
	var dns *net.DNSError
	switch {
	case err == nil:
		fmt.Println("answer:", answer, "after", took)
		return 0
	case errors.As(err, &dns) && dns.IsNotFound:
		fmt.Println("not found:", target, "after", took)
	default:
		fmt.Println("failed:", err, "after", took)
	}
	return 3
}
