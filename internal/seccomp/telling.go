package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/sysnum"
)

// Telling returns the second filter of a session in which the user is told of calls: for those that an option permits
// it asks whoever listens (seccomp_unotify(2)), who counts and refuses them. Program must then leave them to it, since
// the kernel takes a filter's refusal before another's question. Calls of which no argument matters to either cost nothing
// more; nobody is asked about calls that are not refused.
//
// Where nobody listens any more the kernel refuses the calls with ENOSYS.
func Telling(s Session) []unix.SockFilter {
	return telling(sysnum.Native, s)
}

func telling(arch *sysnum.Arch, s Session) []unix.SockFilter {
	// Program's filter ends the programs of other architectures.
	p := slices.Concat(loadAt(offArch), skip(unix.BPF_JEQ, arch.Audit, 1), allow, loadAt(offNr))
	ask := ret(unix.SECCOMP_RET_USER_NOTIF)
	var actions []uint32
	for _, r := range rules {
		if !r.tells(&s) {
			continue
		}
		body := r.decide(ask)
		for _, name := range r.calls {
			nr, ok := arch.Number(name)
			switch {
			case ok && len(body) == 1:
				for len(actions) <= nr {
					actions = append(actions, unix.SECCOMP_RET_ALLOW)
				}
				actions[nr] = body[0].K
			case ok:
				p = append(p, oneOf([]uint32{uint32(nr)}, body)...)
			}
		}
	}
	return search(p, spans(actions, unix.SECCOMP_RET_ALLOW))
}

// Refusing returns a filter of Telling's that asks nobody and refuses.
func Refusing(telling []unix.SockFilter) []unix.SockFilter {
	p := slices.Clone(telling)
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
		if r.told && slices.Contains(r.calls, call) {
			return r.option
		}
	}
	return ""
}
