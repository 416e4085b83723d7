package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// Notify returns the second filter of a session in which the user is told of refused calls: for those that an option
// permits it asks whoever listens (seccomp_unotify(2)), who counts and refuses them. Program must then leave them to it,
// since the kernel takes a filter's refusal before another's question. Calls of which no argument matters to either cost
// nothing more; nobody is asked about calls that are not refused.
//
// With Session.Commands it also asks about the calls by which commands begin and end, and map files to write to them: those are to be
// let go on.
//
// Where nobody listens any more the kernel refuses the calls with ENOSYS.
func Notify(s Session) []unix.SockFilter {
	return notify(syscalls.Native, s)
}

func notify(arch *syscalls.Arch, s Session) []unix.SockFilter {
	p := begin(arch, allow, nil) // Program's filter ends the programs of other architectures
	var actions []uint32
	for _, r := range rules {
		if r.notifies(&s) {
			p, actions = r.add(arch, r.decide(ret(unix.SECCOMP_RET_USER_NOTIF)), p, actions, unix.SECCOMP_RET_ALLOW)
		}
	}
	if s.Commands {
		ask := ret(unix.SECCOMP_RET_USER_NOTIF)
		p, actions = (&rule{calls: []string{"mmap"}}).add(arch, mappingCode(ask), p, actions, unix.SECCOMP_RET_ALLOW)
		p, actions = (&rule{calls: []string{"execve", "execveat", "exit_group"}}).add(arch, ask, p, actions, unix.SECCOMP_RET_ALLOW)
	}
	return search(p, spans(actions, unix.SECCOMP_RET_ALLOW))
}

// mappingCode asks about mappings by which a program can write to a file.
func mappingCode(ask []unix.SockFilter) []unix.SockFilter {
	return slices.Concat(
		// The lowest bit is set in all types that share (MAP_SHARED, MAP_SHARED_VALIDATE).
		load(3), and(unix.MAP_SHARED|unix.MAP_ANONYMOUS), oneOf([]uint32{unix.MAP_SHARED},
			load(2), skipUnless(unix.BPF_JSET, unix.PROT_WRITE, 1), ask, allow),
		allow,
	)
}

// Refusing returns Notify's filter for a session in which nobody can listen: it asks nobody and refuses.
func Refusing(s Session) []unix.SockFilter {
	return refusing(syscalls.Native, s)
}

func refusing(arch *syscalls.Arch, s Session) []unix.SockFilter {
	s.Commands = false
	p := notify(arch, s)
	for i := range p {
		if p[i].Code == unix.BPF_RET|unix.BPF_K && p[i].K == unix.SECCOMP_RET_USER_NOTIF {
			p[i] = refuse(unix.EPERM)[0]
		}
	}
	return p
}

// Option returns the name of the option that permits a call of which the user is told, and "" if there is no such call.
func Option(call string) string {
	for _, r := range rules {
		if r.notify && slices.Contains(r.calls, call) {
			return r.option
		}
	}
	return ""
}
