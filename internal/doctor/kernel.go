package doctor

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cgroup"
)

// The oldest kernel that has all calls which a session cannot do without: the youngest
// of them is mount_setattr(2).
const oldestMajor, oldestMinor = 5, 12

func (h *host) kernel() Finding {
	f := Finding{What: "kernel", Says: "Linux " + h.Read("/proc/sys/kernel/osrelease")}
	if h.olderThan(1, 0) {
		f.State, f.Says = Fail, f.Says+": its version cannot be read"
		f.Fix = "mount /proc with `" + h.sudo("mount -t proc proc /proc") + "`"
		return f
	}
	if h.olderThan(oldestMajor, oldestMinor) {
		f.State, f.Says = Fail, fmt.Sprintf("%s is older than %d.%d", f.Says, oldestMajor, oldestMinor)
		f.Fix = h.newerKernel()
	}
	return f
}

// olderThan says whether the kernel is older than a version, as one is that cannot be read.
func (h *host) olderThan(major, minor int) bool {
	var is, isMinor int
	fmt.Sscanf(h.Read("/proc/sys/kernel/osrelease"), "%d.%d", &is, &isMinor) //nolint:errcheck // then it is 0.0
	return is < major || is == major && isMinor < minor
}

// newerKernel returns what brings a kernel that is young enough. The releases whose own is
// not have another on offer.
func (h *host) newerKernel() string {
	switch id := h.release("ID"); {
	case strings.Contains(strings.ToLower(h.Read("/proc/sys/kernel/osrelease")), "microsoft"):
		return "run `wsl --update` in Windows"
	case h.Container() != "":
		return "update the kernel of the host that the container runs on"
	case id == "ubuntu":
		return "run `" + h.sudo("apt-get install linux-generic-hwe-"+h.release("VERSION_ID")) + "`, and restart"
	case id == "debian":
		return "run `" + h.sudo("apt-get install -t "+h.release("VERSION_CODENAME")+"-backports linux-image-"+runtime.GOARCH) + "`, and restart"
	}
	return fmt.Sprintf("update to a release of your system with Linux %d.%d or newer", oldestMajor, oldestMinor)
}

// where says what kind of machine it is. The other findings tell what follows from that.
func (h *host) where() Finding {
	release := h.Read("/proc/sys/kernel/osrelease")
	f := Finding{What: "machine", Says: "no container"}
	switch name := h.Container(); {
	case strings.HasSuffix(release, "-Microsoft"):
		// https://learn.microsoft.com/windows/wsl/compare-versions: the first version translates
		// calls and has neither namespaces nor FUSE.
		f.State, f.Says = Fail, "Windows Subsystem for Linux 1, which has no namespaces"
		f.Fix = "run `wsl --set-version " + h.release("NAME") + " 2` in Windows"
	case name != "":
		f.Says = "a container of " + name
	case strings.Contains(release, "microsoft"):
		f.Says = "Windows Subsystem for Linux 2"
	}
	return f
}

// release returns what os-release(5) says of the system.
func (h *host) release(name string) string {
	for line := range strings.Lines(h.Read("/etc/os-release")) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return strings.ToUpper(name) // for the reader to fill in
}

// seccomp asks for what the filters of a session and of a trace answer.
func seccomp() Finding {
	f := Finding{What: "seccomp", Says: "filters can refuse, kill and trace"}
	for _, action := range []uint32{unix.SECCOMP_RET_ERRNO, unix.SECCOMP_RET_KILL_PROCESS, unix.SECCOMP_RET_TRACE} {
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
		if errno != 0 {
			f.State, f.Says = Fail, fmt.Sprintf("action %#x is not available: %v", action, errno)
			f.Fix = "use a kernel with CONFIG_SECCOMP_FILTER=y"
		}
	}
	return f
}

// scoping is the first version of Landlock that keeps signals and abstract sockets
// within a sandbox (landlock(7)).
const scoping = 6

func landlock() Finding {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		version = 0
	}
	return judgeLandlock(int(version), errno)
}

