package netgate

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

const (
	// askTime is how long a connection waits for the user to say whether it may be made. The kernel tries for longer than that.
	askTime = 30 * time.Second
	// askAgain is how long he is not asked again what he has not answered, however often a program tries.
	askAgain = 10 * time.Minute
	// mostAsking connections wait so at once: what more there is, is refused. mostRefused answers of his are remembered, and questions
	// without one.
	mostAsking  = 128
	mostRefused = 1000
)

// asks are what the user is asked about: connections that no rule allows, and none denies.
type asks struct {
	on          bool // there is somebody to be asked
	time, again time.Duration

	mu      sync.Mutex
	open    map[question]*asked // GUARDED_BY(mu)
	waiting int                 // GUARDED_BY(mu); connections
	refused []netrule.Rule      // GUARDED_BY(mu); what the user has denied
	silent  []unanswered        // GUARDED_BY(mu); what he has not answered, the oldest first
}

// unanswered is a question that nobody has answered up to a time.
type unanswered struct {
	question
	at time.Time
}

// question is whether a port of a name, or without one of an address, may be reached.
type question struct {
	name string
	a    netip.Addr
	port uint16
}

// asked is a question that is open.
type asked struct {
	number   uint64
	answered chan struct{} // closed when it is: then it is not open any more
	denied   bool          // that is the answer; written before answered is closed
	waiting  int           // GUARDED_BY(asks.mu); connections
}

// Ask has the user asked about what no rule allows. It is to be called before Serve.
func (g *Gate) Ask() { g.asks.on = true }

// askable says whether the user may be asked about ports of a canonical name.
func (g *Gate) askable(name string) bool {
	return g.asks.on && g.allowing(name, anyPort) != "" && !strings.HasSuffix(name, ".arpa")
}

// anyPort stands for a port that is not known yet: whether a name can be allowed is to be told by a rule with one.
const anyPort = 1

// ask waits until a connection that no rule allows is granted, and refuses it if it is not.
func (g *Gate) ask(who peers, name string, a netip.Addr, port uint16) permit {
	what := cmp.Or(name, a.String())
	allow := g.allowing(what, port)
	if !g.asks.on || allow == "" {
		return permit{rules: g.rules()}
	}
	q := question{name: name, port: port}
	if name == "" {
		q.a = a
	}
	one, first, why := g.asks.join(q, &g.events.last)
	if one == nil {
		return permit{rules: g.rules(), why: why}
	}
	if first {
		event := who.event()
		event.Kind, event.Number, event.What, event.Port, event.Allow = control.NetAsked, one.number, short(what), int(port), short(allow)
		g.events.put(event)
	}
	late := time.NewTimer(g.asks.time)
	defer late.Stop()
	why = errUnanswered
	unanswered := false
	if !g.mayReach(name, a, port) { // a grant may have come just before the question was open
		select {
		case <-one.answered:
			why = "another connection was granted"
			if one.denied {
				why = errDenied
			}
		case <-late.C:
			unanswered = true
		}
	}
	p := g.permit(name, a, port)
	if g.asks.leave(q, one, unanswered) {
		g.events.put(control.NetEvent{Kind: control.NetAnswered, Number: one.number})
	}
	if p.rule == "" {
		p.why = why
	}
	return p
}

// Why a question is not asked, or has not helped.
const (
	errDenied     = "you have denied it"
	errUnanswered = "nobody has said in time that it may be reached"
)

// join has one more connection wait for the answer to a question, or says why it is not asked.
func (as *asks) join(q question, number *atomic.Uint64) (one *asked, first bool, why string) {
	as.mu.Lock()
	defer as.mu.Unlock()
	switch {
	case slices.ContainsFunc(as.refused, q.is):
		return nil, false, errDenied
	case as.waiting >= mostAsking:
		return nil, false, "too many wait for an answer already"
	case as.open[q] == nil && as.isSilent(q):
		return nil, false, errUnanswered
	}
	one = as.open[q]
	if first = one == nil; first {
		one = &asked{number: number.Add(1), answered: make(chan struct{})}
		if as.open == nil {
			as.open = map[question]*asked{}
		}
		as.open[q] = one
	}
	one.waiting++
	as.waiting++
	return one, first, ""
}

// isSilent says whether nobody has answered a question lately. The lock is held.
func (as *asks) isSilent(q question) bool {
	for len(as.silent) > 0 && time.Since(as.silent[0].at) >= as.again {
		as.silent = as.silent[1:]
	}
	return slices.ContainsFunc(as.silent, func(u unanswered) bool { return u.question == q })
}

// leave says that a connection waits no more, in vain or not, and reports whether it was the last one.
func (as *asks) leave(q question, one *asked, inVain bool) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.waiting--
	one.waiting--
	if one.waiting == 0 && as.open[q] == one {
		delete(as.open, q)
		if inVain {
			if as.silent = append(as.silent, unanswered{q, time.Now()}); len(as.silent) > mostRefused {
				as.silent = as.silent[1:]
			}
		}
	}
	return one.waiting == 0
}

// allow answers the questions about what may be reached now.
func (as *asks) allow(may func(name string, a netip.Addr, port uint16) bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for q, one := range as.open {
		if may(q.name, q.a, q.port) {
			delete(as.open, q)
			close(one.answered)
		}
	}
}

// deny answers the questions that a rule is about, and those that come later.
func (as *asks) deny(rule netrule.Rule) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.refused = append(as.refused, rule); len(as.refused) > mostRefused {
		as.refused = as.refused[1:]
	}
	for q, one := range as.open {
		if q.is(rule) {
			delete(as.open, q)
			one.denied = true
			close(one.answered)
		}
	}
}

// is says whether a rule is about a question.
func (q question) is(rule netrule.Rule) bool {
	return (&netrule.Rules{Allow: []netrule.Rule{rule}}).Allowing(q.name, q.a, q.port) != ""
}
