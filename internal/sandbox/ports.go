package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
	"github.com/riverlytech/art/internal/publish"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/libexec"
)

// published is a port of the guest's, and the socket of the host's loopback at which it is reached.
type published struct {
	config.Port
	listener *os.File
}

// ports are those that are published: art-net connects them, as a process on the host that is in the guest's network.
type ports struct {
	life   *os.File     // it ends when that is closed
	done   <-chan error // tells how it ended
	pid    int
	heard  chan struct{} // closed when all is read that it has told
	mu     sync.Mutex
	counts map[int]*control.PublishedPort // GUARDED_BY(mu); by the guest's port, of connections
}

// publish listens for the ports that are to be published, so that what stands against it is known before anything begins.
func (p *prepared) publish(o *request, settings *config.Settings) error {
	if len(settings.Publish) == 0 {
		return nil
	}
	if settings.Network.Value == "host" {
		e := settings.Publish[0]
		return cli.WithHint(fmt.Errorf("%s: publish %s: the network is the host's, where the guest's ports are already", e.Origin, e.Value),
			"leave it out, or give the session a network of its own: --network none, or the names that it may reach")
	}
	if len(settings.Publish) > control.MaxPorts {
		return fmt.Errorf("publish ports: there are more than %d", control.MaxPorts)
	}
	if _, err := libexec.Find("art-net"); err != nil {
		return err
	}
	p.onRelease(func() {
		for _, port := range p.published {
			port.listener.Close()
		}
	})
	for _, e := range settings.Publish {
		port, err := config.ParsePort(e.Value)
		if err != nil {
			return fmt.Errorf("%s: publish %s: %w", e.Origin, e.Value, err)
		}
		if err := p.listen(port); err != nil {
			return publishError(e, port, err)
		}
		if !o.Quiet {
			last := p.published[len(p.published)-1]
			fmt.Fprintf(os.Stderr, "art: 127.0.0.1:%d leads to port %d of the session\n", last.Host, last.Guest)
		}
	}
	return nil
}

// listen listens for one.
func (p *prepared) listen(port config.Port) error {
	l, err := publish.Listen(port.Host)
	if err != nil {
		return err
	}
	defer l.Close()
	file, err := l.File()
	if err != nil {
		return err
	}
	port.Host = l.Addr().(*net.TCPAddr).Port
	p.published = append(p.published, published{port, file})
	return nil
}

func publishError(e config.Entry, port config.Port, err error) error {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return cli.WithHint(fmt.Errorf("%s: publish %s: port %d of 127.0.0.1 is in use", e.Origin, e.Value, port.Host),
			fmt.Sprintf("art ports lists those of sessions; take another one, or one that is free: --publish 0:%d", port.Guest))
	case errors.Is(err, unix.EACCES):
		return cli.WithHint(fmt.Errorf("%s: publish %s: an ordinary user may not listen at port %d of the host", e.Origin, e.Value, port.Host),
			fmt.Sprintf("take one from 1024 on: --publish %d:%d", 8000+port.Host%1000, port.Guest))
	}
	return fmt.Errorf("%s: publish %s: %w", e.Origin, e.Value, cli.Reason(err))
}

