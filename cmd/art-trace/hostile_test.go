package main

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	// Memory with the path of a call is unmapped and mapped again while the call is made and read.
	roles["unmapper"] = func() {
		const at, size = 0x30000000, 4096
		restore := func() bool {
			addr, _, errno := unix.RawSyscall6(unix.SYS_MMAP, at, size, unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0), 0)
			return errno == 0 && addr == at
		}
		var wg sync.WaitGroup
		done := make(chan struct{})
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if !restore() {
					os.Exit(1)
				}
				unix.RawSyscall(unix.SYS_MUNMAP, at, size, 0)
			}
		})
		for range 500 {
			cwd := unix.AT_FDCWD
			unix.RawSyscall6(unix.SYS_FACCESSAT, uintptr(cwd), at, 0, 0, 0, 0)
			unix.RawSyscall(unix.SYS_WRITEV, 1<<20, at, 4)
			unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(cwd), at, at, at, 1<<20, 0)
			unix.RawSyscall(unix.SYS_CONNECT, 1<<20, at, 110)
			unix.RawSyscall6(unix.SYS_SENDMMSG, 1<<20, at, 60, 0, 0, 0)
		}
		close(done)
		wg.Wait()
		os.Exit(0)
	}
	// As many threads at once as the argument says, each of which makes a call.
	roles["many-threads"] = func() {
		n := threadsOf(os.Args[len(os.Args)-1])
		debug.SetMaxThreads(2 * n)
		var there, done sync.WaitGroup
		there.Add(n)
		for range n {
			done.Go(func() {
				runtime.LockOSThread()
				there.Done()
				there.Wait()
				pipe := [2]int32{-1, -1}
				unix.RawSyscall(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&pipe)), ^uintptr(0), 0) // refuses these flags
			})
		}
		done.Wait()
		os.Exit(0)
	}
}

func threadsOf(arg string) int { return len(arg) }

// lineStart is what each line of a trace begins with.
var lineStart = regexp.MustCompile(`^\d+ +([a-z_0-9:]+\(|<\.\.\. |--- |\+\+\+ )`)

// wellFormed checks that every line of a log begins as one, and that it is printable.
func wellFormed(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if !lineStart.MatchString(line) || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("a line that is none: %q", line)
		}
	}
}

// What a call points to may be gone before it is read: the trace goes on, and so does the program.
func TestUnmappedMemory(t *testing.T) {
	for _, flags := range [][]string{nil, {"--format", "json"}, {"--report"}, {"--deny", "%file@/etc"}, ways["notification"], ways["ptrace"]} {
		cmd := tracer(t, "unmapper", append(flags, "--syscalls", "faccessat,writev,execveat,connect,sendmmsg"), "self")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", flags, err, out)
		}
		if len(flags) == 0 || flags[0] == "--entries" {
			log := logOf(t, cmd)
			wellFormed(t, log)
			if n := strings.Count(log, "faccessat("); n < 500 {
				t.Errorf("%v: 500 calls of faccessat, and %d in the log", flags, n)
			}
		}
	}
}

// Threads by the thousand are all seen, and the trace ends.
func TestManyThreads(t *testing.T) { eachWay(t, testManyThreads) }

func testManyThreads(t *testing.T, way []string) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	cmd := tracer(t, "many-threads", with(way, "--syscalls", "pipe2"), "self", strings.Repeat("x", n))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := logOf(t, cmd)
	wellFormed(t, log)
	if got := strings.Count(log, "pipe2("); way != nil && got < n {
		t.Errorf("%d threads, and %d calls", n, got)
	}
	if got := strings.Count(log, "pipe2(0x") - strings.Count(log, "pipe2(0x7fff"); way == nil && strings.Count(log, "EINVAL") < n {
		t.Errorf("%d threads, and %d calls: %d", n, strings.Count(log, "EINVAL"), got)
	}
}

// Processes that double again and again are all followed to their end.
func TestForkBomb(t *testing.T) { eachWay(t, testForkBomb) }

func testForkBomb(t *testing.T, way []string) {
	const doublings = 8
	cmd := tracer(t, "", with(way, "--syscalls", "exit_group"), "sh", "-c",
		`f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & wait; fi; }; f 8`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := logOf(t, cmd)
	wellFormed(t, log)
	ended := "+++ exited with 0 +++"
	if way != nil {
		ended = "exit_group(0)"
	}
	if got, want := strings.Count(log, ended), 1<<(doublings+1)-1; got != want {
		t.Errorf("%d processes have ended, not %d", got, want)
	}
}
