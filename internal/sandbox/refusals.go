package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/syscalls"
)

// refusals answers for the filter that asks about calls which an option would permit: it refuses and counts them. Only
// calls that are refused come here (seccomp_unotify(2)).
type refusals struct {
	terminal bool                       // words in between would land on the screen of a program
	notify   func(call, program string) // called when a program is refused a call for the first time, if it is not nil; must not block

	mu    sync.Mutex
	calls map[refusal]int // GUARDED_BY(mu)
	told  map[string]bool // GUARDED_BY(mu); programs of which the user was told at once
}

// refusal is what a program was refused.
type refusal struct{ call, program string }

// maxRefusals bounds how many different ones are remembered, since programs choose their names.
const maxRefusals = 64

// sandboxes are the programs that fail with an error that leads elsewhere when they cannot make a sandbox of their own:
// what Claude Code and Codex start their commands with. Names are as the kernel cuts them.
var sandboxes = []string{"bwrap", "codex-linux-san"}

// notification is struct seccomp_notif, with its struct seccomp_data, and answer struct seccomp_notif_resp.
type (
	notification struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	answer struct {
		id, val uint64
		err     int32
		flags   uint32
	}
)

// listen answers until nobody is left who could ask.
func (r *refusals) listen(fd int) error {
	// Not to block, so that it waits without a thread.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return fmt.Errorf("listen for refused calls: %w", err)
	}
	file := os.NewFile(uintptr(fd), "refused calls")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return fmt.Errorf("listen for refused calls: %w", err)
	}
	go func() {
		defer file.Close() // from then on the kernel refuses
		for more := true; more; {
			err := conn.Read(func(fd uintptr) (done bool) {
				ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
				n, err := unix.Poll(ready, 0)
				switch {
				case err != nil: // EINTR
				case n == 0:
					return false
				case ready[0].Revents&unix.POLLIN != 0:
					more = r.answer(fd)
				default:
					more = false
				}
				return true
			})
			more = more && err == nil
		}
	}()
	return nil
}

// answer refuses the next call. It returns false if there is none any more.
func (r *refusals) answer(fd uintptr) bool {
	var n notification
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
		// ENOENT: who asked has been killed.
		return errno == unix.EINTR || errno == unix.ENOENT
	}
	r.count(refusal{syscalls.Native.Name(uint64(n.nr)), programName(n.pid)})
	a := answer{id: n.id, err: -int32(unix.EPERM)}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	return errno == 0 || errno == unix.EINTR || errno == unix.ENOENT
}

// programName returns what the process calls itself.
func programName(pid uint32) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// count counts one, and tells at once of a program known to mislead.
func (r *refusals) count(c refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls, r.told = map[refusal]int{}, map[string]bool{}
	}
	if _, known := r.calls[c]; !known && len(r.calls) >= maxRefusals {
		c.program = "others"
	}
	if r.calls[c]++; r.calls[c] == 1 && r.notify != nil {
		r.notify(c.call, c.program)
	}
	option := seccomp.Option(c.call)
	if r.terminal || r.told[c.program] || !slices.Contains(sandboxes, c.program) || option == "" {
		return
	}
	r.told[c.program] = true
	cli.Fail("art", cli.WithHint(fmt.Errorf("make a sandbox within the sandbox: %s is not permitted to %s", c.call, c.program),
		"turn that sandbox off, or permit it with --allow "+option))
}

// summary says in one line what was refused and what permits it, and "" if the user knows already.
func (r *refusals) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	total, names := 0, map[string][]string{} // by option
	for _, c := range slices.SortedFunc(maps.Keys(r.calls), func(a, b refusal) int {
		return strings.Compare(a.call+" "+a.program, b.call+" "+b.program)
	}) {
		if option := seccomp.Option(c.call); !r.told[c.program] {
			total += r.calls[c]
			names[option] = append(names[option], fmt.Sprintf("%s (%s)", c.call, cli.Printable(c.program)))
		}
	}
	if total == 0 {
		return ""
	}
	calls, them := "calls", "them"
	if total == 1 {
		calls, them = "call", "it"
	}
	const most = 4
	var parts []string
	for _, option := range slices.Sorted(maps.Keys(names)) {
		list := names[option]
		if len(list) > most {
			list = append(list[:most], "...")
		}
		parts = append(parts, fmt.Sprintf("%s; --allow %s permits %s", strings.Join(list, ", "), option, them))
	}
	return fmt.Sprintf("%d %s refused: %s", total, calls, strings.Join(parts, "; "))
}

// listening is called when the filter in the guest asks.
func (s *session) listening(m control.Received) error {
	if s.asked {
		unix.Close(m.FD)
		return errors.New("listen for refused calls: somebody does")
	}
	s.asked = true
	return s.refusals.listen(m.FD)
}

// tellRefusals sums up what the guest was refused.
func (s *session) tellRefusals() {
	if text := s.refusals.summary(); text != "" {
		fmt.Fprintf(os.Stderr, "art: %s\n", text)
	}
}
