package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/confine"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/publish"
)

// servePorts connects the ports that are published until art closes standard input. It was started in the guest's network.
func servePorts() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep others from this process: %w", err)
	}
	ports, source := &control.Ports{}, os.NewFile(control.PortsFD, "ports")
	err := control.ReadFile(source, ports)
	source.Close()
	if err != nil {
		return fmt.Errorf("read the ports: %w", err)
	}
	if len(ports.Guest) == 0 {
		return errors.New("read the ports: there are none")
	}
	gate := publish.New(os.Stdout, len(ports.Guest))
	var listeners []net.Listener
	for i := range ports.Guest {
		file := os.NewFile(uintptr(control.FirstPortFD+i), "port")
		l, err := net.FileListener(file)
		file.Close()
		if err != nil {
			return fmt.Errorf("listen on the host: %w", err)
		}
		listeners = append(listeners, l)
	}
	if err := confine.Ports(); err != nil {
		return err
	}
	for i, port := range ports.Guest {
		go gate.Serve(listeners[i], i, port) // to the end of this process
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return fmt.Errorf("wait for art: %w", err)
	}
	return nil
}
