package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
)

// joined is a session in which others can run programs.
type joined struct {
	*joinable
	t     *testing.T
	ended chan string // what the first program wrote, when the session has ended

	workspace string
}

// guestOf runs a command in direct mode, and returns when that is about to begin.
func guestOf(t *testing.T, command ...string) *joined {
	t.Helper()
	ownRuntime(t)
	workspace := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSession(false, [3]*os.File{null, w, w}, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan *joinable, 1)
	s.begun = func() { begun <- s.joinable }
	if err := s.prepare(&request{Options: Options{Workspace: workspace, Quiet: true, Command: command}}, nil); err != nil {
		t.Fatal(err)
	}
	g := &joined{t: t, ended: make(chan string, 1), workspace: workspace}
	go func() {
		defer close(begun)
		defer null.Close()
		defer s.release()
		_, err := s.run(nil)
		if err != nil {
			t.Error(err)
		}
		w.Close()
	}()
	go func() {
		text, _ := io.ReadAll(r)
		r.Close()
		g.ended <- string(text)
	}()
	if g.joinable = <-begun; g.joinable == nil {
		t.Fatal("the session has ended")
	}
	return g
}

// quiet is a client that wants to know of the end alone.
type quiet struct {
	begin chan struct{}
	code  int
	err   error
}

func (*quiet) terminal(int) error          { return nil }
func (q *quiet) running(*guest) error      { close(q.begin); return nil }
func (q *quiet) set() <-chan struct{}      { return q.begin }
func (*quiet) stopped()                    {}
func (q *quiet) continued() <-chan bool    { return nil }
func (q *quiet) ended(code int, err error) { q.code, q.err = code, err }
func (*quiet) went() <-chan struct{}       { return nil }

// exec runs a command in the guest, and returns what it wrote.
func (g *joined) exec(command ...string) (out string, code int, err error) {
	g.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		g.t.Fatal(err)
	}
	also, err := duplicate(w)
	if err != nil {
		g.t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(r)
		text <- string(data)
	}()
	q := &quiet{begin: make(chan struct{})}
	g.run(&control.ExecAsk{Command: command}, [3]*os.File{null, w, also}, q)
	return <-text, q.code, q.err
}

// end ends the first program, which waits for that, and returns what it wrote. What tells it is ended with the session, if
// it is still there.
func (g *joined) end() string {
	g.t.Helper()
	if _, code, err := g.exec("touch", "end"); code != 0 && !errors.Is(err, errSessionOver) {
		g.t.Errorf("%d, %v", code, err)
	}
	return <-g.ended
}

// hasty is a client that continues the program before that was let go.
type hasty struct {
	quiet
	goesOn chan bool
}

func (h *hasty) continued() <-chan bool { return h.goesOn }

// A program is let go, which limits it, before it is continued.
func TestGoBeforeContinue(t *testing.T) {
	for range 20 {
		ours, theirs, err := libexec.Socketpair()
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		defer theirs.Close()
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := &execution{
			j: &joinable{limit: func(int, ...int) error { return nil }}, cmd: cmd, link: ours, done: make(chan error, 1),
			guest: &guest{cmd.Process.Pid, pidfd},
		}
		c := &hasty{quiet{begin: make(chan struct{})}, make(chan bool, 1)}
		c.goesOn <- true
		close(c.begin)
		go func() {
			for _, want := range []control.Kind{control.Go, control.Continue} {
				if m, err := control.Receive(theirs); err != nil || m.Kind != want {
					t.Errorf("%v, %v, not %v", m.Kind, err, want)
				}
			}
			in.Close()
			x.done <- cmd.Wait()
		}()
		if code, err := x.attend(c); code != 0 || err != nil {
			t.Errorf("%d, %v", code, err)
		}
	}
}

