package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
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
	life  *os.File     // it ends when that is closed; nil when it has, or was not begun
	done  <-chan error // tells how it ended; nil after
	pid   int
	lost  error         // that it has ended before the session, which is still to be told
	heard chan struct{} // closed when all is read that it has told; nil before it begins

	mu     sync.Mutex
	counts []control.PublishedPort // GUARDED_BY(mu); in the order of those that are published
}

// publishFlag is where a port is from that was asked for, for this session. One of settings, which are for others too, is left out with a
// warning where it cannot be had.
const publishFlag = "--publish"

// overPublish puts the ports that the options name before those of settings, each once.
func (o *request) overPublish(s *config.Settings) error {
	list := s.Publish
	if slices.Contains(o.Publish, config.PublishNone) {
		list = nil
	}
	var all []config.Entry
	for _, text := range o.Publish {
		if text == config.PublishNone {
			continue
		}
		port, err := config.ParsePort(text)
		if err != nil {
			return fmt.Errorf("read --publish: %w", err)
		}
		all = append(all, config.Entry{Value: port.String(), Origin: publishFlag})
	}
	s.Publish = nil
	for _, e := range slices.Concat(all, list) {
		if !slices.Contains(values(s.Publish), e.Value) {
			s.Publish = append(s.Publish, e)
		}
	}
	return nil
}

// publish listens for the ports that are to be published, so that what stands against it is known before anything begins.
func (p *prepared) publish(o *request, settings *config.Settings) error {
	if len(settings.Publish) == 0 {
		return nil
	}
	if len(settings.Publish) > control.MaxPorts {
		return fmt.Errorf("publish ports: there are more than %d", control.MaxPorts)
	}
	if _, err := libexec.Find("art-net"); err != nil {
		return err
	}
	p.onRelease(p.closePublished)
	for _, e := range settings.Publish {
		port, err := config.ParsePort(e.Value)
		if err != nil {
			return fmt.Errorf("%s: publish %s: %w", e.Origin, e.Value, err)
		}
		if settings.Network.Value == "host" {
			if e.Origin != publishFlag && port.Host == port.Guest {
				continue // the guest's is the host's
			}
			err = errHostNetwork
		} else {
			err = p.listen(port)
		}
		switch {
		case err == nil:
		case e.Origin != publishFlag && (errors.Is(err, errHostNetwork) || errors.Is(err, unix.EADDRINUSE)):
			if !o.Quiet {
				fmt.Fprintf(os.Stderr, "art: warning: %s: it is not published\n", cli.Printable(publishError(e, port, err).Error()))
			}
			continue
		default:
			return publishError(e, port, err)
		}
		if !o.Quiet {
			last := p.published[len(p.published)-1]
			fmt.Fprintf(os.Stderr, "art: 127.0.0.1:%d leads to port %d of the session\n", last.Host, last.Guest)
		}
	}
	return nil
}

// closePublished closes art's own copies of the sockets. With one of them left the kernel would go on accepting without art-net.
func (p *prepared) closePublished() {
	for _, port := range p.published {
		port.listener.Close() // once more does no harm
	}
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

var errHostNetwork = errors.New("the network is the host's, where the guest's ports are already")

func publishError(e config.Entry, port config.Port, err error) error {
	switch {
	case errors.Is(err, errHostNetwork):
		return cli.WithHint(fmt.Errorf("%s: publish %s: %w", e.Origin, e.Value, err),
			"leave it out, or give the session a network of its own: --network none, or the names that it may reach")
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
	if len(s.published) == 0 || s.ports.heard != nil {
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
	ledger, err := s.portsLedger()
	if err != nil {
		return err
	}
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
	s.ports.counts = nil
	for _, port := range s.published {
		files, what.Guest = append(files, port.listener), append(what.Guest, port.Guest)
		s.ports.counts = append(s.ports.counts, control.PublishedPort{Host: port.Host, Guest: port.Guest})
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
	s.closePublished()
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
			if e.Check() != nil || e.Kind > control.NetEnded || e.Number >= ofPorts || !p.count(e) {
				_, _ = io.Copy(io.Discard, from)
				return
			}
			e.Number |= ofPorts
			ledger.Hear(e)
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

// count counts a connection, and says whether there is such a port.
func (p *ports) count(e *control.NetEvent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Published >= len(p.counts) {
		return false
	}
	port := &p.counts[e.Published]
	if e.Kind == control.NetBegun {
		port.Open++
		port.Total++
	} else {
		port.Open = max(0, port.Open-1)
	}
	return true
}

// portsEnded is called when art-net has ended before the session: nothing listens on the host any more.
func (s *session) portsEnded(err error) {
	p := &s.ports
	p.done = nil
	p.life.Close()
	p.life = nil
	p.lost = fmt.Errorf("publish ports: art-net ended: %s: they were not reached from then on", ending(err))
	if s.streams.Terminal == nil {
		s.tellLost()
	}
}

// endPorts has nothing be reached any more.
func (s *session) endPorts() {
	p := &s.ports
	if p.life != nil {
		p.life.Close()
		p.life = nil
	}
	if p.done != nil {
		if err := <-p.done; err != nil {
			p.lost = fmt.Errorf("publish ports: art-net ended: %s", ending(err))
		}
		p.done = nil
	}
	if p.heard != nil {
		<-p.heard
	}
}

// answerPorts tells which ports are published. What the guest makes long is read where nothing else waits for it.
func (s *session) answerPorts(c *sessions.Conn) error {
	var told control.PortsTold
	var tables []*os.File
	s.registry.do(func() {
		p := &s.ports
		if p.life == nil {
			return
		}
		tables = socketTables(p.pid)
		p.mu.Lock()
		defer p.mu.Unlock()
		told.List = slices.Clone(p.counts)
	})
	defer closeFiles(tables)
	found := map[int]bool{}
	for _, table := range tables {
		listens(table, found)
	}
	for i := range told.List {
		told.List[i].Listens = found[told.List[i].Guest]
	}
	return c.Answer(&told)
}

// socketTables opens what tells of the TCP sockets in the network of a process (proc_net_tcp(5)).
func socketTables(pid int) (tables []*os.File) {
	for _, name := range []string{"tcp", "tcp6"} {
		if table, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, name)); err == nil { // there may be no IPv6
			tables = append(tables, table)
		}
	}
	return tables
}

// maxTable is how much of a table is read: some 27,000 sockets that listen.
const maxTable = 4 << 20

// listens adds the ports at which something listens. Such sockets come before all others (tcp_seek_last_pos in net/ipv4/tcp_ipv4.c), of
// which a guest may have many more.
func listens(table io.Reader, found map[int]bool) {
	const listening = "0A"
	lines := bufio.NewScanner(io.LimitReader(table, maxTable))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != listening {
			if len(fields) > 0 && fields[0] == "sl" {
				continue // the heading
			}
			return
		}
		if port, err := strconv.ParseUint(fields[1][strings.LastIndexByte(fields[1], ':')+1:], 16, 16); err == nil {
			found[int(port)] = true
		}
	}
}
