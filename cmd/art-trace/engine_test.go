package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
)

// roleVariable makes the test program one of the programs that the tests trace.
const roleVariable = "ART_TEST_ROLE"

var roles = map[string]func(){
	// A thread that is not the first executes another program.
	"exec-from-thread": func() {
		os.Unsetenv(roleVariable)
		go func() {
			runtime.LockOSThread()
			panic(syscall.Exec("/bin/true", []string{"true"}, nil))
		}()
		select {}
	},
	// One of several busy threads executes the program again, a few times.
	"exec-chain": func() {
		left, _ := strconv.Atoi(os.Args[len(os.Args)-1])
		if left == 0 {
			os.Exit(0)
		}
		runtime.GOMAXPROCS(8)
		for range 6 {
			go func() {
				runtime.LockOSThread()
				for {
					unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
				}
			}()
		}
		go func() {
			runtime.LockOSThread()
			panic(syscall.Exec("/proc/self/exe", []string{"exec-chain", strconv.Itoa(left - 1)}, os.Environ()))
		}()
		select {}
	},
	// Threads that make calls as fast as they can, until each has made a few. Which
	// of them the kernel names first when several have stopped is up to it.
	"crowd": func() {
		var left atomic.Int32
		const threads = 16
		runtime.GOMAXPROCS(threads + 1) // all at once, not by turns of the Go runtime
		left.Store(threads)
		for range threads {
			go func() {
				runtime.LockOSThread()
				for range 200 {
					unix.RawSyscall(unix.SYS_GETUID, 0, 0, 0)
				}
				left.Add(-1)
				for {
					unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
				}
			}()
		}
		runtime.LockOSThread()
		for left.Load() > 0 {
			unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
		unix.Exit(0)
	},
	// Art-trace where the kernel refuses a flag of listeners.
	"no-listener": func() {
		os.Unsetenv(roleVariable)
		const load, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_RET | unix.BPF_K
		flag, err := strconv.Atoi(os.Getenv("ART_TEST_FLAG"))
		if err != nil {
			panic(err)
		}
		err = seccomp.InstallForAll([]unix.SockFilter{ // of struct seccomp_data the number, and the lower half of the second argument
			{Code: load, K: 0}, {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SECCOMP, Jf: 3},
			{Code: load, K: 24}, {Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: uint32(flag), Jf: 1},
			{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)}, {Code: ret, K: unix.SECCOMP_RET_ALLOW},
		})
		if err == nil {
			flags := strings.Fields(os.Getenv("ART_TEST_FLAGS"))
			err = syscall.Exec("/proc/self/exe", append(append([]string{"art-trace"}, flags...), "cat", "data"), os.Environ())
		}
		panic(err)
	},
	// Art-trace where nobody may look at the memory of others.
	"no-memory": func() {
		os.Unsetenv(roleVariable)
		err := seccomp.InstallForAll(seccomp.Without("process_vm_readv"))
		if err == nil {
			err = syscall.Exec("/proc/self/exe", []string{"art-trace", "--entries", "--engine", "notify", "touch", "ran"}, os.Environ())
		}
		panic(err)
	},
	// What a sandbox starts: it loads the filter that it was handed, looks for
	// the command, and executes it.
	"payload": func() {
		os.Unsetenv(roleVariable)
		bytes, err := os.ReadFile("filter")
		if err == nil {
			var prog []unix.SockFilter
			if prog, err = seccomp.Unmarshal(bytes); err == nil {
				runtime.LockOSThread()
				err = seccomp.Install(prog)
			}
		}
		if err == nil {
			syscall.Exec("/nonexistent/echo", []string{"echo", "hello"}, nil)
			err = syscall.Exec("/bin/echo", []string{"echo", "hello"}, nil)
		}
		panic(err)
	},
}

