package output

import (
	"cmp"
	"errors"
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
	of      int // the thread that buf is about
	head    []byte

	// separate opens a log for a thread; nil is one log for all.
	separate func(pid int, again bool) (io.WriteCloser, error)
	logs     map[int]*threadLog // those that are open
	begun    map[int]bool       // those that have been opened, of threads that have not ended, as far as that is told
	turn     int                // counts uses of logs
}

// entered is how far the line of a call is.
type entered struct {
	complete bool // all arguments are written
	// comma: the next argument needs a separator in front, which is not
	// written yet because a call may turn out not to have another one.
	comma bool
	// held is what is to be written once it is known how the call ends.
	held   string
	column int // where the line ends, with a log for each thread
}

var _ trace.Handler = (*Text)(nil)

// NewText returns a Text that writes to w.
func NewText(w io.Writer, style Style) *Text {
	return &Text{w: w, style: style, now: time.Now, entered: map[int]entered{}}
}

// NewSeparateText returns a Text that writes of each thread to a log of its own, which
// open opens and which is closed when the thread has ended.
func NewSeparateText(open func(pid int, again bool) (io.WriteCloser, error), style Style) *Text {
	t := NewText(nil, style)
	t.separate, t.logs, t.begun = open, map[int]*threadLog{}, map[int]bool{}
	return t
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
	w, err := t.log()
	if err == nil {
		_, err = w.Write(t.buf)
	}
	t.buf = t.buf[:0]
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// log is where buf goes.
func (t *Text) log() (io.Writer, error) {
	if t.separate == nil {
		return t.w, nil
	}
	l := t.logs[t.of]
	if l == nil {
		if err := t.closeOne(); err != nil {
			return nil, err
		}
		w, err := t.separate(t.of, t.begun[t.of])
		if err != nil {
			return nil, err
		}
		l = &threadLog{WriteCloser: w}
		t.logs[t.of], t.begun[t.of] = l, true
	}
	t.turn++
	l.used = t.turn
	return l, nil
}

// threadLog is the log of one thread.
type threadLog struct {
	io.WriteCloser
	used int // when it was last
}

// maxLogs is how many logs are open at once: of threads there may be more than of descriptors, and a trace of entries hears of no end.
const maxLogs = 64

// closeOne makes room for another log: that which has not been used for longest is closed, and opened again when it is.
func (t *Text) closeOne() error {
	if len(t.logs) < maxLogs {
		return nil
	}
	oldest := -1
	for pid, l := range t.logs {
		if oldest < 0 || l.used < t.logs[oldest].used {
			oldest = pid
		}
	}
	w := t.logs[oldest]
	delete(t.logs, oldest)
	return closed(w)
}

// begin starts a line for thread pid, and first breaks off that of another.
func (t *Text) begin(pid int) {
	t.of = pid
	if t.open != 0 && t.separate == nil {
		t.breakOff(" <unfinished ...>\n")
	}
	start := len(t.buf)
	if t.separate == nil {
		t.buf = strconv.AppendInt(t.buf, int64(pid), 10)
		for len(t.buf)-start < len("12345") {
			t.buf = append(t.buf, ' ')
		}
		t.buf = append(t.buf, ' ')
	}
	t.stamp()
	t.column = len(t.buf) - start
}

// breakOff ends the line of the thread whose call is unfinished.
func (t *Text) breakOff(text string) {
	t.comma(t.open)
	t.buf = append(t.buf, text...)
	t.open = 0
}

// stamp writes the times in front of a line.
func (t *Text) stamp() {
	if t.style.Began == NotShown && t.style.Since == NotShown {
		return
	}
	now := t.now()
	if t.style.Began != NotShown {
		if t.style.Clock == Unix {
			t.buf = strconv.AppendInt(t.buf, now.Unix(), 10)
		} else {
			t.buf = now.AppendFormat(t.buf, time.TimeOnly)
		}
		t.buf = append(append(t.buf, t.style.Began.of(now.Nanosecond())...), ' ')
	}
	if t.style.Since == NotShown {
		return
	}
	var since time.Duration
	if !t.last.IsZero() {
		since = max(now.Sub(t.last), 0)
	}
	t.last = now
	format := "%6d%s "
	if t.style.Began != NotShown {
		format = "(+%6d%s) "
	}
	t.buf = fmt.Appendf(t.buf, format, since/time.Second, t.style.Since.of(int(since%time.Second)))
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
	t.style.apply(c, 0)
	e := t.start(c)
	if t.style.Only != Any {
		e.held = string(t.head)
		t.entered[c.Pid] = e
		return nil
	}
	t.write(c, e)
	if t.style.Entries {
		t.leave(c)
	}
	return t.flush()
}

// leave ends the line of a call whose exit will not be seen.
func (t *Text) leave(c *decode.Call) {
	t.open = 0
	if !c.Injected {
		t.unfinished(c.Pid)
	} else {
		t.finish(func(b []byte) []byte { return append(decode.AppendResult(b, c), " (INJECTED)"...) })
	}
	delete(t.entered, c.Pid)
}

// unfinished ends the line of a call that does not return, or is not seen to.
func (t *Text) unfinished(pid int) {
	if !t.entered[pid].complete {
		t.comma(pid)
		t.text(func(b []byte) []byte { return append(b, " <unfinished ...>"...) })
	}
	t.finish(func(b []byte) []byte { return append(b, '?') })
}

// start makes the head of a call's line: its name and the arguments that are known at its entry.
func (t *Text) start(c *decode.Call) (e entered) {
	b := t.head[:0]
	if c.Foreign() {
		b = append(b, archName(c)+":"...)
	}
	b = append(append(b, c.Name...), '(')
	before := len(b)
	b, e.complete = decode.AppendEnter(b, c)
	e.comma = len(b) > before && !e.complete
	t.head = b
	return e
}

// write begins the line of a call with the head.
func (t *Text) write(c *decode.Call, e entered) {
	t.begin(c.Pid)
	t.buf = append(t.buf, t.head...)
	t.column += len(t.head)
	t.open, e.column = c.Pid, t.column
	t.entered[c.Pid] = e
}

// comma writes the separator that the line of thread pid's call still needs.
func (t *Text) comma(pid int) {
	if e := t.entered[pid]; e.comma {
		t.buf = append(t.buf, ", "...)
		t.column += 2
		e.comma = false
		t.entered[pid] = e
	}
}

// resume continues the line of thread pid's call.
func (t *Text) resume(c *decode.Call) {
	t.of = c.Pid
	if e := t.entered[c.Pid]; t.separate != nil && e.column > 0 {
		t.column = e.column
	} else if t.separate != nil || t.open != c.Pid {
		t.begin(c.Pid)
		t.text(func(b []byte) []byte { return append(b, "<... "+c.Name+" resumed>"...) })
	}
	t.open = 0
}

// finish writes the end of the line, from the closing parenthesis on. The result
// stands in a column of its own.
func (t *Text) finish(result func([]byte) []byte) {
	t.buf = append(t.buf, ") "...)
	for column := t.column + 2; column < cmp.Or(t.style.Column, resultColumn); column++ {
		t.buf = append(t.buf, ' ')
	}
	t.buf = append(result(append(t.buf, "= "...)), '\n')
}

// Exit implements trace.Handler.
func (t *Text) Exit(c *decode.Call) error {
	if t.style.Only != Any {
		if !t.style.Only.has(c) {
			delete(t.entered, c.Pid)
			return nil
		}
		t.release(c)
	}
	t.resume(c)
	end := len(t.buf)
	t.comma(c.Pid)
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
		if t.style.Duration != NotShown {
			b = fmt.Appendf(b, " <%d%s>", c.Duration/time.Second, t.style.Duration.of(int(c.Duration%time.Second)))
		}
		return b
	})
	t.buf = decode.AppendDump(t.buf, c, &t.style.Dump)
	return nil
}