func TestExec(t *testing.T) {
	g := guestOf(t, "sh", "-c", "until test -e end; do sleep 0.02; done; echo ended")
	for _, test := range []struct {
		command string
		out     string
		code    int
	}{
		{"pwd; id -u >uid; exit 7", "/home/agent/ws\n", 7},
		{"kill -9 $$", "", 137},
	} {
		if out, code, err := g.exec("sh", "-c", test.command); out != test.out || code != test.code || err != nil {
			t.Errorf("%s: %q, %d, %v", test.command, out, code, err)
		}
	}
	if out, code, err := g.exec("no-such-command"); code != 127 || !strings.Contains(out, "command not found") || err != nil {
		t.Errorf("%q, %d, %v", out, code, err)
	}
	if out := g.end(); out != "ended\n" {
		t.Errorf("the first program wrote %q", out)
	}
}

// look writes down all that the kernel says of a process but what is its own, such as its id and its times. Of what a shell
// changes now and then, the programs tell that it starts.
const look = `
for f in uid_map gid_map setgroups cgroup mountinfo limits environ personality oom_score_adj loginuid sessionid; do
	echo "== $f"; cat /proc/$$/$f 2>&1
done
echo "== status"; grep -vE '^(Name|State|N?S?[Tt]gid|N?S?[Pp]id|NSpgid|NSsid|PPid|FDSize|Vm.*|Rss.*|HugetlbPages|SigQ|SigPnd|.*ctxt_switches|Threads):' /proc/self/status
for link in cwd root ns/cgroup ns/ipc ns/mnt ns/net ns/pid ns/pid_for_children ns/time ns/user ns/uts; do
	echo "== $link $(readlink /proc/$$/$link)"
done
echo "== fd"; ls /proc/self/fd
echo "== leader $(test "$(cut -d ' ' -f 6 /proc/$$/stat)" = $$ && echo yes) $(cut -d ' ' -f 18,19,40,41 /proc/$$/stat)"
ulimit -a
id
`

// A program that joins has all that the first one has, and nothing else.
func TestExecIsLikeTheFirst(t *testing.T) {
	g := guestOf(t, "sh", "-c", look+"until test -e end; do sleep 0.02; done")
	out, code, err := g.exec("sh", "-c", look)
	if code != 0 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	first := g.end()
	if n := strings.Count(first, "== "); n < 25 || !strings.Contains(first, "NoNewPrivs:\t1") {
		t.Errorf("the first program says\n%s", first)
	}
	if want, got := strings.Split(first, "\n"), strings.Split(out, "\n"); !slices.Equal(got, want) {
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Errorf("the first program has %q, and the other %q", want[i], got[i])
			}
		}
		t.Errorf("they differ: %d lines and %d", len(want), len(got))
	}
}

// leaving is a client that has a terminal, and goes.
type leaving struct {
	quiet
	master int
	gone   chan struct{}
}

func (l *leaving) terminal(master int) (err error) {
	l.master, err = unix.Dup(master)
	return err
}

func (l *leaving) went() <-chan struct{} { return l.gone }

// A guest that stops what waits for its program does not keep who has asked for that.
func TestExecWhoseStubIsStopped(t *testing.T) {
	g := guestOf(t, "sh", "-c", "until test -e end; do sleep 0.02; done")
	l := &leaving{quiet: quiet{begin: make(chan struct{})}, master: -1, gone: make(chan struct{})}
	ask := &control.ExecAsk{Command: []string{"sh", "-c", "kill -STOP $PPID; touch stopped; kill -KILL $$"}, Terminal: [3]bool{true, true, true}}
	done := make(chan struct{})
	go func() {
		g.run(ask, [3]*os.File{}, l)
		close(done)
	}()
	for _, err := os.Stat(filepath.Join(g.workspace, "stopped")); err != nil; _, err = os.Stat(filepath.Join(g.workspace, "stopped")) {
		select {
		case <-done:
			t.Fatalf("it has ended with %d, %v", l.code, l.err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	close(l.gone)
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
	unix.Close(l.master)
	g.end()
}