// tracer returns a command that runs args under art-trace, in a directory of its
// own, with the log in the file log there.
func tracer(t *testing.T, role string, flags []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if args[0] == "self" {
		args[0] = self
	}
	cmd := &exec.Cmd{Path: self, Args: append(append([]string{"art-trace", "--log", "log"}, flags...), args...), Dir: t.TempDir()}
	cmd.Env = os.Environ()
	if role != "" {
		// The variable must not reach art-trace itself.
		cmd.Args = append([]string{"art-trace", "--log", "log"}, flags...)
		cmd.Args = append(append(cmd.Args, "/usr/bin/env", roleVariable+"="+role), args...)
	}
	return cmd
}

// ways are the flags by which a test has the command traced: whole by ptrace, and its entries by each engine.
var ways = map[string][]string{
	"whole":        nil,
	"ptrace":       {"--entries", "--engine", "ptrace"},
	"notification": {"--entries", "--engine", "notify"},
}

// eachWay runs a test in each of the ways.
func eachWay(t *testing.T, test func(t *testing.T, way []string)) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) { test(t, way) })
	}
}

// with adds flags to those of a way.
func with(way []string, flags ...string) []string { return append(slices.Clone(way), flags...) }

func logOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(cmd.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// state is the state letter of a process, or 0 when there is none.
func state(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[0]
}

func TestManyChildren(t *testing.T) { eachWay(t, testManyChildren) }

func testManyChildren(t *testing.T, way []string) {
	cmd := tracer(t, "", with(way, "--syscalls", "exit_group"), "sh", "-c",
		"i=0; while [ $i -lt 1000 ]; do (exit 3) & i=$((i+1)); done; wait")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := logOf(t, cmd)
	counts := map[string]int{"exit_group(3": 1000, "exit_group(0": 1}
	if way == nil {
		counts["+++ exited with 3 +++"], counts["+++ exited with 0 +++"] = 1000, 1
	}
	for text, want := range counts {
		if got := strings.Count(log, text); got != want {
			t.Errorf("%d times %q, want %d", got, text, want)
		}
	}
}

func TestThreads(t *testing.T) { eachWay(t, testThreads) }

func testThreads(t *testing.T, way []string) {
	cmd := tracer(t, "", with(way, "--syscalls", "getppid,exit"), "/usr/bin/python3", "-c", `
import threading, os
def f(): [os.getppid() for _ in range(50)]
ts = [threading.Thread(target=f) for _ in range(64)]
[t.start() for t in ts]; [t.join() for t in ts]`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries := regexp.MustCompile(`(?m)^\d+ +getppid\(`).FindAllString(logOf(t, cmd), -1)
	exits := regexp.MustCompile(`(?m)(getppid\(|getppid resumed>)\) += \d+$`).FindAllString(logOf(t, cmd), -1)
	if way != nil {
		if len(entries) != 3200 {
			t.Errorf("%d calls entered, want 3200", len(entries))
		}
		return
	}
	if len(entries) != 3200 || len(exits) != 3200 {
		t.Errorf("%d calls entered and %d returned, want 3200", len(entries), len(exits))
	}
	if ends := strings.Count(logOf(t, cmd), "+++ exited with 0 +++"); ends != 65 {
		t.Errorf("%d threads ended, want 65", ends)
	}
}

// However many threads have something to report, none waits for ever.
func TestCrowd(t *testing.T) { eachWay(t, testCrowd) }

func testCrowd(t *testing.T, way []string) {
	cmd := tracer(t, "crowd", with(way, "--summary", "--syscalls", "getppid,getuid"), "self")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := regexp.MustCompile(`(\d+) +getppid\n`).FindStringSubmatch(logOf(t, cmd))
	if m == nil {
		t.Fatalf("no getppid in\n%s", logOf(t, cmd))
	}
	t.Logf("%s calls of the crowd, %v", m[1], time.Since(start))
	// With equal turns, the main thread makes 200, and the others few until the
	// last of them is done, unless the machine is slow to start it.
	if others, _ := strconv.Atoi(m[1]); others > 16*16*200 {
		t.Errorf("for 16 times 200 calls, the threads that were done have made %d", others)
	}
}

// Signals that arrive while a call waits for its answer neither make it fail nor be told of again.
func TestInterrupted(t *testing.T) { eachWay(t, testInterrupted) }

func testInterrupted(t *testing.T, way []string) {
	cmd := tracer(t, "", with(way, "--syscalls", "getppid", "--signal", "none"), "/usr/bin/python3", "-c", `
import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
parents = {os.getppid() for _ in range(3000)}
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(parents), min(parents) > 0)`)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "1 True\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := len(regexp.MustCompile(`(?m)^\d+ +getppid\(`).FindAllString(logOf(t, cmd), -1)); got != 3000 {
		t.Errorf("%d calls, want 3000", got)
	}
}

func TestExecFromThread(t *testing.T) {
	cmd := tracer(t, "exec-from-thread", []string{"--syscalls", "execve,exit_group"}, "self")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := logOf(t, cmd)
	m := regexp.MustCompile(`(?m)^(\d+) +\+\+\+ superseded by execve in pid (\d+) \+\+\+$`).FindStringSubmatch(log)
	if m == nil || m[1] == m[2] {
		t.Fatalf("no thread was superseded:\n%s", log)
	}
	for _, want := range []string{
		m[2] + ` +execve\("/bin/true", \["true"\], 0x.*<(unfinished|pid changed to ` + m[1] + `) \.\.\.>$`,
		m[1] + ` +<\.\.\. execve resumed>\) += 0$`,
		m[1] + ` +exit_group\(0\) += \?$`,
		m[1] + ` +\+\+\+ exited with 0 \+\+\+$`,
	} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(log) {
			t.Errorf("no line %s in\n%s", want, log)
		}
	}
}