// release writes the beginning of a call's line that was held until it was known how the call ends.
func (t *Text) release(c *decode.Call) {
	e := t.entered[c.Pid]
	t.head = append(t.head[:0], e.held...)
	t.write(c, e)
}

// Signal implements trace.Handler.
func (t *Text) Signal(pid int, info *decode.Siginfo) error {
	if t.style.Signals != nil && !t.style.Signals(info.Signal()) {
		return nil
	}
	return t.line(pid, "--- %s %s ---", decode.SignalName(info.Signal()), info)
}

// Stopped implements trace.Handler.
func (t *Text) Stopped(pid int, sig unix.Signal) error {
	return t.line(pid, "--- stopped by %s ---", decode.SignalName(int(sig)))
}

// Superseded implements trace.Handler.
func (t *Text) Superseded(pid, by int) error {
	e, called := t.entered[by]
	if t.open == by || t.separate != nil && e.column > 0 {
		t.of, t.open = by, by
		t.breakOff(fmt.Sprintf(" <pid changed to %d ...>\n", pid))
		e = t.entered[by]
		if t.separate != nil {
			if err := errors.Join(t.flush(), t.close(by)); err != nil {
				return err
			}
		}
	}
	e.column = 0
	delete(t.entered, by)
	delete(t.entered, pid)
	if called {
		t.entered[pid] = e
	}
	if t.style.NoTurns {
		return nil
	}
	return t.line(pid, "+++ superseded by execve in pid %d +++", by)
}

// Ended implements trace.Handler.
func (t *Text) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	if during != nil && t.style.Only.Shows(Unfinished) {
		if t.style.Only != Any {
			t.release(during)
		}
		t.resume(during)
		t.unfinished(pid)
	}
	delete(t.entered, pid)
	if err := t.end(pid, status); err != nil {
		return err
	}
	return t.close(pid)
}

// end writes how a thread has ended.
func (t *Text) end(pid int, status unix.WaitStatus) error {
	switch {
	case t.style.NoExits:
		return t.Flush()
	case status.Signaled() && status.CoreDump():
		return t.line(pid, "+++ killed by %s (core dumped) +++", decode.SignalName(int(status.Signal())))
	case status.Signaled():
		return t.line(pid, "+++ killed by %s +++", decode.SignalName(int(status.Signal())))
	default:
		return t.line(pid, "+++ exited with %d +++", status.ExitStatus())
	}
}

// close closes the log of a thread, if it has one of its own.
func (t *Text) close(pid int) error {
	w := t.logs[pid]
	delete(t.logs, pid)
	delete(t.begun, pid)
	if w == nil {
		return nil
	}
	return closed(w)
}

func closed(log io.Closer) error {
	if err := log.Close(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// Detached implements trace.Handler.
func (t *Text) Detached(pid int, during *decode.Call) error {
	if during == nil || !t.style.Only.Shows(Detached) {
		return t.line(pid, "<detached ...>")
	}
	if t.style.Only != Any {
		t.release(during)
	}
	t.resume(during)
	delete(t.entered, pid)
	t.buf = append(t.buf, " <detached ...>\n"...)
	return t.flush()
}
