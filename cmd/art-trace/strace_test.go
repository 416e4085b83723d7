package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Against strace on the same programs: the same calls with the same arguments
// and results, in the same order in each thread.
func TestAgainstStrace(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{
		"ls":       {"ls", "-lR", "."},
		"pipeline": {"sh", "-c", "ls -a | sort -r | wc -l; exit 7"},
		"files":    {"sh", "-c", "mkdir a; cp -p dir0/* a; mv a b; ln -s b c; chmod 700 b; touch -d @0 b; rm -r b c"},
		"children": {"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do (exit $i); done"},
		"signal":   {"sh", "-c", "trap 'echo got' USR1; kill -USR1 $$; kill -SEGV $$"},
		"sockets":  {"/usr/bin/python3", "-c", socketProgram},
		"misc":     {"/usr/bin/python3", "-S", "-c", miscProgram},
		"find":     {"find", ".", "-name", "*1*", "-newer", "/etc/passwd"},
		"tar":      {"sh", "-c", "tar c dir1 | tar t"},
		"missing":  {"cat", "/nonexistent", "dir0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := makeTree(t)
			want := traceOf(t, tree, strace, "strace", []string{"-f", "-o"}, command)
			got := traceOf(t, tree, self, "art-trace", []string{"--log"}, command)
			compare(t, got, want)
		})
	}
}

const socketProgram = `
import socket, select
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(5)
c = socket.socket(); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); c.connect(s.getsockname())
a, _ = s.accept(); c.sendall(b"hello\0world\377"); print(a.recv(100)); select.select([a], [a], [], 1)
p = select.poll(); p.register(a, select.POLLOUT); p.poll(10)
u, v = socket.socketpair(); u.sendmsg([b"a", b"bc"]); v.recvmsg(10)
try: socket.socket(socket.AF_UNIX).connect("/nonexistent")
except OSError: pass
try: socket.socket(socket.AF_UNIX).connect("\0abstract")
except OSError: pass
d = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); d.bind(("::1", 0)); d.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
e = select.epoll(); e.register(a, select.EPOLLOUT); e.poll(1)
`

const miscProgram = `
import os, signal, time, fcntl, resource
os.umask(0o22); os.umask(0o27)
signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.02); time.sleep(0.05)
fcntl.fcntl(0, fcntl.F_GETFL); fcntl.fcntl(0, fcntl.F_GETFD)
f = os.open("dir0", os.O_RDONLY | os.O_DIRECTORY); fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
resource.getrlimit(resource.RLIMIT_NOFILE); os.uname(); os.getgroups(); os.sched_getaffinity(0)
r, w = os.pipe(); os.writev(w, [b"ab", b"cd"]); os.readv(r, [bytearray(3), bytearray(3)])
os.memfd_create("m"); os.statvfs("/proc"); os.getpriority(os.PRIO_PROCESS, 0)
pid = os.fork()
if pid == 0: os._exit(3)
os.wait4(pid, 0); os.pidfd_open(os.getpid()); os.setpgid(0, 0)
`

// makeTree returns a directory with something to work on.
func makeTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	for i := range 20 {
		dir := filepath.Join(tree, fmt.Sprint("dir", i%3))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file ", i)), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// traceOf runs command under a tracer and returns its log, thread by thread.
func traceOf(t *testing.T, dir, path, name string, flags, command []string) [][]string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	cmd := &exec.Cmd{Path: path, Dir: dir, Args: append(append(append([]string{name}, flags...), log), command...)}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1"}
	var exit *exec.ExitError
	if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return threads(string(content))
}

