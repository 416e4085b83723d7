package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loopVariable says what a process of the role "loop" does, and how often.
const loopVariable = "ART_TEST_LOOP"

func init() {
	// Prints how many nanoseconds a round takes, by the given clock: a call that
	// stops takes time in which the process does not run, and one that does not is
	// measured best without what other processes take.
	roles["loop"] = func() {
		words := strings.Fields(os.Getenv(loopVariable))
		n, _ := strconv.Atoi(words[1])
		clock := map[string]int32{"wall": unix.CLOCK_MONOTONIC, "cpu": unix.CLOCK_THREAD_CPUTIME_ID}[words[2]]
		runtime.LockOSThread()
		cwd := unix.AT_FDCWD // a constant of it does not fit
		now := func() int64 {
			var t unix.Timespec
			if err := unix.ClockGettime(clock, &t); err != nil {
				panic(err)
			}
			return t.Nano()
		}
		// The Go runtime does not hear of raw calls. Otherwise it takes those that stop
		// for ones that block, and makes more calls for that.
		null := unsafe.Pointer(unsafe.StringData("/dev/null\x00"))
		round := map[string]func(){
			"getppid": func() { unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) },
			"open": func() {
				fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(null), unix.O_RDONLY, 0, 0, 0)
				if errno != 0 {
					panic(errno)
				}
				unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			},
		}[words[0]]
		start := now()
		for range n {
			round()
		}
		fmt.Println(float64(now()-start) / float64(n))
		os.Exit(0)
	}
}

// contender is one way to run a program: by itself or under a tracer.
type contender struct {
	name string
	argv []string // in front of the program
}

func contenders(b *testing.B, straceFlags, ownFlags string) (native, strace, own contender) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	// The test program is art-trace when it is called that.
	link := filepath.Join(dir, "art-trace")
	if err := os.Symlink(self, link); err != nil {
		b.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	strace = contender{"strace", append(append([]string{"strace"}, strings.Fields(straceFlags)...), "-o", log)}
	own = contender{"art-trace", append(append([]string{link}, strings.Fields(ownFlags)...), "--log", log)}
	return contender{"native", nil}, strace, own
}

// race lets the contenders run the program by turns, and returns the median of
// what measure says of each, and the median of how much of what the first took in
// a turn the last did.
func race(b *testing.B, program []string, measure func(out string, took time.Duration) float64, all ...contender) (medians []float64, ratio float64) {
	b.Helper()
	results := make([][]float64, len(all))
	for range rounds {
		for i, c := range all {
			argv := append(slices.Clone(c.argv), program...)
			cmd := exec.Command(argv[0], argv[1:]...)
			start := time.Now()
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("%s: %v", c.name, err)
			}
			results[i] = append(results[i], measure(strings.TrimSpace(string(out)), time.Since(start)))
		}
	}
	var ratios []float64
	for i, first := range results[0] {
		ratios = append(ratios, results[len(all)-1][i]/first)
	}
	for _, r := range results {
		medians = append(medians, median(r))
	}
	return medians, median(ratios)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// rounds is how often all contenders run.
const rounds = 15

// benchmarkLoop reports what a round of a loop takes under each contender, and
// how much of what the first takes the last does.
func benchmarkLoop(b *testing.B, loop string, all ...contender) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program := []string{"env", "GODEBUG=asyncpreemptoff=1", roleVariable + "=loop", loopVariable + "=" + loop, self}
	medians, ratio := race(b, program, func(out string, _ time.Duration) float64 {
		ns, err := strconv.ParseFloat(out, 64)
		if err != nil {
			b.Fatal(err)
		}
		return ns
	}, all...)
	for i, c := range all {
		b.ReportMetric(medians[i], c.name+"-ns")
	}
	b.ReportMetric(ratio, "ratio")
}

// Calls that are not selected: art-trace against nothing. What is left is what
// the kernel takes for a process with any seccomp filter (BenchmarkAllowed in
// package seccomp).
func BenchmarkNotSelected(b *testing.B) {
	native, strace, own := contenders(b, "-f --seccomp-bpf -e trace=connect", "--syscalls connect")
	b.Run("open+close", func(b *testing.B) { benchmarkLoop(b, "open 50000 cpu", native, strace, own) })
	b.Run("getppid", func(b *testing.B) { benchmarkLoop(b, "getppid 200000 cpu", native, strace, own) })
}

// Selected calls: art-trace against strace with a filter.
func BenchmarkSelected(b *testing.B) {
	_, strace, own := contenders(b, "-f --seccomp-bpf -e trace=openat", "--syscalls openat")
	benchmarkLoop(b, "open 10000 wall", strace, own)
}

// Selected calls by user notification: art-trace against nothing.
func BenchmarkEntries(b *testing.B) {
	native, _, own := contenders(b, "", "--entries --syscalls openat")
	benchmarkLoop(b, "open 10000 wall", native, own)
}

// All calls: art-trace against strace without a filter.
func BenchmarkAllCalls(b *testing.B) {
	_, strace, own := contenders(b, "-f", "")
	b.Run("getppid", func(b *testing.B) { benchmarkLoop(b, "getppid 10000 wall", strace, own) })
	b.Run("open+close", func(b *testing.B) { benchmarkLoop(b, "open 5000 wall", strace, own) })
}

// A build that compiles and links a program, with the standard library in the
// cache; execve, openat and connect are traced: art-trace against nothing, whole and with entries alone.
func BenchmarkGoBuild(b *testing.B) {
	native, strace, own := contenders(b, "-f --seccomp-bpf -e trace=execve,openat,connect", "--syscalls execve,openat,connect")
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/m\n\ngo 1.21\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	program := []string{"sh", "-c", `cd "$0" && printf 'package main\nimport ("net/http"; "fmt")\nfunc main() { fmt.Println(http.Get, %d) }\n' $$ >main.go && go build -o out .`, dir}
	if out, err := exec.Command(program[0], program[1:]...).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out) // fills the cache
	}
	entries := contender{"entries", append([]string{own.argv[0], "--entries"}, own.argv[1:]...)}
	all := []contender{native, strace, own, entries}
	medians, ratio := race(b, program, func(_ string, took time.Duration) float64 { return took.Seconds() }, all...)
	for i, c := range all {
		b.ReportMetric(medians[i], c.name+"-s")
	}
	b.ReportMetric(ratio, "ratio")
}
