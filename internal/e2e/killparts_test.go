package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/processes"
)

// parts is a host with two sessions in the background, of which one loses a part. What the log says of that is in the
// stories kill-art-fuse, background and overview.
type parts struct {
	t         *testing.T
	work      string
	id, other string
}

// run runs a program in the host's directory, and returns what it writes on standard output.
func (p *parts) run(name string, args ...string) (string, error) {
	cmd := p.command(name, args...)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func (p *parts) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.work
	cmd.Env = append(os.Environ(), "HOME="+p.work+"/home", "XDG_RUNTIME_DIR="+p.work+"/run", "TMPDIR="+p.work+"/.tmp")
	return cmd
}

func (p *parts) must(name string, args ...string) string {
	p.t.Helper()
	out, err := p.run(name, args...)
	if err != nil {
		p.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return out
}

// writing is what the guests do: they write all the time.
const writing = `trap "" HUP; i=0; while :; do i=$((i+1)); echo $i >now; mv now last; mkdir -p d; echo $i >d/$((i % 100)); sleep 0.01; done`

func (p *parts) start(ws string) string {
	if err := os.MkdirAll(filepath.Join(p.work, ws), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return p.must("art", "run", "-q", "-b", "-i=false", "-m", ws, "--", "sh", "-c", writing)
}

// pid is the process of a session.
func (p *parts) pid(id string) int {
	for line := range strings.Lines(p.must("art", "ps", "--json")) {
		if strings.Contains(line, `"id":"`+id+`"`) {
			_, rest, _ := strings.Cut(line, `"pid":`)
			number, _, _ := strings.Cut(rest, ",")
			pid, err := strconv.Atoi(number)
			if err != nil {
				p.t.Fatal(line)
			}
			return pid
		}
	}
	return 0
}

// goesOn fails unless the guest of a session still writes, and can be asked.
func (p *parts) goesOn(id string) {
	p.t.Helper()
	const look = "cat last; sleep 0.3; cat last"
	out, err := p.run("art", "exec", "-i=false", id, "--", "sh", "-c", look)
	if lines := strings.Fields(out); err != nil || len(lines) != 2 || lines[0] == lines[1] {
		p.t.Errorf("session %s does not go on: %v %q", id, err, out)
	}
}

// isGone fails unless nothing of a session is there after two seconds, and its database is whole.
func (p *parts) isGone(id, ws string, tree []processes.Process) {
	p.t.Helper()
	if !poll(2*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		p.t.Errorf("alive after two seconds: %v", processes.Alive(tree))
	}
	if p.pid(id) != 0 {
		p.t.Error("the session is still listed")
	}
	if _, err := os.Stat(p.work + "/run/art/" + id + ".sock"); err == nil {
		p.t.Error("its socket is still there")
	}
	databases, _ := filepath.Glob(p.work + "/home/.local/state/art/" + ws + "-*.db")
	if len(databases) != 1 {
		p.t.Fatalf("databases: %q", databases)
	}
	p.must("art-fuse", "check", databases[0])
	if out, err := p.run("art", "run", "-q", "-m", ws, "--", "cat", "last"); err != nil || out == "" {
		p.t.Errorf("the next session: %v %q", err, out)
	}
}

// SIGKILL of any part of a session in the background leaves the others alone, and nothing of its own.
func TestKillOfEachPart(t *testing.T) {
	for _, part := range []string{"art", "art-fuse", "bwrap", "sh"} {
		t.Run(part, func(t *testing.T) {
			p := newParts(t)
			p.goesOn(p.id)
			tree := processes.Tree(p.pid(p.id))
			i := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == part })
			if part == "art" {
				i = 0
			}
			if i < 0 {
				t.Fatalf("there is no %s in %v", part, tree)
			}
			if err := syscall.Kill(tree[i].PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.isGone(p.id, "ws", tree)
			p.goesOn(p.other)
		})
	}
	t.Run("stage", testKillOfTheStage)
	t.Run("art-sync", testKillOfPull)
	t.Run("art-fuse in a pull", testKillInPull)
}

func newParts(t *testing.T) *parts {
	p := &parts{t: t, work: t.TempDir()}
	for _, dir := range []string{"home", "run", ".tmp"} {
		if err := os.Mkdir(filepath.Join(p.work, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, id := range []string{p.id, p.other} {
			_, _ = p.run("art", "kill", "--signal", "KILL", id) // one of them has ended
		}
		if !poll(5*time.Second, func() bool { return len(leftovers(p.work)) == 0 }) {
			t.Errorf("left behind: %v", leftovers(p.work))
		}
	})
	p.id, p.other = p.start("ws"), p.start("other")
	return p
}

// The stage is there for some milliseconds; it is held by an art-fuse that is stopped, for which it waits.
func testKillOfTheStage(t *testing.T) {
	p := newParts(t)
	cmd := p.command("art", "run", "-q", "-b", "-m", "third", "--", "sleep", "1000")
	if err := os.Mkdir(filepath.Join(p.work, "third"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var tree []processes.Process
	find := func(comm func(string) bool) int {
		tree = processes.Tree(cmd.Process.Pid)
		i := slices.IndexFunc(tree, func(p processes.Process) bool { return comm(p.Comm) })
		if i < 0 {
			return 0
		}
		return tree[i].PID
	}
	fuse := 0
	for end := time.Now().Add(5 * time.Second); fuse == 0 && time.Now().Before(end); {
		fuse = find(func(comm string) bool { return comm == "art-fuse" })
	}
	if fuse == 0 || syscall.Kill(fuse, syscall.SIGSTOP) != nil {
		t.Fatalf("there is no art-fuse in %v", tree)
	}
	// The stage has the session's process for its parent, as art-fuse has.
	session, stage := processes.Parent(fuse), 0
	if !poll(5*time.Second, func() bool {
		find(func(string) bool { return false })
		for _, c := range tree {
			if processes.Parent(c.PID) == session && c.PID != fuse {
				stage = c.PID
			}
		}
		return stage != 0
	}) {
		t.Fatalf("there is no stage in %v", tree)
	}
	if err := syscall.Kill(stage, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(fuse, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if cmd.ProcessState.ExitCode() != 125 {
			t.Errorf("%v: %s", err, said.String())
		}
	case <-time.After(2 * time.Second):
		t.Errorf("it has not ended: %v", processes.Alive(tree))
		_ = cmd.Process.Kill()
		<-ended
	}
	if !poll(2*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		t.Errorf("alive after two seconds: %v", processes.Alive(tree))
	}
	p.goesOn(p.id)
	p.goesOn(p.other)
}

// A pull that is killed leaves the session as it is, and the next one brings all.
func testKillOfPull(t *testing.T) {
	p := newParts(t)
	p.must("art", "exec", "-i=false", p.id, "--", "sh", "-c", "mkdir many && seq 4000 | (cd many && xargs touch) && seq 100000 >many/large")
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond} {
		cmd := p.command("art", "pull", "-q", "-m", "ws")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		p.goesOn(p.id)
	}
	p.goesOn(p.other)
	tree := processes.Tree(p.pid(p.id))
	p.must("art", "kill", p.id)
	if !poll(2*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		t.Fatalf("alive after two seconds: %v", processes.Alive(tree))
	}
	p.must("art", "pull", "-q", "-m", "ws")
	files, err := os.ReadDir(filepath.Join(p.work, "ws/many"))
	if err != nil || len(files) != 4001 {
		t.Errorf("%d files were pulled, %v", len(files), err)
	}
	if hidden, _ := filepath.Glob(p.work + "/ws/.art*"); len(hidden) > 0 {
		t.Errorf("left in the workspace: %q", hidden)
	}
	databases, _ := filepath.Glob(p.work + "/home/.local/state/art/ws-*.db")
	p.must("art-fuse", "check", databases[0])
}

// count is what a guest does that brings changes as fast as it can: file N of d says N, and so do several others.
const count = `i=0; while :; do i=$((i+1)); for f in 0 1 2 3 4 5 6 7; do echo $i >d/$f.new; mv d/$f.new d/$f; done; echo $i >>log; done`

// An art-fuse that is killed while a pull goes on takes the session along, and nothing else: nothing is left of it after two
// seconds, the next pull brings all that the database has without a conflict, and what is on the host alone stays.
func testKillInPull(t *testing.T) {
	p := newParts(t)
	host := func(rel, content string) {
		t.Helper()
		path := filepath.Join(p.work, rel)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	moments := []time.Duration{10, 40, 80, 130, 190, 260, 340}
	if testing.Short() {
		moments = []time.Duration{40, 130, 260}
	}
	failed := 0
	for round, after := range moments {
		ws := fmt.Sprint("pulled", round)
		host(ws+"/log", "")
		host(ws+"/large", strings.Repeat("x", 3<<20))
		host(ws+"/old/file", "the host's")
		id := p.must("art", "run", "-q", "-b", "-i=false", "-m", ws, "--", "sh", "-c",
			`mkdir d; mv old new; for i in $(seq 300); do echo $i >new/$i; done; printf y | dd of=large conv=notrunc bs=1 seek=100 2>/dev/null; `+count)
		if !poll(20*time.Second, func() bool {
			lines, _ := p.run("art", "exec", "-i=false", id, "--", "sh", "-c", "wc -l <log; sync log") // all of that is in the database
			n, _ := strconv.Atoi(lines)
			return n > 3
		}) {
			t.Fatal("the guest does not begin")
		}
		host(ws+"/beside", "the host's, too")
		tree := processes.Tree(p.pid(id))
		fuse := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == "art-fuse" })
		if fuse < 0 {
			t.Fatalf("there is no art-fuse in %v", tree)
		}
		pull := p.command("art", "pull", "-q", "-m", ws)
		if err := pull.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		if err := syscall.Kill(tree[fuse].PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if pull.Wait() != nil {
			failed++
		}
		if !poll(2*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
			t.Fatalf("alive after two seconds: %v", processes.Alive(tree))
		}
		if out, err := p.command("art", "pull", "-m", ws).CombinedOutput(); err != nil {
			t.Fatalf("killed after %d ms: the next pull: %v\n%s", after, err, out)
		}
		p.wantCounted(ws)
		if out, err := p.command("art", "pull", "-m", ws).CombinedOutput(); err != nil || !strings.Contains(string(out), "nothing to pull") {
			t.Fatalf("killed after %d ms: a third pull: %v\n%s", after, err, out)
		}
		if hidden, _ := filepath.Glob(p.work + "/" + ws + "/.art*"); len(hidden) > 0 {
			t.Errorf("left in the workspace: %q", hidden)
		}
		databases, _ := filepath.Glob(p.work + "/home/.local/state/art/" + ws + "-*.db")
		p.must("art-fuse", "check", databases[0])
		if there, err := p.run("art", "run", "-q", "-m", ws, "--", "sh", "-c", "cat log d/*; cat beside new/file large | md5sum"); err != nil {
			t.Error(err)
		} else if here := p.must("sh", "-c", "cd "+ws+" && cat log d/* && cat beside new/file large | md5sum"); there != here {
			t.Errorf("killed after %d ms: the guest and the host differ:\n%.200s\n%.200s", after, there, here)
		}
		p.goesOn(p.id)
	}
	t.Logf("of %d pulls, %d were cut off", len(moments), failed)
}

// wantCounted makes sure that the host has a state of the guest's that was, and what is its own.
func (p *parts) wantCounted(ws string) {
	p.t.Helper()
	read := func(rel string) string {
		data, err := os.ReadFile(filepath.Join(p.work, ws, rel))
		if err != nil {
			p.t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	if read("beside") != "the host's, too" || read("new/file") != "the host's" || read("new/300") != "300" {
		p.t.Error("what was there is another")
	}
	if large := read("large"); len(large) != 3<<20 || large[100] != 'y' || strings.Count(large, "x") != len(large)-1 {
		p.t.Error("large is another")
	}
	last := 0
	for i, line := range strings.Fields(read("log")) {
		if n, err := strconv.Atoi(line); err != nil || n != i+1 {
			p.t.Fatalf("line %d of the log is %q", i+1, line)
		}
		last = i + 1
	}
	// One file after the other gets the next number, and then so does the log.
	for f := range 8 {
		n, err := strconv.Atoi(read(fmt.Sprint("d/", f)))
		if err != nil || n != last && n != last+1 {
			p.t.Errorf("d/%d says %d, and the log %d", f, n, last)
		}
	}
}
