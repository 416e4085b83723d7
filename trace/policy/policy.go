// Package policy answers system calls in the kernel's stead.
//
// A rule for calls alone, or for the family of socket(2), decides by registers that no
// other thread can change, so what it refuses does not happen. One for a path or
// for the family of an address decides by memory, which another thread can change
// before the kernel reads it, and follows no symbolic links: it keeps a program from
// what it does by itself, not one that wants around it. None is a sandbox: what a
// refused call would have done, another call can often do.
package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Policy is a trace.Handler that refuses calls. The zero value refuses none, and none
// refuses the call that executes the command itself.
//
// One that refuses any refuses the ways around it as well. With ENOSYS, for which
// programs are prepared: calls through another architecture's interface, but those
// that end a thread or return from a signal, and io_uring, whose requests are no calls.
// With EBUSY, as where there is one already: a filter with a listener, which the kernel asks
// about calls in the tracer's place (seccomp(2), the order of the actions).
type Policy struct {
	trace.Ignore
	rules map[string][]rule // by the call's name
}

// rule is what one --deny says of a call.
type rule struct {
	errno    unix.Errno
	path     string // and what is below; every call if empty
	family   int
	ofFamily bool
	listener bool // only for filters with a listener
}

var (
	_ trace.Handler  = (*Policy)(nil)
	_ trace.Selector = (*Policy)(nil)

	_ trace.MemoryDecider = (*Policy)(nil)
)

// Refuse adds a rule: CALLS[@WHAT][=ERRNO]. CALLS is a list of names and of strace's
// classes. WHAT is an absolute path, for calls on that file and on what is below it, or
// an address family such as inet, inet6 or unix, for calls on such sockets and
// addresses. ERRNO is a name such as ENOENT; without one it is EPERM. Of several rules
// for a call, the last counts.
func (p *Policy) Refuse(text string) error {
	head, name, named := cut(text)
	list, what, limited := strings.Cut(head, "@")
	if strings.TrimSpace(list) == "" {
		return fmt.Errorf("deny %q: no system call is named", text)
	}
	r := rule{errno: unix.EPERM}
	if named {
		var err error
		if r.errno, err = errnoNamed(name); err != nil {
			return fmt.Errorf("deny %s: %w", head, err)
		}
	}
	if limited {
		if err := r.limit(what); err != nil {
			return fmt.Errorf("deny %s: %w", list, err)
		}
	}
	calls, err := syscalls.Parse(list)
	if err != nil {
		return fmt.Errorf("deny: %w", err)
	}
	names := slices.DeleteFunc(calls.Names(), func(call string) bool { return slices.Contains(unstoppable, call) || !r.mayMatch(call) })
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if slices.Contains(unstoppable, item) {
			return fmt.Errorf("deny %s: a thread has to be able to end, and to return from a signal", item)
		}
		if !r.mayMatch(item) && syscalls.Lookup(item) != nil {
			return r.never(item, what)
		}
	}
	if len(names) == 0 {
		return r.never(list, what)
	}
	if p.rules == nil {
		p.rules = map[string][]rule{}
		if _, ok := syscalls.Native.Number("io_uring_setup"); ok {
			p.rules["io_uring_setup"] = []rule{{errno: unix.ENOSYS}}
		}
		p.rules["seccomp"] = []rule{{errno: unix.EBUSY, listener: true}}
	}
	for _, call := range names { // of a class, or of all, those that the rule can be for
		if r.always() { // and those before it count no more
			p.rules[call] = nil
		}
		p.rules[call] = append(p.rules[call], r)
	}
	return nil
}

