package policy

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// quiet is a Policy and a handler that hears nothing of what that refuses.
type quiet struct {
	trace.Handler // of what is not refused
	policy        *Policy
	refused       map[int]bool // threads that a call is refused to
}

var (
	_ trace.Refuser       = (*quiet)(nil)
	_ trace.Selector      = (*quiet)(nil)
	_ trace.MemoryDecider = (*quiet)(nil)
)

// Quietly makes one handler of p and next, as trace.Chain does, but next hears nothing of calls that p refuses. What can be
// decided by registers, the kernel then refuses without a stop.
func (p *Policy) Quietly(next trace.Handler) trace.Handler {
	return &quiet{Handler: next, policy: p, refused: map[int]bool{}}
}

// Calls implements trace.Selector.
func (q *quiet) Calls() []string {
	calls := q.policy.Calls()
	if s, ok := q.Handler.(trace.Selector); ok {
		calls = append(calls, s.Calls()...)
	}
	return calls
}

// DecidesByMemory implements trace.MemoryDecider.
func (q *quiet) DecidesByMemory() bool {
	next, ok := q.Handler.(trace.MemoryDecider)
	return q.policy.DecidesByMemory() || ok && next.DecidesByMemory()
}

// Refused implements trace.Refuser.
func (q *quiet) Refused() (all []trace.Refusal) {
	if q.policy.Empty() {
		return nil
	}
	all = append(all, trace.Refusal{Errno: unix.ENOSYS})
	for _, call := range q.policy.Calls() {
		rules := q.policy.rules[call]
		if slices.ContainsFunc(rules, func(r rule) bool { return !r.byRegister(call) || r.listener }) {
			continue
		}
		for _, r := range slices.Backward(rules) { // the last rule counts
			all = append(all, trace.Refusal{Call: call, Errno: r.errno, OfFamily: r.ofFamily, Family: r.family})
		}
	}
	return all
}

// Enter implements trace.Handler.
func (q *quiet) Enter(c *decode.Call) error {
	if err := q.policy.Enter(c); err != nil {
		return err
	}
	if c.Injected {
		if !c.EntryOnly {
			q.refused[c.Pid] = true
		}
		return nil
	}
	return q.Handler.Enter(c)
}

// Exit implements trace.Handler.
func (q *quiet) Exit(c *decode.Call) error {
	if q.over(c.Pid) {
		return nil
	}
	return q.Handler.Exit(c)
}

// over reports whether the call of a thread was refused, which is over.
func (q *quiet) over(pid int) bool {
	was := q.refused[pid]
	delete(q.refused, pid)
	return was
}

// Superseded implements trace.Handler.
func (q *quiet) Superseded(pid, by int) error {
	q.over(pid)
	q.over(by)
	return q.Handler.Superseded(pid, by)
}

// Ended implements trace.Handler.
func (q *quiet) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	if q.over(pid) {
		during = nil
	}
	return q.Handler.Ended(pid, status, during)
}

// Detached implements trace.Handler.
func (q *quiet) Detached(pid int, during *decode.Call) error {
	if q.over(pid) {
		during = nil
	}
	return q.Handler.Detached(pid, during)
}
