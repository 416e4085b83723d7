package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/processes"
	sessions "github.com/riverlytech/art/internal/session"
)

// grants are what is granted to the guest while it runs.
type grants struct {
	ledger *netledger.Ledger
	order  func(*control.NetOrders) error // tells art-net
	deny   *netrule.Rules                 // what the settings deny
	always settingsFile

	mu    sync.Mutex
	rules *netrule.Rules // GUARDED_BY(mu); all that hold
}

// settingsFile is the file of the user's that says which names his sessions of this kind reach, or why there is none.
type settingsFile struct{ path, none, hint string }

// netSettings finds the file in which later sessions read their rules.
func netSettings(o *request, s *config.Settings, getenv func(string) string) settingsFile {
	origin := s.Network.Origin
	file := origin
	if i := strings.LastIndexByte(origin, ':'); i >= 0 {
		file = origin[:i]
	}
	switch {
	case file == config.UserFile(getenv), o.agent != nil && file == o.agent.File:
		return settingsFile{path: file}
	case strings.HasPrefix(origin, "--"):
		return settingsFile{none: origin + " says what this session reaches, and no settings do", hint: "say it in " + config.UserFile(getenv) + `: "network": {"allow": [...]}`}
	case o.preset != nil && origin == o.preset.Origin:
		return settingsFile{none: "the " + origin + " says what this session reaches", hint: "say it there, or grant it for the session"}
	}
	return settingsFile{none: cli.Printable(file) + " says what this session reaches, which art does not write", hint: "say it there, or grant it for the session"}
}

// beginGrants begins to take grants, which order tells art-net. The lock of the registry is held.
func (s *session) beginGrants(ledger *netledger.Ledger, order func(*control.NetOrders) error) error {
	rules, err := netrule.ParseRules(s.net.Allow, s.net.Deny)
	if err != nil {
		return err
	}
	rules.Public = s.net.Public
	deny, err := netrule.ParseDeny(slices.Concat(s.net.Deny, s.netDenied))
	if err != nil {
		return err
	}
	ledger.OnAsked(func(a control.Asking) {
		program := "a program"
		if len(a.Command) > 0 {
			program = filepath.Base(a.Command[0])
		}
		s.notifier.Tell(fmt.Sprintf("%s asks for %s: art grant %s", program, netrule.Shown(a.What), a.Allow))
	})
	s.registry.grants = &grants{ledger: ledger, order: order, deny: deny, always: s.netSettings, rules: rules}
	return nil
}

// ofNetwork returns what grants this session's guest something.
func (s *session) ofNetwork() (*grants, error) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	if s.registry.grants == nil {
		return nil, cli.WithHint(errors.New("this session has no network by name, and nothing can be granted there"), "see art run --help, --network")
	}
	return s.registry.grants, nil
}

// answerGrant grants the guest something.
func (s *session) answerGrant(c *sessions.Conn, ask *control.Ask) error {
	var what control.GrantAsk
	err := control.Unmarshal(ask.Body, &what)
	if err == nil {
		err = what.Check()
	}
	if err != nil {
		return err
	}
	g, err := s.ofNetwork()
	if err != nil {
		return err
	}
	made, err := g.make(&what, c.Peer())
	if err != nil {
		return err
	}
	return c.Answer(made)
}

// make grants what is asked by a process: all of it, or nothing.
func (g *grants) make(what *control.GrantAsk, by int) (*control.GrantMade, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rules := make([]netrule.Rule, len(what.Rules))
	texts := make([]string, len(what.Rules))
	for i, text := range what.Rules {
		rule, err := netrule.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("grant something: %w", err)
		}
		if rule.Socket() != "" {
			return nil, cli.WithHint(fmt.Errorf("grant %s: a session shows the sockets that it began with", rule), "allow it in the settings or by --network, and begin another session")
		}
		if what.Scope != control.GrantDeny && g.deny.Denies(rule) {
			return nil, cli.WithHint(fmt.Errorf("grant %s: the settings deny it", rule), `art config shows where: network.deny`)
		}
		rules[i], texts[i] = rule, rule.String()
	}
	made := &control.GrantMade{}
	if what.Scope == control.GrantAlways {
		if g.always.path == "" {
			return nil, cli.WithHint(fmt.Errorf("grant it for later sessions: %s", g.always.none), g.always.hint)
		}
		if err := config.AllowAlways(g.always.path, texts); err != nil {
			return nil, fmt.Errorf("grant it for later sessions: %w", err)
		}
		made.File = g.always.path
	}
	grant := control.Grant{Time: time.Now(), Scope: what.Scope, PID: by, Command: processes.Commands([]processes.Process{{PID: by}}, time.Second)[0]}
	for i, rule := range rules {
		grant.Rule = texts[i]
		err := g.ledger.Grant(grant, g.order)
		if errors.Is(err, unix.EPIPE) {
			err = errors.New("art-net has ended, and the session has no network any more")
		}
		if err != nil {
			return nil, fmt.Errorf("grant %s: %w", rule, err)
		}
		if what.Scope == control.GrantSession || what.Scope == control.GrantAlways {
			g.rules = g.rules.With(rule)
		}
	}
	return made, nil
}

// answerGrants tells what waits to be granted, and what was.
func (s *session) answerGrants(c *sessions.Conn) error {
	g, err := s.ofNetwork()
	if err != nil {
		return err
	}
	told := g.ledger.Grants()
	g.mu.Lock()
	rules := g.rules
	g.mu.Unlock()
	told.Denied = slices.DeleteFunc(told.Denied, func(a control.Asking) bool { // what was denied before it was granted
		rule, err := netrule.Parse(a.Allow)
		return err != nil || rules.Covers(rule)
	})
	return c.Answer(told)
}
