// Command art-net carries what the guest of a session says to the names that it may reach. It is for art alone, which starts it and
// leaves it descriptors: see control/net.go.
package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/confine"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netgate"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/netsecret"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-net"

// memory is from where on the collector runs more often.
const memory = 128 << 20

func main() {
	err := libexec.CheckCaller(prog)
	if err == nil {
		err = run(os.Args[1:])
	}
	if err != nil {
		cli.Fail(prog, err)
		os.Exit(cli.ExitError)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "--version":
		_, err := fmt.Printf("%s %s\n", prog, version.Version)
		return err
	case len(args) > 1 && args[0] == "authority":
		return makeAuthority(args[1:])
	case len(args) > 1 && args[0] == "ssh-hosts":
		return findKnown(args[1:])
	case len(args) == 1 && args[0] == "ssh-agent":
		return serveAgent()
	case len(args) == 1 && args[0] == "ports":
		return servePorts()
	case len(args) != 1 || args[0] != "serve":
		return cli.WithHint(errors.New("read the command line: this program is for art alone"), "see art --help, --network")
	}
	// Its end is that of the session, not a Ctrl-C that is meant for the command.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	unix.CloseOnExec(control.TunnelFD)
	// A packet goes from goroutine to goroutine. On few processors it costs more to wake another thread for the next one than it takes, and
	// the guest and the server that it speaks to need the processors too.
	runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	// Thousands of connections are mostly what the collector can give back: stacks that were deep once.
	debug.SetMemoryLimit(memory)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep others from this process: %w", err)
	}
	what, source := &control.Net{}, os.NewFile(control.NetFD, "rules")
	err := control.ReadFile(source, what)
	source.Close()
	if err != nil {
		return fmt.Errorf("read the rules: %w", err)
	}
	rules, err := netrule.ParseRules(what.Allow, what.Deny)
	if err == nil {
		err = rules.MayBeLocal(what.Local)
	}
	if err != nil {
		return fmt.Errorf("read the rules: %w", err)
	}
	rules.Public = what.Public
	gate := netgate.New(rules)
	if what.Ask {
		gate.Ask()
	}
	if len(what.Secrets) > 0 {
		if err := endSecrets(gate, what); err != nil {
			return err
		}
	}
	if err := confine.Net(); err != nil {
		return err
	}
	return serve(gate, what.MTU)
}

// endSecrets has the gate send secrets to their hosts.
func endSecrets(gate *netgate.Gate, what *control.Net) error {
	roots, err := x509.SystemCertPool() // its files are out of reach later
	if err != nil {
		return fmt.Errorf("read the certificates of the host: %w", err)
	}
	ender, err := netsecret.New(what.Secrets, &what.Authority, roots, gate.Deny)
	if err != nil {
		return err
	}
	gate.EndAt(ender)
	return nil
}

// makeAuthority writes a new authority for some hosts to standard output.
func makeAuthority(hosts []string) error {
	a, err := netsecret.NewAuthority(hosts)
	if err == nil {
		_, err = os.Stdout.Write(control.Marshal(a))
	}
	if err != nil {
		return fmt.Errorf("make an authority: %w", err)
	}
	return nil
}

// serve serves the guest until art closes standard input, and tells what was denied.
func serve(gate *netgate.Gate, mtu uint32) error {
	gate.Tell(os.Stdout)
	if err := gate.Serve(control.TunnelFD, mtu, func(error) {}); err != nil { // the device goes with the guest
		return fmt.Errorf("serve the network: %w", err)
	}
	if err := obey(gate, os.Stdin); err != nil {
		return fmt.Errorf("wait for art: %w", err)
	}
	// Of a device that goes with the last descriptor of it, the kernel has this process wait some 10 ms for all who may still use it
	// (unregister_netdevice in net/core/dev.c). This one goes with the guest's network, which is about to end.
	if err := unix.IoctlSetInt(control.TunnelFD, unix.TUNSETPERSIST, 1); err != nil && !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("leave the device: %w", err)
	}
	gate.EndTelling()
	return control.WriteFrame(os.Stdout, gate.Report())
}

// obey does what art says, until that is all.
func obey(gate *netgate.Gate, from io.Reader) error {
	for {
		frame, err := control.ReadFrame(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var orders control.NetOrders
		if err == nil {
			err = control.Unmarshal(frame, &orders)
		}
		if err != nil {
			return err
		}
		if orders.Noted != 0 {
			gate.Noted(orders.Noted)
		}
		if orders.Grant.Number != 0 {
			gate.Grant(&orders.Grant)
		}
	}
}
