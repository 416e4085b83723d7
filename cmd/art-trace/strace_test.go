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

// program is one that both tracers watch.
type program struct {
	command []string
	// calls selects what both are told to trace; all if empty. Strace writes a
	// list with ! in front once, art-trace in front of each.
	calls string
	// drop matches lines that differ from run to run.
	drop *regexp.Regexp
	// data matches lines of which only what is quoted differs.
	data *regexp.Regexp
	// perProcess: the program moves its work between its threads, so what counts
	// is what each process does, in whatever order.
	perProcess bool
	// cached: it does less the second time, so it runs once before it is traced.
	cached bool
	env    []string
	// flags are options that both have.
	flags []string
}

// onMemory are the calls by which an allocator grows, which depends on where the
// kernel has put its first piece.
const onMemory = "mmap,munmap,mprotect,madvise,mremap,brk"

var programs = map[string]program{
	"ls":       {command: []string{"ls", "-lR", "."}},
	"pipeline": {command: []string{"sh", "-c", "ls -a | sort -r | wc -l; exit 7"}},
	"files":    {command: []string{"sh", "-c", "mkdir a; cp -p dir0/* a; mv a b; ln -s b c; chmod 700 b; touch -d @0 b; rm -r b c"}},
	"children": {command: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do (exit $i); done"}},
	"signal":   {command: []string{"sh", "-c", "trap 'echo got' USR1; kill -USR1 $$; kill -SEGV $$"}},
	"stop": {
		command: []string{"sh", "-c", "(sleep 0.5; kill -CONT $$) & kill -STOP $$; wait; echo on"},
		drop:    regexp.MustCompile(`^(wait4|rt_sigsuspend|rt_sigprocmask|--- stopped by|--- SIGCONT)`),
	},
	"crash":      {command: []string{"/usr/bin/python3", "-S", "-c", "import ctypes; ctypes.string_at(0)"}},
	"sockets":    {command: []string{"/usr/bin/python3", "-c", socketProgram}},
	"misc":       {command: []string{"/usr/bin/python3", "-S", "-c", miscProgram}},
	"sockets -y": {command: []string{"/usr/bin/python3", "-c", socketProgram}, flags: []string{"-y"}},
	"misc -y":    {command: []string{"/usr/bin/python3", "-S", "-c", miscProgram}, flags: []string{"-y"}},
	"files -y":   {command: []string{"sh", "-c", "mkdir a; cp -p dir0/* a; rm a/*; exec 3>'a/<b>'; rm a/*; echo x >&3; rmdir a"}, flags: []string{"-y"}},
	"find":       {command: []string{"find", ".", "-name", "*1*", "-newer", "/etc/passwd"}},
	"tar":        {command: []string{"sh", "-c", "tar c dir1 | tar t"}},
	"missing":    {command: []string{"cat", "/nonexistent", "dir0"}},
	"git": {
		command: []string{"sh", "-c", "git init -q r && cp dir0/* r && cd r && touch -d @0 * && git add . && git status --short; rm -rf ../r"},
		env:     []string{"HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"},
		// Files as young as the index are read again. It holds their times and inode
		// numbers.
		data: regexp.MustCompile(`^(read|write|pread64)\(`),
		// The C library draws the names of temporary files until it likes the number.
		drop: regexp.MustCompile(`^getrandom\(`),
	},
	// A process that is traced cannot trace: both give the tracer in it EPERM.
	"tracer": {
		command: []string{"strace", "-o", "/dev/null", "true"}, calls: "ptrace,execve,exit_group,kill",
		drop: regexp.MustCompile(`^(kill|--- SIG|<\.\.\. \?\?\?|\+\+\+ killed)`),
	},
	"threads": {
		command: []string{"/usr/bin/python3", "-S", "-c", threadsProgram}, calls: "!futex," + onMemory,
		env: []string{"MALLOC_ARENA_MAX=1"},
		// The process may end before a thread has said that it does.
		drop: regexp.MustCompile(`^(rt_sigprocmask\(SIG_BLOCK, ~\[RT_1\]|exit\(|\+\+\+ exited)`),
	},
	// At once: in which order they end is up to the scheduler.
	"thousand": {
		command: []string{"sh", "-c", "i=0; while [ $i -lt 1000 ]; do (exit 3) & i=$((i+1)); done; wait"},
		drop:    regexp.MustCompile(`^(wait4|rt_sigsuspend|rt_sigprocmask)|ERESTARTNOINTR`),
	},
	"go build": {
		// A new program each time, so that the cache has none of it. What the Go
		// runtime does for itself (memory, timers, threads) differs between runs, and
		// its signals cut listings short (filldir64 in the kernel's fs/readdir.c).
		command:    []string{"sh", "-c", "echo 'package main; func main() { println(1'$(date +%N)') }' >program/main.go; exec go build -o /dev/null ./program"},
		calls:      "%file,%network,fstat,ftruncate,pipe2,dup3,flock",
		env:        []string{"HOME=" + os.Getenv("HOME"), "GOCACHE=" + os.Getenv("GOCACHE"), "GOFLAGS=-p=1", "XDG_CONFIG_HOME=/dev/null"},
		perProcess: true, cached: true,
	},
}

// Against strace on the same programs: the same calls with the same arguments
// and results, in the same order in each thread.
func TestAgainstStrace(t *testing.T) {
	if testing.Short() {
		t.Skip("what is written does not depend on what the short form is for: races")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			tree := makeTree(t)
			straceFlags, ownFlags := append([]string{"-f"}, p.flags...), slices.Clone(p.flags)
			if p.calls != "" {
				straceFlags = append(straceFlags, "-e", "trace="+p.calls)
				own := p.calls
				if strings.HasPrefix(own, "!") {
					own = strings.ReplaceAll(own, ",", ",!")
				}
				ownFlags = append(ownFlags, "--syscalls", own)
			}
			if p.cached {
				cmd := exec.Command(p.command[0], p.command[1:]...)
				cmd.Dir, cmd.Env = tree, p.environ(t)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			want := traceOf(t, tree, strace, "strace", append(straceFlags, "-o"), p)
			got := traceOf(t, tree, self, "art-trace", append(ownFlags, "--log"), p)
			compare(t, got, want)
		})
	}
}

