package commands

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
)

// guest is a Learner whose guest's calls a test makes up, of processes of its own, and what it has told of commands.
type guest struct {
	*Learner
	mu   sync.Mutex
	list []control.Command // GUARDED_BY(mu)
}

func newGuest(t *testing.T) *guest {
	t.Helper()
	sock, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("ring", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := control.MapRing(os.NewFile(uintptr(fd), "ring"))
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{}
	g.Learner, err = Begin(sock, ring, func(c *control.Command) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.list = append(g.list, *c)
	}, os.Getpid(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		theirs.Close()
		g.End()
	})
	return g
}

// told returns what has been told, each with the first argument of a command.
func (g *guest) told() (list []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.list {
		argv, _, _ := strings.Cut(string(c.Argv), "\x00")
		list = append(list, map[control.CommandKind]string{control.Executed: "executed ", control.Exited: "exited "}[c.Kind]+argv)
	}
	return list
}

// executing is a process that is about to execute something, with all that it passes at places that stay the same.
type executing struct {
	path, arg []byte
	argv      [2]uint64
	pinner    runtime.Pinner
}

func newExecuting(t *testing.T) *executing {
	e := &executing{path: make([]byte, 64), arg: make([]byte, 64)}
	e.pinner.Pin(&e.path[0])
	e.pinner.Pin(&e.arg[0])
	e.pinner.Pin(e)
	t.Cleanup(e.pinner.Unpin)
	e.argv[0] = address(e.arg)
	return e
}

// by has a thread of this program's begin to execute a path.
func (e *executing) by(g *guest, tid int, path, arg string) {
	copy(e.path, path+"\x00")
	copy(e.arg, arg+"\x00")
	argv := pointerTo(&e.argv)
	g.executes(tid, func() bool { return true }, attempt{ip: 1, argv: argv, env: 2}, unix.AT_FDCWD, address(e.path), 0)
}

// TestExecutesItself has a program that is always at the same address, and its arguments too, execute one file after the other; and then try
// several paths for one.
func TestExecutesItself(t *testing.T) {
	g, e := newGuest(t), newExecuting(t)
	e.by(g, os.Getpid(), "/bin/sh", "git")
	e.by(g, os.Getpid(), "/bin/cat", "sh")
	e.by(g, os.Getpid(), "/bin/sh", "sh")
	e.by(g, os.Getpid(), "/nowhere/sh", "nowhere")
	// That the file has not been executed yet is in doubt, and it has not been: this program is what it was.
	me := strings.Join([]string{"executed", os.Args[0]}, " ")
	if got, want := strings.Join(g.told(), ", "), "executed git, "+me+", executed sh"; got != want {
		t.Errorf("told: %s\nwant: %s", got, want)
	}
}

// started returns a process that runs until the test ends.
func started(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(name, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// becomes waits until what has been told is what is wanted.
func (g *guest) becomes(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); strings.Join(g.told(), ", ") != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("told: %s\nwant: %s", strings.Join(g.told(), ", "), want)
		}
	}
}

// TestWithoutDescriptors learns of a command for which there is no descriptor, and of its end.
func TestWithoutDescriptors(t *testing.T) {
	g, e, child := newGuest(t), newExecuting(t), started(t, "sleep", "600")
	g.ends.most = 0
	e.by(g, os.Getpid(), "/bin/sh", "one")
	g.becomes(t, "executed one")
	s, ok := g.status(child.Process.Pid)
	if !ok || !g.add(s, s.tgid, attempt{}) {
		t.Fatal("no room")
	}
	g.watch(s, g.pidfd(s.tgid))
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.becomes(t, "executed one, exited ")
	if n, why := g.Unlearnt(); n != 0 {
		t.Errorf("%d not learnt: %v", n, why)
	}
}

// TestOutrun has a thread want to end a process while another one may be executing something: which of them it is that gets to it is seen by what
// becomes of the process.
func TestOutrun(t *testing.T) {
	g, runs := newGuest(t), started(t, "sh", "-c", "while :; do :; done")
	s, ok := g.status(runs.Process.Pid)
	if !ok || !g.add(s, s.tgid, attempt{}) {
		t.Fatal("no room")
	}
	g.watch(s, g.pidfd(s.tgid))
	const other = 1 << 30 // another thread of it
	g.locked(func() { g.host[other] = s.guest })
	g.exits(other, 77)
	if list := g.told(); len(list) > 0 {
		t.Errorf("told: %s, and it runs on", list)
	}
	if err := runs.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.becomes(t, "exited ")
	sleeps := started(t, "sleep", "600")
	if s, ok = g.status(sleeps.Process.Pid); !ok || !g.add(s, s.tgid, attempt{}) {
		t.Fatal("no room")
	}
	g.watch(s, g.pidfd(s.tgid))
	g.locked(func() { g.host[other] = s.guest })
	for end := time.Now().Add(time.Minute); len(g.told()) < 2; time.Sleep(10 * time.Millisecond) { // until it sleeps
		if time.Now().After(end) {
			t.Fatal("a process of which a thread ends all, while the others sleep, has not ended")
		}
		g.exits(other, 77)
	}
}

// locked calls f under the Learner's lock.
func (g *guest) locked(f func()) {
	g.Learner.mu.Lock()
	defer g.Learner.mu.Unlock()
	f()
}

// TestManyForks goes on learning after many forks that were killed, of which nobody hears, and says so where there is no room.
func TestManyForks(t *testing.T) {
	g, e := newGuest(t), newExecuting(t)
	g.most = 10
	for i := range g.most {
		g.belongs(1<<30+i, 0)
	}
	e.by(g, os.Getpid(), "/bin/sh", "one")
	g.becomes(t, "executed one")
	if n, why := g.Unlearnt(); n != 0 {
		t.Errorf("%d not learnt: %v", n, why)
	}
	g.end(os.Getpid(), 0)
	g.becomes(t, "executed one, exited ")
	g.most = 0
	e.by(g, os.Getpid(), "/bin/sh", "two")
	if n, why := g.Unlearnt(); n != 1 || why == nil {
		t.Errorf("%d not learnt: %v", n, why)
	}
	g.becomes(t, "executed one, exited ")
}
