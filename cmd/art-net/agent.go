package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/confine"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sshgate"
)

// findKnown writes the keys of some hosts to standard output, from files before them and a --.
func findKnown(args []string) error {
	i := slices.Index(args, "--")
	if i < 0 {
		return fmt.Errorf("find the keys of hosts: there is no --")
	}
	known, err := sshgate.Known(args[:i], args[i+1:])
	if err == nil {
		_, err = os.Stdout.Write(control.Marshal(known))
	}
	return err
}

// serveAgent is the guest's agent of SSH until art closes standard input, and tells what was denied.
func serveAgent() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep others from this process: %w", err)
	}
	what, source := &control.SSH{}, os.NewFile(control.SSHFD, "rules")
	err := control.ReadFile(source, what)
	source.Close()
	if err != nil {
		return fmt.Errorf("read the rules: %w", err)
	}
	guest, own := os.NewFile(control.AgentFD, "guest"), os.NewFile(control.OwnAgentFD, "agent")
	l, err := net.FileListener(guest)
	if err != nil {
		return fmt.Errorf("listen for the guest: %w", err)
	}
	c, err := net.FileConn(own)
	if err != nil {
		return fmt.Errorf("reach the agent: %w", err)
	}
	guest.Close()
	own.Close()
	gate, err := sshgate.New(agent.NewClient(c), what)
	if err != nil {
		return err
	}
	if err := confine.Agent(); err != nil {
		return err
	}
	go func() { _ = gate.Serve(l) }() // to the end of this process
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return fmt.Errorf("wait for art: %w", err)
	}
	_, err = os.Stdout.Write(control.Marshal(gate.Report()))
	return err
}
