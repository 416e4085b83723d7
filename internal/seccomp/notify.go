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
	return search(p, spans(actions, unix.SECCOMP_RET_ALLOW))
}

// Refusing returns a filter of Notify's that asks nobody and refuses.
func Refusing(notify []unix.SockFilter) []unix.SockFilter {
	p := slices.Clone(notify)
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
