// Package policy answers system calls in the kernel's stead.
//
// A Policy decides by the call's number alone, which is in a register that no
// other thread can change, so what it refuses does not happen. It is no sandbox:
// what a refused call would have done, another call can often do.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/internal/trace"
	"github.com/riverlytech/art/internal/trace/decode"
)

// Policy is a trace.Handler that refuses calls. The zero value refuses none.
//
// One that refuses any refuses two ways around it as well, with ENOSYS, for which
// programs are prepared: calls through another architecture's interface, whose
// numbers it does not know, and io_uring, whose requests are no calls.
type Policy struct {
	trace.Ignore
	errnos map[string]unix.Errno // by the call's name
}

var _ trace.Handler = (*Policy)(nil)

// Refuse adds a rule: CALLS[=ERRNO], where CALLS is a list that syscalls.Parse
// reads, and ERRNO a name such as ENOENT; without one it is EPERM. Of two rules
// for a call, the later counts.
func (p *Policy) Refuse(rule string) error {
	list, name, named := strings.Cut(rule, "=")
	if strings.TrimSpace(list) == "" {
		return fmt.Errorf("deny %q: no system call is named", rule)
	}
	errno := unix.EPERM
	if named {
		var err error
		if errno, err = errnoNamed(name); err != nil {
			return fmt.Errorf("deny %s: %w", list, err)
		}
	}
	calls, err := syscalls.Parse(list)
	if err != nil {
		return fmt.Errorf("deny: %w", err)
	}
	for item := range strings.SplitSeq(list, ",") {
		if slices.Contains(unstoppable, item) {
			return fmt.Errorf("deny %s: a thread has to be able to end, and to return from a signal", item)
		}
	}
	if p.errnos == nil {
		p.errnos = map[string]unix.Errno{}
		if _, ok := syscalls.Native.Number("io_uring_setup"); ok {
			p.errnos["io_uring_setup"] = unix.ENOSYS
		}
	}
	for _, call := range calls.Names() {
		if !slices.Contains(unstoppable, call) { // it is of a class, or of all
			p.errnos[call] = errno
		}
	}
	return nil
}

// unstoppable are the calls that do not return, so that no program looks at what
// they return: refused, they would be made for ever.
var unstoppable = []string{"exit", "exit_group", "rt_sigreturn"}

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
func (p *Policy) Empty() bool { return len(p.errnos) == 0 }

// Names returns the calls that p refuses, in alphabetical order.
func (p *Policy) Names() []string {
	var names []string
	for name := range p.errnos {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Enter implements trace.Handler.
func (p *Policy) Enter(c *decode.Call) error {
	switch errno, refused := p.errnos[c.Name]; {
	case p.Empty():
	case c.Foreign():
		c.Fail(unix.ENOSYS)
	case refused:
		c.Fail(errno)
	}
	return nil
}
