package trace

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// census counts ends, and looks at the tracer whenever a directory is changed.
type census struct {
	Ignore
	ends  int
	enter func()
}

func (c *census) Enter(*decode.Call) error                       { c.enter(); return nil }
func (c *census) Ended(int, unix.WaitStatus, *decode.Call) error { c.ends++; return nil }

// Of a program that starts many processes which end at once, every end is told, and nothing is remembered of those that have
// ended: the kernel gives their ids to others. The end of a child may be reported before the event of its parent that tells of its birth.
func TestManyForks(t *testing.T) {
	const script = `f() { i=0; while [ $i -lt 300 ]; do (exit); i=$((i+1)); done; }; f & f & f & f & wait; cd /`
	cmd := &Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Calls: []string{"chdir"}}
	set, err := cmd.selected(Ignore{})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := cmd.filter(set, Ignore{})
	if err != nil {
		t.Fatal(err)
	}
	streams, err := cmd.streams()
	if err != nil {
		t.Fatal(err)
	}
	seen := &census{}
	tr := newTracer(seen, set.Has)
	tr.filtered = true
	looked := false
	seen.enter = func() {
		looked = true
		for pid := range tr.tasks {
			if pid != tr.root && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				t.Errorf("process %d has ended and is remembered", pid)
			}
		}
	}
	err = onThread(tr.kill, func() error { return tr.run(context.Background(), cmd, filter, streams) })
	if err = errors.Join(err, streams.wait(t.Context(), 0, false)); err != nil || !looked || seen.ends != 1205 {
		t.Errorf("%v; %d ends of 1205 were told; looked: %v", err, seen.ends, looked)
	}
}

// What is killed is traced, and nothing else: an id that is remembered may be another's by now.
func TestKillsTracees(t *testing.T) {
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	tr := newTracer(Ignore{}, nil)
	tr.task(other.Process.Pid)
	if err := onThread(tr.kill, func() error { tr.kill(); return nil }); err != nil {
		t.Error(err)
	}
	_ = other.Process.Signal(unix.SIGTERM)
	if err := other.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("it was killed: %v", err)
	}
}

// Where only some of the processes are the command's, the end of a child that came early is told once its parent is known.
func TestEarlyEnd(t *testing.T) {
	const child = 1 << 30 // more than any id
	seen := &census{}
	tr := newTracer(seen, nil)
	tr.began = true
	for _, parent := range []*task{{pid: 1}, {pid: 1, payload: true}} {
		seen.ends = 0
		if err := tr.ended(tr.task(child), 0); err != nil || seen.ends != 0 {
			t.Errorf("%v; %d ends were told before the birth", err, seen.ends)
		}
		if err := tr.birth(parent, child); err != nil || (seen.ends == 1) != parent.payload || len(tr.tasks)+len(tr.early) != 0 {
			t.Errorf("%v; %d ends were told, of the command: %v; %d are remembered", err, seen.ends, parent.payload, len(tr.tasks)+len(tr.early))
		}
	}
}
