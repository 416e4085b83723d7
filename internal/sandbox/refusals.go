package sandbox

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/syscalls"
)

// refusals counts the calls that are refused and that an option would permit.
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

// refused counts a call that is refused.
func (r *refusals) refused(n *seccomp.Notification) {
	r.count(refusal{syscalls.Native.Name(uint64(n.Nr)), programName(n.TID)})
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

// tellRefusals sums up what the guest was refused.
func (s *session) tellRefusals() {
	if text := s.refusals.summary(); text != "" {
		fmt.Fprintf(os.Stderr, "art: %s\n", text)
	}
}
