package sandbox

import (
	"fmt"
	"os"
	"slices"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/seccomp"
)

// filterCalls returns the filter of the guest's system calls, as bubblewrap reads it. That
// loads it: with a tracer it has a process in the guest and filters that as well, which the guest
// could make call for it (ptrace(2)).
func (p *prepared) filterCalls(o *request, settings *config.Settings) ([]byte, error) {
	s := seccomp.Session{Allowed: values(settings.Allow), Home: p.home != nil, Root: os.Getuid() == 0}
	s.Kept = o.Database != "" || s.Home
	s.Counted = p.plan.Counted
	if settings.Commands.Value == "true" {
		where, hint := o.notLearnt(s.Allowed)
		switch {
		case where == "":
		case settings.Commands.Origin == "--commands":
			return nil, cli.WithHint(fmt.Errorf("--commands: which commands run is not learnt in %s", where), hint)
		case !o.Quiet && o.Database != "":
			fmt.Fprintf(os.Stderr, "art: which commands run is not learnt in %s\n", where)
		}
	}
	writable := slices.IndexFunc(settings.Mounts, func(m config.Mount) bool { return m.Writes() })
	s.Written = o.Database == "" || writable >= 0
	if (s.Written && s.Kept || (s.Written || s.Home) && s.Root) && slices.Contains(s.Allowed, "namespaces") && !o.Quiet {
		fmt.Fprintln(os.Stderr, "art: sandboxes within can mount nothing, since what they copy into files of the host could become a program with other rights (man 7 art)")
	}
	if !s.Written && !s.Home || !slices.Contains(s.Allowed, "io_uring") {
		// A trace shows what is refused, and its process of bubblewrap's is not to be without a filter. Sandboxes within
		// may listen themselves, of which the kernel allows one (has_duplicate_listener in kernel/seccomp.c).
		if o.Trace == nil && !slices.Contains(s.Allowed, "namespaces") {
			s.Commands = settings.Commands.Value == "true" && o.Database != ""
			s.Notified = s.Commands || !o.Quiet || p.notify != "false" || o.Events != ""
		}
		if s.Notified {
			p.payload.Notify, p.payload.Refuse = seccomp.Marshal(seccomp.Notify(s)), seccomp.Marshal(seccomp.Refusing(s))
		}
		p.learns = s.Commands
		return seccomp.Marshal(seccomp.Program(s)), nil
	}
	// A request to open a file says which mode a new one gets, and is no call.
	where, hint := "the workspace", "keep what is written apart with --db DB"
	switch {
	case o.Database == "":
	case writable >= 0:
		where, hint = settings.Mounts[writable].Host, "mount it read-only"
	default:
		where, hint = p.home.Path, "leave --home out"
	}
	return nil, cli.WithHint(fmt.Errorf("allow io_uring: its requests could leave set-user-ID programs in %s, on the host", where),
		hint+", or do not allow io_uring")
}

// notLearnt says in what session the commands that run cannot be learnt, if this is one, and what to do; "": they can.
func (o *request) notLearnt(allowed []string) (where, hint string) {
	switch {
	case o.Database == "":
		return "a session that keeps nothing", "keep what it writes with --db DB"
	case o.Trace != nil:
		return "a session that is traced", "leave --trace out: art timeline shows what ran"
	case slices.Contains(allowed, "namespaces"):
		return "a session that allows sandboxes within", "leave --allow namespaces out"
	}
	return "", ""
}
