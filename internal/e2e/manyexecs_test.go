package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/processes"
)

// held is what a process holds, with those below it.
type held struct{ files, threads, processes, namespaces int }

func heldBy(t *testing.T, pid int) (h held) {
	t.Helper()
	count := func(pattern string) int {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	namespaces := map[string]bool{}
	for _, p := range processes.Tree(pid) {
		list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/ns/*", p.PID))
		for _, name := range list {
			if is, err := os.Readlink(name); err == nil {
				namespaces[is] = true
			}
		}
		h.processes++
	}
	h.files, h.threads, h.namespaces = count(fmt.Sprintf("/proc/%d/fd/*", pid)), count(fmt.Sprintf("/proc/%d/task/*", pid)), len(namespaces)
	return h
}

// However many programs join a session, one after the other and several at a time, and however they end, nothing of them is
// left in it.
func TestManyExecs(t *testing.T) {
	execs := 1000
	if testing.Short() {
		execs = 48
	}
	ws := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	first := exec.Command("art", "-q", "-i=false", "-m", ws, "-d", filepath.Join(t.TempDir(), "ws.db"), "--", "sleep", "1000")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer first.Process.Signal(unix.SIGTERM)
	run := func(args ...string) (int, *exec.Cmd) {
		cmd := exec.Command("art", append([]string{"exec"}, args...)...)
		cmd.Dir = ws
		_ = cmd.Run() // the code tells
		return cmd.ProcessState.ExitCode(), cmd
	}
	if !poll(time.Minute, func() bool { code, _ := run("true"); return code == 0 }) {
		t.Fatal("no session runs")
	}
	one := func(i int) {
		switch i % 16 {
		case 5:
			if code, _ := run("--", "sh", "-c", "exit 7"); code != 7 {
				t.Errorf("exec %d gave %d", i, code)
			}
		case 9:
			if code, _ := run("no-such-command"); code != 127 {
				t.Errorf("exec %d gave %d", i, code)
			}
		case 13: // which dies with art
			cmd := exec.Command("art", "exec", "sleep", "1000")
			cmd.Dir = ws
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(i%7) * 20 * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		default:
			if code, _ := run("true"); code != 0 {
				t.Errorf("exec %d gave %d", i, code)
			}
		}
	}
	together := func(from, n int) {
		next, all := make(chan int), sync.WaitGroup{}
		for range 8 {
			all.Go(func() {
				for i := range next {
					one(i)
				}
			})
		}
		for i := range n {
			next <- from + i
		}
		close(next)
		all.Wait()
	}
	// Go keeps the threads that it once had, and what it polls with.
	alone := heldBy(t, first.Process.Pid)
	together(0, 16)
	var before held
	if !poll(20*time.Second, func() bool {
		before = heldBy(t, first.Process.Pid)
		return before.processes <= alone.processes && before.namespaces <= alone.namespaces
	}) {
		t.Fatalf("alone, the session held %+v, and after 16 programs %+v", alone, before)
	}
	begun := time.Now()
	for i := range execs {
		one(i)
	}
	sequence := time.Since(begun)
	begun = time.Now()
	together(0, execs)
	parallel := time.Since(begun)
	var after held
	if !poll(20*time.Second, func() bool {
		after = heldBy(t, first.Process.Pid)
		return after.files <= before.files && after.processes <= before.processes && after.namespaces <= before.namespaces
	}) || after.threads > before.threads+16 {
		t.Errorf("before, the session held %+v, and afterwards %+v", before, after)
	}
	t.Logf("%d in a row in %v, by eight at a time in %v; the session holds %+v, and held %+v", execs, sequence, parallel, after, before)
}