const threadsProgram = `
import threading, os
b = threading.Barrier(64)
def f():
    b.wait(); os.getppid(); os.stat("/"); os.getppid()
ts = [threading.Thread(target=f) for _ in range(64)]
[t.start() for t in ts]; [t.join() for t in ts]
`

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
signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.3); time.sleep(0.5)
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
	for name, content := range map[string]string{
		"go.mod":          "module example.org/m\n\ngo 1.21\n",
		"program/main.go": "package main\n\nfunc main() { println(1) }\n",
	} {
		path := filepath.Join(tree, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
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

// goDir is the directory of the go command.
func goDir(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

func (p program) environ(t *testing.T) []string {
	return append([]string{"PATH=" + goDir(t) + ":/usr/bin:/bin",
		"LC_ALL=C", "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1"}, p.env...)
}

// traceOf runs a program under a tracer and returns its log, thread by thread.
func traceOf(t *testing.T, dir, path, name string, flags []string, p program) [][]string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	cmd := &exec.Cmd{Path: path, Dir: dir, Args: append(append(append([]string{name}, flags...), log), p.command...)}
	cmd.Env = p.environ(t)
	var exit *exec.ExitError
	if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if p.perProcess {
		return processes(string(content))
	}
	all := threads(string(content))
	for i := range all {
		if p.drop != nil {
			all[i] = slices.DeleteFunc(all[i], p.drop.MatchString)
		}
		for n, line := range all[i] {
			if p.data != nil && p.data.MatchString(line) {
				all[i][n] = quoted.ReplaceAllString(line, "DATA")
			}
		}
	}
	return all
}

var (
	unfinished = regexp.MustCompile(`^(.*?) ?<unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^<\.\.\. \w+ resumed>(.*)$`)

	number = regexp.MustCompile(`\b\d+\b`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\.\.\.)?`)

	// The lines in which a number may be a process.
	namesProcess = regexp.MustCompile(
		`^(---|clone|fork|vfork|wait|getpid|gettid|kill|tgkill|set_tid_address|setpgid|getpgrp|pidfd_open|ptrace)`)
	// Which of its children a process hears of first is up to the scheduler.
	anyChild = regexp.MustCompile(`^(wait4\(-1.*) = PID\d+$`)

	// Calls that differ from run to run of the same program: when a child's end is
	// noticed is up to the scheduler, and when the heap must grow depends on its
	// random start.
	random = []string{"--- SIGCHLD", "rt_sigreturn(", "brk("}

	// What differs from run to run in others.
	varying = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`0x[0-9a-f]{6,}`), "ADDRESS"},
		{regexp.MustCompile(`\s+= `), " = "},
		{regexp.MustCompile(`tv_sec=-?\d+, tv_u?n?sec=\d+`), "TIME"},
		{regexp.MustCompile(`(S_IFDIR\|\d+, st_size)=\d+`), "$1=N"}, // others have files in it
		{regexp.MustCompile(`si_([us])time=\d+`), "si_${1}time=N"},
		{regexp.MustCompile(`\\x[0-9a-f]{2}`), `\xNN`},
		{regexp.MustCompile(`f_(blocks|bfree|bavail|files|ffree)=\d+`), "f_$1=N"},
		{regexp.MustCompile(`^getppid\(\) = \d+`), "getppid() = N"},
		{regexp.MustCompile(`^(sysinfo|ptrace)\(.*\) =`), "$1(...) ="}, // art-trace shows their arguments as numbers
		{regexp.MustCompile(` /\* \d{4}-\d\d-\d\dT[^*]* \*/`), " DATE"},
		{regexp.MustCompile(`(socket|pipe):\[\d+\]`), "$1:[N]"},
		{regexp.MustCompile(`tmp_obj_\w+|\.git/t\w{6}"`), "TEMPORARY"},
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
	begun, known := map[string]string{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		pid, line, _ := strings.Cut(line, " ")
		line = strings.TrimSpace(line)
		if !known[pid] {
			known[pid] = true
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
		if slices.ContainsFunc(random, func(call string) bool { return strings.HasPrefix(line, call) }) {
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
	place := map[string]int{}
	for n, pid := range order {
		place[pid] = n
	}
	var all [][]string
	for _, pid := range order {
		thread := lines[pid]
		for i, line := range thread {
			if !namesProcess.MatchString(line) {
				continue
			}
			line = number.ReplaceAllStringFunc(line, func(pid string) string {
				if n, ok := place[pid]; ok {
					return fmt.Sprint("PID", n)
				}
				return pid
			})
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
