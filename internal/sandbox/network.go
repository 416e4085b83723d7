package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/libexec"
)

// network is that of a guest which reaches names alone: art-net is the other end of its only interface.
type network struct {
	life   *os.File     // art-net ends when it is closed
	done   <-chan error // tells how art-net ended; nil without one, and after
	ledger *netledger.Ledger
	owners *netledger.Owners  // whose connections are
	report *control.NetReport // what was denied; nil where that is not known
	used   netledger.Used     // what was reached
	kept   *os.File           // a socket to art-fuse, which keeps what the guest does; nil without
	lost   error              // why the guest has no network any more
}

// useNetwork has the guest reach what the settings name, and nothing else. What that takes is looked for here.
func (p *prepared) useNetwork(o *request, settings *config.Settings) error {
	if settings.Network.Value != config.NetworkNames {
		p.plan.View.Network = settings.Network.Value == "host"
		return nil
	}
	if _, err := libexec.Find("art-net"); err != nil {
		return err
	}
	p.net = &control.Net{
		Allow: values(settings.NetAllow), Deny: values(settings.NetDeny), Local: values(settings.NetLocal),
		Ask: settings.NetAsk.Value == "true", Public: o.Learn, MTU: stage.TunnelMTU,
	}
	p.netSettings, p.netDenied = netSettings(o, settings, os.Getenv), values(o.denied)
	for _, rule := range p.netDenied { // but for what the flag allows
		deny := append(slices.Clip(p.net.Deny), rule)
		if _, err := netrule.ParseRules(p.net.Allow, deny); err == nil && o.Learn {
			p.net.Deny = deny
		}
	}
	p.plan.Tunnel, p.plan.View.Network = true, true
	p.plan.Resolver = fmt.Sprintf("# by art\nnameserver %s\noptions timeout:1\nsearch .\n", control.Gateway4)
	p.plan.Hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	p.plan.View.Resolver, p.plan.View.Hosts = p.plan.ResolverPath(), p.plan.HostsPath()
	return nil
}

// startNet starts art-net on the guest's device. Of a stage that is started once more it is another one.
func (s *session) startNet(fd int) (err error) {
	device := os.NewFile(uintptr(fd), "tunnel")
	defer device.Close()
	if s.net == nil {
		return errors.New("start art-net: nobody has asked for it")
	}
	s.endNet()
	cmd, err := libexec.Command("art-net", "serve")
	if err != nil {
		return err
	}
	p := &process{}
	inherited := []*os.File{}
	defer func() { closeFiles(inherited) }()
	pipe := func() (w *os.File) {
		var r *os.File
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				inherited = append(inherited, r)
			}
		}
		return w
	}
	life, rules := pipe(), pipe()
	defer func() {
		rules.Close() // nil does no harm
		if s.network.life != life {
			life.Close()
			s.network.endLedger()
			s.network.endOwners()
		}
	}()
	if err == nil {
		err = s.beginLedger(life)
	}
	var stdout *os.File
	if err == nil {
		stdout, err = p.add(s.network.ledger)
	}
	stderr := os.Stderr
	if err == nil && (s.background != nil || s.caller != nil) {
		stderr, err = p.add(ownStderr{})
	}
	if err == nil {
		err = p.begin(&spawn.Command{
			Path: cmd.Path, Args: cmd.Args, Env: append(libexec.CallerEnv(), ownRoots()...),
			Files:  []*os.File{inherited[0], stdout, stderr, device, inherited[1]},
			Closed: true,
			Setsid: true, // away from the terminal's signals
		})
	}
	if err == nil {
		s.network.life, s.network.done = life, p.done
		what := *s.net
		what.Ask = what.Ask && (s.background != nil || s.streams.OnTerminal()) // nobody looks at others
		_, err = rules.Write(control.Marshal(&what))
		if errors.Is(err, unix.EPIPE) {
			err = nil // it has ended, and that is told
		}
	}
	if err != nil {
		return fmt.Errorf("start art-net: %w", cli.Reason(err))
	}
	return nil
}

// netEnded is called when art-net has ended before the session: the guest's interface is gone with it.
func (s *session) netEnded(err error) {
	s.network.done = nil
	s.network.lost = fmt.Errorf("carry the network: art-net ended: %s: the session had no network from then on", ending(err))
	if s.streams.Terminal == nil {
		s.tellLost()
	}
}

// tellLost tells of art-net's ends that were not told yet.
func (s *session) tellLost() {
	for _, lost := range []*error{&s.network.lost, &s.ports.lost} {
		if *lost != nil {
			cli.Fail("art", *lost)
			*lost = nil
		}
	}
}

// endNet ends art-net, and waits for what it has to say.
func (s *session) endNet() {
	n := &s.network
	if n.life != nil {
		n.life.Close()
		n.life = nil
	}
	if n.done != nil {
		if err := <-n.done; err != nil && n.lost == nil {
			n.lost = fmt.Errorf("carry the network: art-net ended: %s", ending(err))
		}
		n.done = nil
	}
	n.endLedger()
}

// tellLearned says which settings would allow what was reached, and nothing else.
func (s *session) tellLearned() {
	if s.net == nil || !s.net.Public {
		return
	}
	rules := s.network.used.Rules()
	for _, path := range netrule.Sockets(s.net.Allow) { // of which it is not known
		rules = append(rules, "unix:"+path)
	}
	if len(rules) == 0 {
		fmt.Fprintln(os.Stderr, `art: learned: nothing of the network was reached: "network": "none" is enough`)
		return
	}
	text, err := quote.JSON(netledger.Proposal(rules, s.net.Deny))
	if err != nil {
		return // it can be written
	}
	more := ""
	if s.network.used.More {
		more = ", and more than that was reached"
	}
	fmt.Fprintf(os.Stderr, "art: learned: these settings allow what was reached, and nothing else%s:\n%s\n", more, text)
}

// tellDenied says what the guest was denied of the network, and what would allow it.
func (s *session) tellDenied() {
	report := s.network.report
	if report == nil {
		return
	}
	var allow []string
	for _, d := range report.Denied {
		fmt.Fprintf(os.Stderr, "art: network: %s\n", deniedText(&d))
		if d.Allow != "" {
			allow = append(allow, cli.Printable(d.Allow))
		}
	}
	if report.More > 0 {
		fmt.Fprintf(os.Stderr, "art: network: %d more were denied\n", report.More)
	}
	if len(allow) > 0 {
		all := strings.Join(append(s.net.Allow, allow...), ",")
		flag := "--network " + all + ", or the same "
		if len(s.net.Deny) > 0 { // which the flag would not keep
			flag = ""
		}
		fmt.Fprintf(os.Stderr, "art: hint: to allow what is missing: %sin the settings: \"network\": {\"allow\": [\"%s\"]}\n",
			flag, strings.ReplaceAll(all, ",", `", "`))
	}
}

func deniedText(d *control.Denial) string {
	what := cli.Printable(d.What)
	if d.Port != 0 {
		if strings.Contains(what, ":") {
			what = "[" + what + "]"
		}
		what = fmt.Sprintf("%s:%d", what, d.Port)
	}
	times := ""
	if d.Times > 1 {
		times = fmt.Sprintf(" %d times", d.Times)
	}
	return fmt.Sprintf("%s was denied%s: %s", what, times, cli.Printable(d.Why))
}