// Whatever stops of other threads are under way when one executes a program, none
// is taken for one of the new program, and all is seen to its end.
func TestExecAmongThreads(t *testing.T) {
	const times = 20
	cmd := tracer(t, "exec-chain", nil, "self", strconv.Itoa(times))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := logOf(t, cmd)
	// The first thread of a process may be the one that executes.
	changed := strings.Count(log, "+++ superseded by execve in pid ")
	if executed := strings.Count(log, `execve("/proc/self/exe"`); executed != times || changed > times || changed < times/2 {
		t.Errorf("executed %d times, %d of them by another thread, want %d", executed, changed, times)
	}
	if ends := strings.Count(log, "+++ exited with 0 +++"); ends == 0 || !strings.HasSuffix(log, "+++ exited with 0 +++\n") {
		t.Errorf("%d threads have ended:\n%s", ends, log[max(0, len(log)-500):])
	}
}

// Only the payload of a sandbox shows, from its own exec on.
func TestFilterByPayload(t *testing.T) {
	cmd := tracer(t, "payload", []string{"--filter-by", "payload"}, "self")
	prog, err := seccomp.Trace([]string{"write", "execve", "exit_group"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cmd.Dir, "filter"), seccomp.Marshal(prog), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "hello\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	got := regexp.MustCompile(`(?m)^\d+ +`).ReplaceAllString(logOf(t, cmd), "")
	got = regexp.MustCompile(`0x\w+`).ReplaceAllString(regexp.MustCompile(` += `).ReplaceAllString(got, " = "), "X")
	const want = `execve("/nonexistent/echo", ["echo", "hello"], X /* 0 vars */) = -1 ENOENT (No such file or directory)
execve("/bin/echo", ["echo", "hello"], X /* 0 vars */) = 0
write(1, "hello\n", 6) = 6
exit_group(0) = ?
+++ exited with 0 +++
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A payload that runs without its filter is not passed off as one that did nothing.
func TestPayloadWithoutFilter(t *testing.T) {
	out, err := tracer(t, "", []string{"--filter-by", "payload"}, "true").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 || !strings.Contains(string(out), "no process of it loaded the filter") {
		t.Errorf("%v\n%s", err, out)
	}
}

// childOf returns the process that art-trace has started, once it is name.
func childOf(t *testing.T, cmd *exec.Cmd, name string) (pid int) {
	t.Helper()
	eventually(t, "the command runs", func() bool {
		// The keeper of a trace by user notification is between the two.
		for pid = 0; ; {
			child := onlyChild(cmp.Or(pid, cmd.Process.Pid))
			if child == 0 {
				break
			}
			pid = child
		}
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return strings.TrimSpace(string(comm)) == name
	})
	return pid
}

// onlyChild returns the child of a process, or 0.
func onlyChild(pid int) (child int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		if children, _ := os.ReadFile(list); len(children) > 0 {
			child, _ = strconv.Atoi(strings.TrimSpace(string(children)))
		}
	}
	return child
}

// Killed, the tracer takes everything with it.
func TestKilledTracer(t *testing.T) { eachWay(t, testKilledTracer) }

func testKilledTracer(t *testing.T, way []string) {
	cmd := tracer(t, "", with(way, "--syscalls", "execve"), "sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := childOf(t, cmd, "sleep")
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the command ends", func() bool { return state(pid) == 0 || state(pid) == 'Z' })
	if log := logOf(t, cmd); !strings.Contains(log, `execve("`) {
		t.Errorf("the log lacks what was seen: %q", log)
	}
}

// Nothing of a trace outlives its tracer: no daemon, nothing that makes no call, nothing that starts the next of its kind and ends.
func TestKilledTracerOfMany(t *testing.T) { eachWay(t, testKilledTracerOfMany) }

func testKilledTracerOfMany(t *testing.T, way []string) {
	mark := fmt.Sprintf("of-many-%d", time.Now().UnixNano())
	script := `trap "" TERM HUP
		for how in "" "setsid"; do
			(exec $how sh -c 'while :; do sleep 100; done' "$0" &)
			(exec $how sh -c 'while :; do :; done' "$0" &)
		done
		/usr/bin/python3 -S -c '
import os
while True:
	if os.fork(): os._exit(0)' "$0" &
		: >there
		exec sleep 100`
	cmd := tracer(t, "", with(way, "--syscalls", "execve"), "sh", "-c", script, mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command runs", func() bool {
		_, err := os.Stat(filepath.Join(cmd.Dir, "there"))
		return err == nil && len(marked(mark)) >= 4 // and the one that is always another
	})
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "all has ended", func() bool { return len(marked(mark)) == 0 })
}

