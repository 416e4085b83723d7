package output

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// resultColumn is where strace aligns results.
const resultColumn = 40

// Style says what else the text format shows, by strace's options.
type Style struct {
	Clock    bool // the time of day at which each line began (-tt)
	Since    bool // the time since the line before began (-r)
	Duration bool // the time spent in each call (-T)
	Files    bool // what descriptors refer to (-y)
	Strings  int  // how many bytes of strings and buffers (-s); as many as the format shows by itself if 0
}

// Text is a trace.Handler that writes strace's text format.
type Text struct {
	w     io.Writer
	style Style
	now   func() time.Time
	last  time.Time // when the last line began; zero before the first
	// open is the thread whose call stands unfinished at the end of the log,
	// or 0, and column is where in that line.
	open, column int
	// entered is what was written of the calls that have not returned, by thread.
	entered map[int]entered
	buf     []byte
}

// entered is how far the line of a call is.
type entered struct {
	complete bool // all arguments are written
	// comma: the next argument needs a separator in front, which is not
	// written yet because a call may turn out not to have another one.
	comma bool
}

var _ trace.Handler = (*Text)(nil)

// NewText returns a Text that writes to w.
func NewText(w io.Writer, style Style) *Text {
	return &Text{w: w, style: style, now: time.Now, entered: map[int]entered{}}
}

// Flush implements trace.Handler. Enter and whatever ends a line write at once;
// results alone wait until now.
func (t *Text) Flush() error {
	if len(t.buf) == 0 {
		return nil
	}
	return t.flush()
}

func (t *Text) flush() error {
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// begin starts a line for thread pid, and first breaks off that of another.
func (t *Text) begin(pid int) {
	if t.open != 0 {
		t.separate(t.open)
		t.buf = append(t.buf, " <unfinished ...>\n"...)
		t.open = 0
	}
	start := len(t.buf)
	t.buf = strconv.AppendInt(t.buf, int64(pid), 10)
	for len(t.buf)-start < len("12345") {
		t.buf = append(t.buf, ' ')
	}
	t.buf = append(t.buf, ' ')
	t.stamp()
	t.column = len(t.buf) - start
}

// stamp writes the times in front of a line.
func (t *Text) stamp() {
	if !t.style.Clock && !t.style.Since {
		return
	}
	now := t.now()
	if t.style.Clock {
		t.buf = now.AppendFormat(t.buf, "15:04:05.000000 ")
	}
	if !t.style.Since {
		return
	}
	var since time.Duration
	if !t.last.IsZero() {
		since = max(now.Sub(t.last), 0)
	}
	t.last = now
	format := "%6d.%06d "
	if t.style.Clock {
		format = "(+%6d.%06d) "
	}
	t.buf = fmt.Appendf(t.buf, format, since/time.Second, since%time.Second/time.Microsecond)
}

// line writes a line about thread pid that is no call.
func (t *Text) line(pid int, format string, args ...any) error {
	t.begin(pid)
	t.buf = fmt.Appendf(t.buf, format+"\n", args...)
	return t.flush()
}

// text lets add append to the line and counts its columns.
func (t *Text) text(add func([]byte) []byte) (added bool) {
	before := len(t.buf)
	t.buf = add(t.buf)
	t.column += len(t.buf) - before
	return len(t.buf) > before
}

// Enter implements trace.Handler.
func (t *Text) Enter(c *decode.Call) error {
	c.ShowFiles, c.Strings = t.style.Files, t.style.Strings
	t.begin(c.Pid)
	e := entered{}
	t.text(func(b []byte) []byte {
		if c.Foreign() {
			b = append(b, archName(c)+":"...)
		}
		return append(append(b, c.Name...), '(')
	})
	e.comma = t.text(func(b []byte) []byte {
		b, e.complete = decode.AppendEnter(b, c)
		return b
	}) && !e.complete
	t.open = c.Pid
	t.entered[c.Pid] = e
	return t.flush()
}

// separate writes the separator that the line of thread pid's call still needs.
func (t *Text) separate(pid int) {
	if e := t.entered[pid]; e.comma {
		t.buf = append(t.buf, ", "...)
		t.column += 2
		e.comma = false
		t.entered[pid] = e
	}
}

// resume continues the line of thread pid's call.
func (t *Text) resume(c *decode.Call) {
	if t.open != c.Pid {
		t.begin(c.Pid)
		t.text(func(b []byte) []byte { return append(b, "<... "+c.Name+" resumed>"...) })
	}
	t.open = 0
}

// finish writes the end of the line, from the closing parenthesis on. The result
// stands in a column of its own.
func (t *Text) finish(result func([]byte) []byte) {
	t.buf = append(t.buf, ") "...)
	for column := t.column + 2; column < resultColumn; column++ {
		t.buf = append(t.buf, ' ')
	}
	t.buf = append(result(append(t.buf, "= "...)), '\n')
}

// Exit implements trace.Handler.
func (t *Text) Exit(c *decode.Call) error {
	t.resume(c)
	end := len(t.buf)
	t.separate(c.Pid)
	separated := len(t.buf)
	if !t.text(func(b []byte) []byte { return decode.AppendExit(b, c) }) {
		t.buf, t.column = t.buf[:end], t.column-(separated-end)
	}
	delete(t.entered, c.Pid)
	t.finish(func(b []byte) []byte {
		b = decode.AppendResult(b, c)
		if c.Injected {
			b = append(b, " (INJECTED)"...)
		}
		if t.style.Duration {
			b = fmt.Appendf(b, " <%d.%06d>", c.Duration/time.Second, c.Duration%time.Second/time.Microsecond)
		}
		return b
	})
	return nil
}

// Signal implements trace.Handler.
func (t *Text) Signal(pid int, info *decode.Siginfo) error {
	return t.line(pid, "--- %s %s ---", decode.SignalName(info.Signal()), info)
}

// Stopped implements trace.Handler.
func (t *Text) Stopped(pid int, sig unix.Signal) error {
	return t.line(pid, "--- stopped by %s ---", decode.SignalName(int(sig)))
}

// Superseded implements trace.Handler.
func (t *Text) Superseded(pid, by int) error {
	if t.open == by {
		t.separate(by)
		t.buf = fmt.Appendf(t.buf, " <pid changed to %d ...>\n", pid)
		t.open = 0
	}
	t.entered[pid] = t.entered[by]
	delete(t.entered, by)
	return t.line(pid, "+++ superseded by execve in pid %d +++", by)
}

// Ended implements trace.Handler.
func (t *Text) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	if during != nil {
		t.resume(during)
		if !t.entered[pid].complete {
			t.separate(pid)
			t.text(func(b []byte) []byte { return append(b, " <unfinished ...>"...) })
		}
		delete(t.entered, pid)
		t.finish(func(b []byte) []byte { return append(b, '?') })
	}
	switch {
	case status.Signaled() && status.CoreDump():
		return t.line(pid, "+++ killed by %s (core dumped) +++", decode.SignalName(int(status.Signal())))
	case status.Signaled():
		return t.line(pid, "+++ killed by %s +++", decode.SignalName(int(status.Signal())))
	default:
		return t.line(pid, "+++ exited with %d +++", status.ExitStatus())
	}
}

// Detached implements trace.Handler.
func (t *Text) Detached(pid int, during *decode.Call) error {
	if during == nil {
		return t.line(pid, "<detached ...>")
	}
	t.resume(during)
	delete(t.entered, pid)
	t.buf = append(t.buf, " <detached ...>\n"...)
	return t.flush()
}