func judgeLandlock(version int, errno unix.Errno) Finding {
	f := Finding{What: "Landlock", Says: fmt.Sprintf("version %d", version)}
	const without = "abstract sockets of the host are within reach, but with --network none"
	switch {
	case errno == unix.EOPNOTSUPP:
		f.State, f.Says = Note, "it is not enabled: "+without
		f.Fix = "put landlock first into the list lsm= of the kernel's command line"
	case errno != 0:
		f.State, f.Says = Note, "the kernel has none: "+without
		f.Fix = "use Linux 6.12 or newer with CONFIG_SECURITY_LANDLOCK=y"
	case version < scoping:
		f.State, f.Says = Note, f.Says+": "+without
		f.Fix = "use Linux 6.12 or newer"
	}
	return f
}

// yama reports on ptrace, which traces need.
func (h *host) yama() Finding {
	const file = "kernel.yama.ptrace_scope"
	f := Finding{What: "ptrace", Says: "a program may trace what it starts"}
	switch scope := h.Read("/proc/sys/kernel/yama/ptrace_scope"); scope {
	case "1":
		f.Says += ", and art-trace --attach needs root (" + file + "=1)"
	case "2":
		if h.uid != 0 {
			f.State, f.Says = Note, "only root may trace ("+file+"=2): --trace does not work"
			f.Fix = "run `" + h.sudo("sysctl "+file+"=1") + "`"
		}
	case "3":
		f.State, f.Says = Note, "nobody may trace until the machine starts again ("+file+"=3): --trace does not work"
		f.Fix = "take the setting out of /etc/sysctl.d, and restart"
	}
	return f
}

// hidepid reports whether others' processes are hidden (proc(5)), which is no hindrance:
// a guest has a /proc of its own, and art looks at its own processes only.
func (h *host) hidepid() Finding {
	f := Finding{What: "hidepid", Says: "not set"}
	for line := range strings.Lines(h.Read("/proc/self/mountinfo")) {
		// proc_pid_mountinfo(5): the mount point is the fifth field, the options of the file
		// system come last.
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[4] != "/proc" {
			continue
		}
		for option := range strings.SplitSeq(fields[len(fields)-1], ",") {
			if value, ok := strings.CutPrefix(option, "hidepid="); ok && value != "0" && value != "off" {
				f.Says = value + ", which sessions do not mind; art-trace --attach sees your processes alone"
			}
		}
	}
	return f
}

// ids reports on what guests are on the host.
func (h *host) ids() Finding {
	f := Finding{What: "ids", Says: "guests have yours on the host"}
	if h.uid != 0 {
		return f
	}
	const kept = "guests have root's on the host, without its capabilities"
	id, err := h.spare()
	if err != nil {
		f.State, f.Says, f.Fix = Note, fmt.Sprintf("%s: %v", kept, err), "run art as an ordinary user"
		return f
	}
	f.Says = fmt.Sprintf("guests are %d on the host, which owns nothing", id)
	if err := h.mapped(id, "."); err != nil {
		f.State = Note
		f.Says += fmt.Sprintf("; but in direct mode, from the file system of this directory, %s: %v", kept, err)
		f.Fix = "use an overlay (--db), or a file system that maps ids: ext4, xfs, btrfs, tmpfs"
	}
	return f
}

// groups reports on control groups, which limit a guest's processes all together.
func (h *host) groups(find func(cgroup.Limits) (*cgroup.Place, error)) Finding {
	f := Finding{What: "control groups"}
	place, err := find(cgroup.Limits{Memory: 1, Processes: 1})
	if err == nil {
		f.Says = "limits hold for all processes together, in " + place.Dir()
		return f
	}
	f.State, f.Says = Note, err.Error()+": limits of memory hold for each process by itself"
	switch {
	case h.Container() != "":
		f.Fix = "have the container's runtime mount /sys/fs/cgroup writable, with a hierarchy of the container's own"
	case !h.Exists("/sys/fs/cgroup/cgroup.controllers"):
		f.Fix = "start the kernel with systemd.unified_cgroup_hierarchy=1"
	default:
		f.Fix = "start art with `systemd-run --user --scope -p Delegate=yes art ...`"
	}
	return f
}
