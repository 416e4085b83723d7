package seccomp

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What calls that no rule is about take under our filters, alone and together: as
// much as under the shortest filter that there is, because the kernel runs none of
// them. "argument" is one that it has to run. Each filter has a thread of its own,
// and they run by turns.
func BenchmarkAllowed(b *testing.B) {
	b.Run("getppid", func(b *testing.B) {
		benchmarkAllowed(b, 50_000, func() { unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) })
	})
	b.Run("ioctl", func(b *testing.B) { // every filter looks at its argument
		benchmarkAllowed(b, 50_000, func() { unix.RawSyscall(unix.SYS_IOCTL, ^uintptr(0), unix.TCGETS, 0) })
	})
	b.Run("open+close", func(b *testing.B) {
		cwd, null := unix.AT_FDCWD, unsafe.Pointer(unsafe.StringData("/dev/null\x00"))
		benchmarkAllowed(b, 10_000, func() {
			fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(null), unix.O_RDONLY, 0, 0, 0)
			if errno != 0 {
				panic(errno)
			}
			unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
		})
	})
}

// benchmarkAllowed reports the medians of what call takes, made n times in a turn.
func benchmarkAllowed(b *testing.B, n int, call func()) {
	traced, err := Trace([]string{"connect"})
	if err != nil {
		b.Fatal(err)
	}
	shortest := allow
	contenders := []struct {
		name    string
		filters [][]unix.SockFilter
	}{
		{"none", nil},
		{"shortest", [][]unix.SockFilter{shortest}},
		{"policy", [][]unix.SockFilter{Program(Session{})}},
		{"told", [][]unix.SockFilter{Program(Session{Notified: true}), Refusing(Session{Notified: true})}},
		{"written", [][]unix.SockFilter{Program(Session{Written: true})}},
		{"trace", [][]unix.SockFilter{traced}},
		{"both", [][]unix.SockFilter{Program(Session{}), traced}},
		{"argument", [][]unix.SockFilter{slices.Concat(load(0), shortest)}},
	}
	const rounds = 41
	turns := make([]chan chan int64, len(contenders))
	for i, c := range contenders {
		turns[i] = make(chan chan int64)
		defer close(turns[i])
		go func() {
			runtime.LockOSThread() // for good: a thread does not get rid of a filter
			var err error
			for _, f := range c.filters {
				if err == nil {
					err = Install(f)
				}
			}
			for answer := range turns[i] {
				took := int64(-1)
				if err == nil {
					took = measure(n, call)
				}
				answer <- took
			}
		}()
	}
	took := make([][]float64, len(contenders))
	for range rounds {
		for i := range contenders {
			answer := make(chan int64)
			turns[i] <- answer
			ns := <-answer
			if ns < 0 {
				b.Fatalf("%s: the filter cannot be loaded", contenders[i].name)
			}
			took[i] = append(took[i], float64(ns)/float64(n))
		}
	}
	for i, c := range contenders {
		slices.Sort(took[i])
		b.ReportMetric(took[i][rounds/2], c.name+"-ns")
	}
	b.ReportMetric(0, "ns/op")
}

// measure calls n times and returns how many nanoseconds of the processor the
// thread has spent.
func measure(n int, call func()) int64 {
	now := func() int64 {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			panic(err)
		}
		return t.Nano()
	}
	start := now()
	for range n {
		call()
	}
	return now() - start
}
