package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

type noMemory struct{}

func (noMemory) Read(uint64, []byte) int { return 0 }

func call(pid int, name string, args ...uint64) *decode.Call {
	nr, _ := syscalls.Native.Number(name)
	c := &decode.Call{Pid: pid, Arch: syscalls.Native.Audit, Nr: uint64(nr), Name: name, Mem: noMemory{}}
	copy(c.Args[:], args)
	return c
}

func returns(c *decode.Call, ret int64) *decode.Call {
	c.Ret, c.Failed = ret, ret < 0
	return c
}

// story tells an observer what two threads do, with every kind of event and
// every way in which lines interrupt each other.
func story(t *testing.T, o trace.Handler) {
	t.Helper()
	steps := func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	closing, reading, sleeping := call(10, "close", 3), call(11, "read", 4, 0x10, 5), call(12, "sched_yield")
	executing, exiting := call(12, "execve", 0x10, 0, 0), call(10, "exit_group", 7)
	foreign := &decode.Call{Pid: 10, Arch: 0x40000003, Nr: 20, Name: "syscall_0x14", Mem: noMemory{}}
	var signal decode.Siginfo
	signal[0] = byte(unix.SIGTERM)
	steps(
		o.Enter(closing), o.Exit(returns(closing, 0)),
		o.Enter(reading), o.Enter(closing), o.Exit(returns(closing, -int64(unix.EBADF))),
		o.Exit(returns(reading, -int64(unix.EFAULT))),
		o.Enter(foreign), o.Exit(returns(foreign, 10)),
		o.Enter(sleeping), o.Signal(12, &signal), o.Exit(returns(sleeping, -514)),
		o.Stopped(12, unix.SIGTSTP),
		o.Enter(executing), o.Superseded(11, 12),
	)
	executing.Pid = 11
	steps(
		o.Exit(returns(executing, 0)),
		o.Enter(reading), o.Enter(exiting),
		o.Ended(10, unix.WaitStatus(7<<8), exiting),
		o.Ended(11, unix.WaitStatus(int(unix.SIGSEGV)|0x80), reading),
		o.Ended(12, unix.WaitStatus(unix.SIGKILL), nil),
	)
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	story(t, NewText(&b, Style{}))
	const want = `10    close(3)                          = 0
11    read(4,  <unfinished ...>
10    close(3)                          = -1 EBADF (Bad file descriptor)
11    <... read resumed>0x10, 5)        = -1 EFAULT (Bad address)
10    i386:syscall_0x14(0, 0, 0, 0, 0, 0) = 10
12    sched_yield( <unfinished ...>
12    --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=0, si_uid=0} ---
12    <... sched_yield resumed>)        = ? ERESTARTNOHAND (To be restarted if no handler)
12    --- stopped by SIGTSTP ---
12    execve(0x10, NULL, NULL <pid changed to 11 ...>
11    +++ superseded by execve in pid 12 +++
11    <... execve resumed>)             = 0
11    read(4,  <unfinished ...>
10    exit_group(7)                     = ?
10    +++ exited with 7 +++
11    <... read resumed> <unfinished ...>) = ?
11    +++ killed by SIGSEGV (core dumped) +++
12    +++ killed by SIGKILL +++
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	story(t, NewJSON(&b, Style{}))
	want := []string{
		`{"pid":10,"event":"call","call":"close","args":["3"],"ret":0}`,
		`{"pid":10,"event":"call","call":"close","args":["3"],"ret":-1,"error":"EBADF"}`,
		`{"pid":11,"event":"call","call":"read","args":["4","0x10","5"],"ret":-1,"error":"EFAULT"}`,
		`{"pid":10,"event":"call","call":"syscall_0x14","arch":"i386","args":["0","0","0","0","0","0"],"ret":10}`,
		`{"pid":12,"event":"signal","signal":"SIGTERM","info":"{si_signo=SIGTERM, si_code=SI_USER, si_pid=0, si_uid=0}"}`,
		`{"pid":12,"event":"call","call":"sched_yield","ret":-1,"error":"ERESTARTNOHAND"}`,
		`{"pid":12,"event":"stopped","signal":"SIGTSTP"}`,
		`{"pid":11,"event":"superseded","by":12}`,
		`{"pid":11,"event":"call","call":"execve","args":["0x10","NULL","NULL"],"ret":0}`,
		`{"pid":10,"event":"unfinished","call":"exit_group","args":["7"]}`,
		`{"pid":10,"event":"exited","status":7}`,
		`{"pid":11,"event":"unfinished","call":"read","args":["4"]}`,
		`{"pid":11,"event":"killed","signal":"SIGSEGV","core":true}`,
		`{"pid":12,"event":"killed","signal":"SIGKILL"}`,
	}
	got := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), b.String())
	}
	for i, line := range got {
		var timed struct{ Time string }
		if err := json.Unmarshal([]byte(line), &timed); err != nil || timed.Time == "" {
			t.Errorf("line %d: %v, time %q", i+1, err, timed.Time)
		}
		if line = strings.Replace(line, `"time":"`+timed.Time+`",`, "", 1); line != want[i] {
			t.Errorf("line %d\n got %s\nwant %s", i+1, line, want[i])
		}
	}
}

// Times are shown to the precision that is asked for.
func TestPrecision(t *testing.T) {
	for _, tc := range []struct {
		style Style
		want  string
	}{
		{Style{Began: Seconds}, "10    03:04:05 sched_yield() = 0\n"},
		{Style{Began: Milliseconds, Duration: Nanoseconds}, "10    03:04:05.006 sched_yield() = 0 <1.000000002>\n"},
		{Style{Began: Seconds, Clock: Unix, Duration: Seconds}, "10    1 sched_yield() = 0 <1>\n"},
		{Style{Began: Nanoseconds, Clock: Unix, Since: Milliseconds}, "10    1.006007008 (+     0.000) sched_yield() = 0\n"},
		{Style{Since: Seconds}, "10         0 sched_yield() = 0\n"},
	} {
		var b bytes.Buffer
		text := NewText(&b, tc.style)
		text.now = func() time.Time { return time.Date(2001, 2, 2, 3, 4, 5, 6007008, time.UTC) }
		if tc.style.Clock == Unix {
			text.now = func() time.Time { return time.Unix(1, 6007008) }
		}
		c := call(10, "sched_yield")
		c.Duration = time.Second + 2
		if err := errors.Join(text.Enter(c), text.Exit(returns(c, 0)), text.Flush()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(b.String()), " "); got != strings.Join(strings.Fields(tc.want), " ") {
			t.Errorf("%+v\n got %s\nwant %s", tc.style, got, tc.want)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, unix.ENOSPC }

// A log that cannot be written is an error, which ends the trace.
func TestWriteError(t *testing.T) {
	c := call(1, "getpid")
	if err := NewText(fullDisk{}, Style{}).Enter(c); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("text: %v", err)
	}
	for name, handler := range map[string]trace.Handler{"text": NewText(fullDisk{}, Style{}), "json": NewJSON(fullDisk{}, Style{})} {
		if err := errors.Join(handler.Exit(c), handler.Flush()); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// keptLog is the log of a thread in memory.
type keptLog struct {
	bytes.Buffer
	open *int
}

func (l *keptLog) Close() error { *l.open--; return nil }

// A trace of entries hears of no ends. However many threads there are, few of their logs are open at once, and those that are
// opened again go on.
func TestSeparateLogs(t *testing.T) {
	const threads, rounds = 3 * maxLogs, 3
	logs, open, most := map[int]*keptLog{}, 0, 0
	o := NewSeparateText(func(pid int, again bool) (io.WriteCloser, error) {
		open++
		most = max(most, open)
		if again != (logs[pid] != nil) {
			t.Errorf("log %d is opened again: %v", pid, again)
		}
		if !again {
			logs[pid] = &keptLog{open: &open}
		}
		return logs[pid], nil
	}, Style{Entries: true})
	for range rounds {
		for pid := range threads {
			if err := o.Enter(call(pid+1, "close", 3)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(logs) != threads || most > maxLogs {
		t.Errorf("%d logs of %d, %d open at once", len(logs), threads, most)
	}
	for pid, l := range logs {
		if strings.Count(l.String(), "close(3)") != rounds {
			t.Errorf("log %d: %q", pid, l.String())
		}
	}
}