// A call that waits when the tracer is killed does not fail and let the program go on.
func TestKilledTracerInCall(t *testing.T) { eachWay(t, testKilledTracerInCall) }

func testKilledTracerInCall(t *testing.T, way []string) {
	for range 10 {
		mark := fmt.Sprintf("in-call-%d", time.Now().UnixNano())
		cmd := tracer(t, "", with(way, "--syscalls", "chdir"), "sh", "-c", ": >there; while cd /proc/self/cwd; do :; done; : >$1/failed", mark)
		cmd.Args = append(cmd.Args, cmd.Dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the command runs", func() bool {
			_, err := os.Stat(filepath.Join(cmd.Dir, "there"))
			return err == nil
		})
		cmd.Process.Kill()
		cmd.Wait()
		eventually(t, "all has ended", func() bool { return len(marked(mark)) == 0 })
		if _, err := os.Stat(filepath.Join(cmd.Dir, "failed")); err == nil {
			t.Fatal("the call has failed, and the command went on")
		}
	}
}

// marked returns the processes with an argument.
func marked(mark string) (pids []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), "\x00"+mark+"\x00") {
			pids = append(pids, line)
		}
	}
	return pids
}

// Where it cannot be told what calls point to, nothing is run, as with ptrace.
func TestMemoryForbidden(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: []string{self}, Dir: t.TempDir(), Env: append(os.Environ(), roleVariable+"=no-memory")}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 || !strings.Contains(string(out), "operation not permitted\n") || !strings.Contains(string(out), "hint: ") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "ran")); err == nil {
		t.Error("the command was run")
	}
}

// Where the kernel cannot ask a listener, or signals would interrupt what it is asked about, entries are told by ptrace, and who asks for
// the other engine gets an error.
func TestNoListener(t *testing.T) {
	for name, flag := range map[string]int{"before 5.0": unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, "before 5.19": unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV} {
		t.Run(name, func(t *testing.T) { testNoListener(t, flag) })
	}
}

