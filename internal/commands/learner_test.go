package commands

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

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
