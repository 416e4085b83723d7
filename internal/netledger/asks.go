package netledger

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/riverlytech/art/internal/control"
)

// mostAsks bounds the questions that are open: art-net asks fewer.
const mostAsks = 1000

// asks are what the user is asked about, and what was granted.
type asks struct {
	open    map[uint64]control.Asking
	grants  map[uint64]chan error // those of which nobody knows yet whether they hold
	last    uint64                // number of a grant
	granted []control.Grant
}

func newAsks() asks {
	return asks{open: map[uint64]control.Asking{}, grants: map[uint64]chan error{}}
}

// OnAsked has something called with each question for the user, before art-net is started.
func (l *Ledger) OnAsked(asked func(control.Asking)) { l.asked = asked }

func (l *Ledger) ask(e *control.NetEvent) {
	a := control.Asking{Number: e.Number, Since: e.Time, What: e.What, Port: e.Port, Allow: e.Allow}
	a.PID, a.Command = l.owner(e)
	a.Command = bounded(a.Command, control.MaxAskingCommand)
	l.mu.Lock()
	fresh := len(l.asks.open) < mostAsks
	if fresh {
		l.asks.open[e.Number] = a
	}
	l.mu.Unlock()
	if fresh {
		l.asked(a)
	}
}

func (l *Ledger) answered(e *control.NetEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asks.open, e.Number)
}

func (l *Ledger) granted(e *control.NetEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.asks.grants[e.Number]; c != nil {
		delete(l.asks.grants, e.Number)
		if e.Why == "" {
			c <- nil
		} else {
			c <- errors.New(e.Why)
		}
	}
}

// grantTime is how long art-net may take until a grant holds.
const grantTime = 2 * time.Second

// Grant has order tell art-net of a grant, notes who has made it, and returns when it holds.
func (l *Ledger) Grant(grant control.Grant, order func(*control.NetOrders) error) error {
	c := make(chan error, 1)
	l.mu.Lock()
	l.asks.last++
	number := l.asks.last
	l.asks.grants[number] = c
	l.mu.Unlock()
	err := order(&control.NetOrders{Grant: control.NetGrant{
		Number: number, Rule: grant.Rule, Once: grant.Scope == control.GrantOnce, Deny: grant.Scope == control.GrantDeny,
	}})
	if err == nil {
		late := time.NewTimer(grantTime)
		defer late.Stop()
		select {
		case err = <-c:
		case <-late.C:
			err = errors.New("art-net does not answer")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asks.grants, number)
	if err != nil {
		return err
	}
	l.asks.granted = append(l.asks.granted, grant)
	l.asks.granted = slices.Clone(l.asks.granted[max(0, len(l.asks.granted)-mostRecent):])
	l.last++
	l.put(&control.Flow{
		Number: l.last, Began: grant.Time, Ended: grant.Time, PID: grant.PID, Command: bounded(grant.Command, control.MaxFlowCommand),
		What: grant.Rule, Protocol: GrantProtocol, Rule: grant.Scope.String(), Times: 1,
	})
	return nil
}

// GrantProtocol is what stands for the protocol of a flow that is none, but a grant: of a rule, for what Rule says, by a process of the
// host's.
const GrantProtocol = "grant"

// Grants returns what waits, what was denied lately and could be granted, and what was.
func (l *Ledger) Grants() *control.GrantsTold {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := &control.GrantsTold{Waiting: slices.SortedFunc(maps.Values(l.asks.open), func(a, b control.Asking) int { return cmp.Compare(a.Number, b.Number) })}
	if told.More = len(told.Waiting) - control.MostWaitingTold; told.More < 0 {
		told.More = 0
	}
	told.Waiting = told.Waiting[:len(told.Waiting)-told.More]
	seen := map[string]bool{}
	for _, a := range told.Waiting {
		seen[a.Allow] = true
	}
	for _, f := range slices.Backward(l.recentLocked()) {
		if f.Denied && f.Allow != "" && !seen[f.Allow] && len(told.Denied) < control.MostDeniedTold {
			seen[f.Allow] = true
			told.Denied = append(told.Denied, control.Asking{
				Since: f.Began, What: f.What, Port: f.Port, Allow: f.Allow, Why: f.Why, PID: f.PID, Command: bounded(f.Command, control.MaxAskingCommand),
			})
		}
	}
	for _, grant := range slices.Backward(l.asks.granted) {
		if len(told.Granted) == control.MostGrantedTold {
			break
		}
		grant.Command = bounded(grant.Command, control.MaxAskingCommand)
		told.Granted = append(told.Granted, grant)
	}
	return told
}
