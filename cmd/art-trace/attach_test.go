package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	// Two threads that make calls again and again, and that anybody of the same
	// user may trace where Yama asks.
	roles["busy"] = func() {
		unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // PR_SET_PTRACER_ANY
		for range 2 {
			go func() {
				runtime.LockOSThread()
				for {
					unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
					time.Sleep(time.Millisecond)
				}
			}()
		}
		select {}
	}
}

// startBusy starts a process of that role.
func startBusy(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"=busy")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	eventually(t, "the process has its threads", func() bool {
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
		return len(threads) > 3
	})
	return cmd
}

func tracerOf(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nTracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer
}

// attach starts an art-trace that attaches to pid, and waits for its log.
func attach(t *testing.T, pid int) *exec.Cmd {
	t.Helper()
	cmd := tracer(t, "", []string{"--attach", fmt.Sprint(pid), "--syscalls"}, "getppid")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	returned := regexp.MustCompile(`(?m)^(\d+) +(getppid\(|<\.\.\. getppid resumed>)\) += \d+$`)
	eventually(t, "calls of two threads are in the log", func() bool {
		log, _ := os.ReadFile(filepath.Join(cmd.Dir, "log"))
		threads := map[string]bool{}
		for _, m := range returned.FindAllStringSubmatch(string(log), -1) {
			threads[m[1]] = true
		}
		return len(threads) == 2
	})
	return cmd
}

// A process that runs already is traced in all its threads, let go on a signal,
// and goes on as before.
func TestAttach(t *testing.T) {
	busy := startBusy(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := attach(t, busy.Process.Pid)
		cmd.Process.Signal(sig)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		if log := logOf(t, cmd); !strings.Contains(log, "<detached ...>\n") {
			t.Errorf("%v: the log does not end with the threads let go", sig)
		}
		if tracer := tracerOf(busy.Process.Pid); tracer != "0" {
			t.Errorf("%v: still traced by %s", sig, tracer)
		}
		eventually(t, "the process goes on", func() bool { return state(busy.Process.Pid) == 'S' })
	}
}

// Several processes are traced, however they are named, and let go together.
func TestAttachSeveral(t *testing.T) {
	a, b, c := startBusy(t).Process.Pid, startBusy(t).Process.Pid, startBusy(t).Process.Pid
	cmd := tracer(t, "", []string{"-p", fmt.Sprintf("%d,%d", a, b), "--attach", fmt.Sprint(c), "--syscalls"}, "getppid")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := func(by string) func() bool {
		return func() bool { return tracerOf(a) == by && tracerOf(b) == by && tracerOf(c) == by }
	}
	eventually(t, "all are traced", func() bool { return tracerOf(a) != "0" && all(tracerOf(a))() })
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	eventually(t, "none is traced", all("0"))
}

// The death of the tracer neither ends nor stops a process that it attached to.
func TestAttachKilledTracer(t *testing.T) {
	busy := startBusy(t)
	cmd := attach(t, busy.Process.Pid)
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the process goes on untraced", func() bool {
		return tracerOf(busy.Process.Pid) == "0" && state(busy.Process.Pid) == 'S'
	})
	attach(t, busy.Process.Pid).Process.Kill() // it can be attached to again, and makes calls
}

// A stopped process stays stopped when it is let go, and the end of an attached
// one is the end of the trace.
func TestAttachStoppedAndEnding(t *testing.T) {
	busy := startBusy(t)
	pid := busy.Process.Pid
	cmd := attach(t, pid)
	syscall.Kill(pid, syscall.SIGSTOP)
	eventually(t, "the stop is in the log", func() bool {
		log, _ := os.ReadFile(filepath.Join(cmd.Dir, "log"))
		return strings.Contains(string(log), "--- stopped by SIGSTOP ---")
	})
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	eventually(t, "the process is stopped", func() bool { return state(pid) == 'T' })
	syscall.Kill(pid, syscall.SIGCONT)

	cmd = attach(t, pid)
	busy.Process.Kill()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if log := logOf(t, cmd); !strings.Contains(log, "+++ killed by SIGKILL +++") {
		t.Errorf("the end is not in the log")
	}
}

// What cannot be attached to is told of with its reason.
func TestAttachRefused(t *testing.T) {
	busy := startBusy(t)
	first := attach(t, busy.Process.Pid)
	defer func() { first.Process.Signal(syscall.SIGTERM); first.Wait() }()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--attach", fmt.Sprint(busy.Process.Pid)}, fmt.Sprintf("hint: process %d traces it already", first.Process.Pid)},
		{[]string{"--attach", "4194305"}, "no such process"}, // above PID_MAX_LIMIT
		{[]string{"--attach", "1", "true"}, "both a command and --attach"},
	} {
		cmd := tracer(t, "", nil, tc.args...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 125 || !strings.Contains(string(out), tc.want) {
			t.Errorf("%v: %v\n%swant %q", tc.args, err, out, tc.want)
		}
	}
}