// cut takes the errno off a rule. A path may hold = as well.
func cut(text string) (head, errno string, found bool) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 || strings.ContainsRune(text[i:], '/') {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// limit makes the rule one for a path or an address family.
func (r *rule) limit(what string) error {
	if strings.HasPrefix(what, "/") {
		r.path = path.Clean(what)
		return nil
	}
	r.family, r.ofFamily = decode.FamilyNamed(what)
	if !r.ofFamily {
		return cli.WithHint(fmt.Errorf("%q is neither an absolute path nor an address family", what),
			"families are inet, inet6, unix, netlink and the others of address_families(7)")
	}
	return nil
}

// mayMatch reports whether there can be a call of a name that the rule is for.
func (r *rule) mayMatch(call string) bool {
	switch {
	case r.ofFamily:
		return decode.HasFamilies(call)
	case r.path != "":
		return decode.HasPaths(call)
	}
	return true
}

// never is the error of a rule that could match nothing.
func (r *rule) never(list, what string) error {
	if r.ofFamily {
		return cli.WithHint(fmt.Errorf("deny %s@%s: no such call is about a socket or its address, so the rule would refuse nothing", list, what),
			"%network has those that are")
	}
	return cli.WithHint(fmt.Errorf("deny %s@%s: no such call is about a file, so the rule would refuse nothing", list, what),
		"%file has those that take a path; for sockets give a family: @inet, @unix")
}

// always reports whether the rule is for all calls.
func (r *rule) always() bool { return r.path == "" && !r.ofFamily && !r.listener }

// matches reports whether the rule is for the call.
func (r *rule) matches(c *decode.Call) bool {
	switch {
	case r.ofFamily:
		return slices.Contains(decode.Families(c), r.family)
	case r.path != "":
		return slices.ContainsFunc(decode.Paths(c), r.covers)
	case r.listener:
		return uint32(c.Args[0]) == unix.SECCOMP_SET_MODE_FILTER && uint32(c.Args[1])&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0
	}
	return true
}

func (r *rule) covers(file string) bool {
	rest, ok := strings.CutPrefix(file, strings.TrimSuffix(r.path, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// unstoppable are the calls that do not return, so that no program looks at what
// they return: refused, they would be made for ever.
var unstoppable = []string{"exit", "exit_group", "rt_sigreturn", "sigreturn"}

// errnoNamed returns the errno of a name.
func errnoNamed(name string) (unix.Errno, error) {
	// Numbers above are no errnos (include/linux/err.h, MAX_ERRNO).
	for errno := unix.Errno(1); errno < 4096; errno++ {
		if name != "" && unix.ErrnoName(errno) == name {
			return errno, nil
		}
	}
	for other, errno := range map[string]unix.Errno{"EWOULDBLOCK": unix.EAGAIN, "EDEADLOCK": unix.EDEADLK, "ENOTSUP": unix.EOPNOTSUPP} {
		if other == name {
			return errno, nil
		}
	}
	return 0, cli.WithHint(fmt.Errorf("unknown error %q", name), "use a name of errno(3), such as EACCES or ENOENT")
}

// Empty reports whether p refuses nothing.
func (p *Policy) Empty() bool { return len(p.rules) == 0 }

// Calls implements trace.Selector: it returns the calls that p refuses, in alphabetical order.
func (p *Policy) Calls() []string { return slices.Sorted(maps.Keys(p.rules)) }

// byRegister reports whether a rule that is for a call of this name decides by the registers of that alone.
func (r *rule) byRegister(call string) bool {
	return r.path == "" && (!r.ofFamily || call == "socket" || call == "socketpair")
}

// DecidesByMemory implements trace.MemoryDecider.
func (p *Policy) DecidesByMemory() bool {
	for call, rules := range p.rules {
		if slices.ContainsFunc(rules, func(r rule) bool { return !r.byRegister(call) }) {
			return true
		}
	}
	return false
}

// Enter implements trace.Handler.
func (p *Policy) Enter(c *decode.Call) error {
	switch {
	case p.Empty() || c.First || c.Injected:
		return nil
	case c.Foreign():
		if !slices.Contains(unstoppable, c.Name) {
			c.Fail(unix.ENOSYS)
		}
		return nil
	}
	rules := p.rules[c.Name]
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].matches(c) {
			c.Fail(rules[i].errno)
			return nil
		}
	}
	return nil
}