// startPorts starts art-net in the network of the guest, of which pid is the first process and nothing but art's own.
func (s *session) startPorts(pid int) (err error) {
	if len(s.published) == 0 || s.ports.life != nil {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("publish ports: %w", cli.Reason(err))
		}
	}()
	namespaces, err := openNamespaces(s.stage.Pid, pid)
	if err != nil {
		return err
	}
	defer closeFiles(namespaces)
	cmd, err := libexec.Command("art-net", "ports")
	if err != nil {
		return err
	}
	stdin, life, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	plan, w, err := os.Pipe()
	if err != nil {
		life.Close()
		return err
	}
	defer plan.Close()
	defer w.Close()
	told, stdout, err := os.Pipe()
	if err != nil {
		life.Close()
		return err
	}
	files, what := []*os.File{stdin, stdout, s.null, plan}, control.Ports{}
	s.ports.counts = map[int]*control.PublishedPort{}
	for _, port := range s.published {
		files, what.Guest = append(files, port.listener), append(what.Guest, port.Guest)
		s.ports.counts[port.Host] = &control.PublishedPort{Host: port.Host, Guest: port.Guest}
	}
	p := &process{}
	err = p.begin(&spawn.Command{
		Path: cmd.Path, Args: cmd.Args, Env: libexec.CallerEnv(), Files: files, Closed: true, Setsid: true,
		// The stage's user namespace, which has rights over that network, and the network.
		Enter: []*os.File{namespaces[0], namespaces[2]},
	})
	stdout.Close()
	if err != nil {
		life.Close()
		told.Close()
		return err
	}
	s.ports.life, s.ports.done, s.ports.pid, s.ports.heard = life, p.done, p.Pid, make(chan struct{})
	ledger, err := s.portsLedger()
	if err != nil {
		told.Close()
		return err
	}
	go func() {
		defer close(s.ports.heard)
		defer told.Close()
		s.ports.hear(told, ledger)
	}()
	if _, err = w.Write(control.Marshal(&what)); errors.Is(err, unix.EPIPE) {
		err = nil // it has ended
	}
	return err
}

// portsLedger returns what connections are told to; without names for a network there is none yet.
func (s *session) portsLedger() (*netledger.Ledger, error) {
	if s.network.ledger == nil {
		if err := s.beginLedger(nil); err != nil {
			return nil, err
		}
	}
	return s.network.ledger, nil
}

// ofPorts is in the numbers of events of published ports, so that art-net's others have none of them.
const ofPorts = 1 << 62

// hear takes what art-net tells of connections. What makes no sense is the end of that.
func (p *ports) hear(from io.Reader, ledger *netledger.Ledger) {
	for {
		frame, err := control.ReadFrame(from)
		var told control.NetEvents
		if err != nil || control.Unmarshal(frame, &told) != nil {
			break
		}
		for i := range told.Events {
			e := &told.Events[i]
			if e.Check() != nil || e.Kind > control.NetEnded || e.Number >= ofPorts {
				_, _ = io.Copy(io.Discard, from)
				return
			}
			p.count(e)
			e.Number |= ofPorts
			ledger.Hear(e)
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

func (p *ports) count(e *control.NetEvent) {
	_, host, _ := strings.Cut(e.Rule, "127.0.0.1:")
	n, _ := strconv.Atoi(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch port := p.counts[n]; {
	case port == nil:
	case e.Kind == control.NetBegun:
		port.Open++
		port.Total++
	default:
		port.Open = max(0, port.Open-1)
	}
}

// endPorts has nothing be reached any more.
func (s *session) endPorts() {
	p := &s.ports
	if p.life == nil {
		return
	}
	p.life.Close()
	p.life = nil
	if err := <-p.done; err != nil {
		cli.Fail("art", fmt.Errorf("publish ports: art-net ended: %s: they were not reached from then on", ending(err)))
	}
	<-p.heard
}

// answerPorts tells which ports are published.
func (s *session) answerPorts(c *sessions.Conn) error {
	var told control.PortsTold
	s.registry.do(func() {
		if s.ports.life == nil {
			return
		}
		listening := listens(s.ports.pid)
		s.ports.mu.Lock()
		defer s.ports.mu.Unlock()
		for _, port := range s.published {
			n := *s.ports.counts[port.Host]
			n.Listens = listening[port.Guest]
			told.List = append(told.List, n)
		}
	})
	return c.Answer(&told)
}

// listens returns the ports at which something listens in the network of a process (proc_net_tcp(5)).
func listens(pid int) map[int]bool {
	const listening = "0A"
	found := map[int]bool{}
	for _, file := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			continue // there is no IPv6
		}
		for line := range bytes.Lines(text) {
			fields := strings.Fields(string(line))
			if len(fields) < 4 || fields[3] != listening {
				continue
			}
			if port, err := strconv.ParseUint(fields[1][strings.LastIndexByte(fields[1], ':')+1:], 16, 16); err == nil {
				found[int(port)] = true
			}
		}
	}
	return found
}