var (
	unfinished = regexp.MustCompile(`^(.*?) ?<unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^<\.\.\. \w+ resumed>(.*)$`)

	// The lines in which a number may be a process.
	namesProcess = regexp.MustCompile(
		`^(---|clone|fork|vfork|wait|getpid|gettid|kill|tgkill|set_tid_address|setpgid|getpgrp|pidfd_open)`)
	// Which of its children a process hears of first is up to the scheduler.
	anyChild = regexp.MustCompile(`^(wait4\(-1.*) = PID\d+$`)

	// What differs from run to run of the same program.
	varying = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`0x[0-9a-f]{6,}`), "ADDRESS"},
		{regexp.MustCompile(`\s+= `), " = "},
		{regexp.MustCompile(`tv_sec=-?\d+, tv_u?n?sec=\d+`), "TIME"},
		{regexp.MustCompile(`si_([us])time=\d+`), "si_${1}time=N"},
		{regexp.MustCompile(`\\x[0-9a-f]{2}`), `\xNN`},
		{regexp.MustCompile(`f_(blocks|bfree|bavail|files|ffree)=\d+`), "f_$1=N"},
		{regexp.MustCompile(`^getppid\(\) = \d+`), "getppid() = N"},
		{regexp.MustCompile(`^sysinfo\(.*procs=.*\)`), "sysinfo(...)"},
		{regexp.MustCompile(` /\* \d{4}-\d\d-\d\dT[^*]* \*/`), " DATE"},
		{regexp.MustCompile(`BTRFS_IOC_CLONE or `), ""}, // one number, two names
		{regexp.MustCompile(`u64=\d+`), "u64=N"},        // its upper half is not initialised
		{regexp.MustCompile(`htons\(\d+\)`), "htons(PORT)"},
		{regexp.MustCompile(`inet_addr\("127[^"]*"\)`), "LOCALHOST"},
		{regexp.MustCompile(`^(read\(\d+, )"[^"]*"\.\.\., 1024\) = \d+`), "${1}...) = N"},
	}
)

// threads splits a log into its threads, in the order in which they appear, with
// interrupted lines joined and what varies from run to run taken out.
func threads(log string) [][]string {
	order := []string{}
	lines := map[string][]string{}
	begun := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		pid, line, _ := strings.Cut(line, " ")
		line = strings.TrimSpace(line)
		if !slices.Contains(order, pid) {
			order = append(order, pid)
		}
		if m := unfinished.FindStringSubmatch(line); m != nil {
			begun[pid] = m[1]
			continue
		}
		if m := resumed.FindStringSubmatch(line); m != nil {
			// A space may have been taken off before "<unfinished".
			line = strings.ReplaceAll(begun[pid]+m[1], ",N", ", N")
			if strings.HasSuffix(begun[pid], ",") {
				line = begun[pid] + " " + m[1]
			}
		}
		// When a child's end is noticed is up to the scheduler too, and when
		// the heap must grow depends on its random start.
		if strings.HasPrefix(line, "--- SIGCHLD") || strings.HasPrefix(line, "rt_sigreturn") ||
			strings.HasPrefix(line, "brk(") {
			continue
		}
		for _, v := range varying {
			line = v.pattern.ReplaceAllString(line, v.with)
		}
		lines[pid] = append(lines[pid], line)
	}
	// Who is heard of first is up to the scheduler; who is born first is not.
	// Ids grow from that of the first process on, until they start again.
	first, _ := strconv.Atoi(order[0])
	age := func(pid string) int {
		n, _ := strconv.Atoi(pid)
		if n < first {
			n += 1 << 22 // PID_MAX_LIMIT in the kernel's include/linux/threads.h
		}
		return n
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Compare(age(a), age(b)) })
	var all [][]string
	for _, pid := range order {
		thread := lines[pid]
		for i, line := range thread {
			if !namesProcess.MatchString(line) {
				continue
			}
			for n, other := range order {
				line = regexp.MustCompile(`\b`+other+`\b`).ReplaceAllString(line, fmt.Sprint("PID", n))
			}
			thread[i] = anyChild.ReplaceAllString(line, "$1 = PID")
		}
		all = append(all, thread)
	}
	return all
}

// compare reports the first difference of each thread.
func compare(t *testing.T, got, want [][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d threads, strace sees %d", len(got), len(want))
	}
	calls := 0
	for n := range want {
		calls += len(want[n])
		for i := range max(len(got[n]), len(want[n])) {
			var g, w string
			if i < len(got[n]) {
				g = got[n][i]
			}
			if i < len(want[n]) {
				w = want[n][i]
			}
			if g != w {
				t.Errorf("thread %d, line %d\n   got %s\nstrace %s", n, i+1, g, w)
				if os.Getenv("ALL") == "" {
					break
				}
			}
		}
	}
	t.Logf("%d lines of %d threads compared", calls, len(want))
}
