// Command serve is the stand-in for model servers by itself, for trying an agent by hand:
//
//	go run ./internal/e2e/modelserver/serve -listen 127.0.0.1:8088
//
// It writes a line of JSON for each request to standard output.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/e2e/modelserver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:8088", "address of the loopback")
	pause := flag.Duration("pause", 0, "pause between the words of an answer")
	bodies := flag.String("bodies", "", "directory for the bodies of requests")
	flag.Parse()

	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		return fmt.Errorf("%s is not of the loopback", ip)
	}
	var lock sync.Mutex
	out, n := json.NewEncoder(os.Stdout), 0
	server := &modelserver.Server{Pause: *pause, Log: func(e modelserver.Event) {
		lock.Lock()
		defer lock.Unlock()
		n++
		if *bodies != "" {
			name := fmt.Sprintf("%05d.json", n)
			if err := os.WriteFile(filepath.Join(*bodies, name), e.Body, 0o600); err != nil {
				fmt.Fprintln(os.Stderr, "serve:", err)
			}
		}
		_ = out.Encode(e)
	}}
	return (&http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}).Serve(l)
}