func testNoListener(t *testing.T, flag int) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(flags string) (string, error) {
		cmd := &exec.Cmd{Path: self, Args: []string{self}, Dir: dir, Env: append(os.Environ(), roleVariable+"=no-listener",
			"ART_TEST_FLAG="+strconv.Itoa(flag), "ART_TEST_FLAGS=--log log --entries "+flags)}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("--syscalls openat"); err != nil || out != "x\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if log, _ := os.ReadFile(filepath.Join(dir, "log")); !regexp.MustCompile(`(?m)^\d+ +openat\(AT_FDCWD, "data", O_RDONLY\) += \?$`).Match(log) {
		t.Errorf("the log is\n%s", log)
	}
	if out, err := run("--engine notify"); err == nil || !strings.Contains(out, "no user notification") || !strings.Contains(out, "hint: it needs Linux 5.19 or later") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Without what keeps the command, it ends, and that is told of.
func TestKilledKeeper(t *testing.T) {
	cmd := tracer(t, "", []string{"--entries", "--engine", "notify", "--syscalls", "execve"}, "sh", "-c", "(while sleep 0.01; do :; done) & wait")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command runs", func() bool {
		log, _ := os.ReadFile(filepath.Join(cmd.Dir, "log"))
		return strings.Contains(string(log), `"sleep"`)
	})
	syscall.Kill(onlyChild(cmd.Process.Pid), syscall.SIGKILL)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 125 || !strings.Contains(stderr.String(), "has been killed") {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// A signal to the tracer reaches the command, whose end is then its own.
func TestForwardedSignal(t *testing.T) { eachWay(t, testForwardedSignal) }

func testForwardedSignal(t *testing.T, way []string) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		cmd := tracer(t, "", with(way, "--syscalls", "execve"), "sleep", "100")
		// A session of its own has no terminal that would send signals to both.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		childOf(t, cmd, "sleep")
		cmd.Process.Signal(sig)
		_ = cmd.Wait()
		if got := cmd.ProcessState.Sys().(syscall.WaitStatus); got.Signal() != sig {
			t.Errorf("%v: %v", sig, cmd.ProcessState)
		}
	}
}

// Stopped as a job, the tracer stops after its command and goes on with it.
func TestJobControl(t *testing.T) { eachWay(t, testJobControl) }

func testJobControl(t *testing.T, way []string) {
	cmd := tracer(t, "", with(way, "--syscalls", "execve"), "sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	pid := childOf(t, cmd, "sleep")
	for range 3 {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTSTP)
		eventually(t, "the tracer stops", func() bool { return state(cmd.Process.Pid) == 'T' })
		// The signal may reach the tracer first, where there are few processors.
		eventually(t, "the command stops", func() bool { s := state(pid); return s == 't' || s == 'T' })
		syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
		eventually(t, "both go on", func() bool { return state(cmd.Process.Pid) == 'S' && state(pid) == 'S' })
	}
	syscall.Kill(pid, syscall.SIGTERM)
	_ = cmd.Wait()
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus); got.Signal() != syscall.SIGTERM {
		t.Error(cmd.ProcessState)
	}
	if log := logOf(t, cmd); way == nil && strings.Count(log, "--- stopped by SIGTSTP ---") != 3 {
		t.Errorf("not stopped three times:\n%s", log)
	}
}

// A set-user-ID program that will not have its owner's rights is told of; root's
// trace leaves them to it.
func TestSetuid(t *testing.T) { eachWay(t, testSetuid) }

func testSetuid(t *testing.T, way []string) {
	cmd := tracer(t, "", with(way, "--syscalls", "prctl,execve"), "./tool")
	content, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cmd.Dir, "tool")
	if err := errors.Join(os.WriteFile(path, content, 0o755), os.Chmod(path, 0o755|os.ModeSetuid)); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	warned := strings.Contains(string(out), "set-user-ID or set-group-ID: it runs with your rights alone while it is traced")
	if root := os.Geteuid() == 0; warned == root {
		t.Errorf("root %v, warned %v:\n%s", root, warned, out)
	}
}
