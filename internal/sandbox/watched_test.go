package sandbox

import (
	"strings"
	"testing"
)

// watcher is a hostile guest: it tries to get at each process that appears, by tracing it, by taking its descriptors, and
// through /proc. A process that is art's, or has more than the watcher, is not to be had: its command line is looked at after
// each try, as it changes in one direction alone. It ends when there is a file end, and says what it has seen and got.
const watcher = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
SEIZE, INTERRUPT, DETACH, GETFD, WAKE = 0x4206, 0x4207, 17, 438, 1 << 35
own = os.getpid()
def read(path):
    with open(path, "rb") as f:
        return f.read()
def fields(pid):
    text = read("/proc/%d/status" % pid).decode()
    return {line.split(":")[0]: line.split(":")[1].strip() for line in text.splitlines() if ":" in line}
want = fields(own)
def arts(pid):
    return read("/proc/%d/cmdline" % pid).startswith((b"/proc/self/fd/", b"art-join"))
def seize(pid):
    if libc.ptrace(SEIZE, pid, 0, 0) != 0:
        raise OSError
    if arts(pid):
        got.add("trace")
    libc.ptrace(INTERRUPT, pid, 0, 0)
    if os.WIFSTOPPED(os.waitpid(pid, 0x40000000)[1]):
        libc.ptrace(DETACH, pid, 0, 0) # its end is its parent's to know
def take(fd):
    def get(pid):
        pidfd = os.pidfd_open(pid)
        try:
            got = libc.syscall(GETFD, pidfd, fd, 0)
            if got < 0:
                raise OSError
            os.close(got)
        finally:
            os.close(pidfd)
    return get
tries = {"trace": seize, "descriptors": lambda pid: os.readlink("/proc/%d/fd/%s" % (pid, max(os.listdir("/proc/%d/fd" % pid), default=0))), "memory": lambda pid: os.close(os.open("/proc/%d/mem" % pid, os.O_RDWR)),
    "program": lambda pid: os.readlink("/proc/%d/exe" % pid), "environment": lambda pid: read("/proc/%d/environ" % pid),
    "root": lambda pid: os.readlink("/proc/%d/root" % pid), "map": lambda pid: read("/proc/%d/maps" % pid), "link": take(5), "self": take(7), "payload": take(8)}
seen, got, first = set(), set(), set(os.listdir("/proc"))
while not os.path.exists("end"):
    for name in set(os.listdir("/proc")) - first:
        if not name.isdigit():
            continue
        pid = int(name)
        try:
            if not arts(pid):
                continue
            has = fields(pid)
            if arts(pid):
                seen.add(pid)
                for key in "NoNewPrivs", "Seccomp", "CapBnd", "Uid", "Gid", "Groups":
                    if has.get(key, "") != want.get(key, ""):
                        got.add("%s: %s" % (key, has.get(key)))
                if int(has["CapPrm"], 16) & ~WAKE or int(has["Seccomp_filters"]) < 1:
                    got.add("CapPrm: " + has["CapPrm"])
        except OSError:
            continue
        for what, get in tries.items():
            try:
                get(pid)
                if arts(pid):
                    got.add(what)
            except OSError:
                pass
print("seen:", len(seen) > 0, "got:", sorted(got))
`

// A guest that waits for each newcomer gets at none of them before it is a program as any other.
func TestExecWatched(t *testing.T) {
	g := guestOf(t, "python3", "-c", watcher)
	for range 15 {
		// What is taken over by its tracer may be stopped or killed then.
		if _, code, err := g.exec("true"); code != 0 || err != nil {
			t.Fatalf("%d, %v", code, err)
		}
	}
	if out := strings.TrimSpace(g.end()); out != "seen: True got: []" {
		t.Error(out)
	}
}
