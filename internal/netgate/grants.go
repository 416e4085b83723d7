package netgate

import (
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

// mostGrants bounds what is granted to one guest.
const mostGrants = 1000

// grants are what a guest may reach: by rules that hold from the beginning, and by those that were granted since.
type grants struct {
	now    atomic.Pointer[held]
	adding sync.Mutex // of who puts others in their place
}

// held are the rules of one moment, which stay as they are.
type held struct {
	rules   *netrule.Rules
	granted map[string]bool // those of them that were granted, as text
	once    []*once
}

// once is a rule for one connection.
type once struct {
	rule  netrule.Rule
	state atomic.Int32
}

// The states of a rule for one connection. One that is taken is free again where the connection could not be made.
const (
	free int32 = iota
	taken
	done
)

// permit is that of a connection.
type permit struct {
	rules *netrule.Rules
	rule  string // that allows it, as art is told; "" if none does
	why   string // none does, although somebody was asked
	once  *once
}

// rules are those that hold now.
func (g *Gate) rules() *netrule.Rules { return g.grants.now.Load().rules }

// Grant allows something, or denies it to what waits for an answer and to what asks later. It tells art when that holds.
func (g *Gate) Grant(grant *control.NetGrant) {
	event := control.NetEvent{Kind: control.NetGranted, Number: grant.Number, What: short(grant.Rule)}
	if err := g.grant(grant); err != nil {
		event.Why = short(err.Error())
	}
	g.events.put(event)
}

func (g *Gate) grant(grant *control.NetGrant) error {
	rule, err := netrule.Parse(grant.Rule)
	if err != nil {
		return err
	}
	if grant.Deny {
		g.asks.deny(rule)
		return nil
	}
	if g.rules().Denies(rule) {
		return fmt.Errorf("%q is denied", rule)
	}
	if err := g.grants.add(rule, grant.Once); err != nil {
		return err
	}
	g.asks.allow(g.mayReach)
	return nil
}

// add puts rules with one more in the place of those that hold.
func (gs *grants) add(rule netrule.Rule, single bool) error {
	gs.adding.Lock()
	defer gs.adding.Unlock()
	old := gs.now.Load()
	h := &held{rules: old.rules, granted: maps.Clone(old.granted)}
	for _, o := range old.once {
		if o.state.Load() != done {
			h.once = append(h.once, o)
		}
	}
	switch text := rule.String(); {
	case single:
		h.once = append(h.once, &once{rule: rule})
	case old.rules.Has(rule):
		return nil
	default:
		h.rules, h.granted[text] = old.rules.With(rule), true
	}
	if len(h.granted)+len(h.once) > mostGrants {
		return fmt.Errorf("there are %d grants already", mostGrants)
	}
	gs.now.Store(h)
	return nil
}

// by are the rules of one that is granted once, beside those that all connections have.
func (h *held) by(o *once) *netrule.Rules { return h.rules.With(o.rule) }

// permit returns what allows a connection to a name, or, without one, to an address. A rule for one connection is taken by it.
func (g *Gate) permit(name string, a netip.Addr, port uint16) permit {
	h := g.grants.now.Load()
	if rule := h.rules.Allowing(name, a, port); rule != "" {
		if h.granted[rule] {
			rule = "granted: " + rule
		}
		return permit{rules: h.rules, rule: rule}
	}
	for _, o := range h.once {
		if o.allows(h, name, a, port) && o.state.CompareAndSwap(free, taken) {
			return permit{rules: h.by(o), rule: "granted once: " + o.rule.String(), once: o}
		}
	}
	return permit{rules: h.rules}
}

func (o *once) allows(h *held, name string, a netip.Addr, port uint16) bool {
	return o.state.Load() == free && (&netrule.Rules{Allow: []netrule.Rule{o.rule}, Deny: h.rules.Deny}).Allowing(name, a, port) != ""
}

// mayReach says whether a connection would be allowed.
func (g *Gate) mayReach(name string, a netip.Addr, port uint16) bool {
	h := g.grants.now.Load()
	if h.rules.Allowing(name, a, port) != "" {
		return true
	}
	for _, o := range h.once {
		if o.allows(h, name, a, port) {
			return true
		}
	}
	return false
}

// knowsName says whether the guest is told an address of a canonical name.
func (g *Gate) knowsName(name string) bool {
	h := g.grants.now.Load()
	if h.rules.KnowsName(name) || g.askable(name) {
		return true
	}
	for _, o := range h.once {
		if o.state.Load() == free && h.by(o).KnowsName(name) {
			return true
		}
	}
	return false
}

// addressOnce takes a rule for one connection by which a name may be at one of some addresses.
func (g *Gate) addressOnce(p *permit, port uint16, found []netip.Addr) {
	h := g.grants.now.Load()
	for _, o := range h.once {
		for _, a := range found {
			if p.once == nil && o.allows(h, "", a, port) && o.state.CompareAndSwap(free, taken) {
				p.rules, p.once = h.by(o), o
			}
		}
	}
}

// end says whether the connection was made.
func (p *permit) end(made bool) {
	switch {
	case p.once == nil:
	case made:
		p.once.state.Store(done)
	default:
		p.once.state.Store(free)
	}
}
