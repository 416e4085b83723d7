// Package output writes down what a tracer sees.
//
// Text is the format of `strace -f -o FILE`, which people and tools can read.
// JSON is one object a line; its members are those of Record.
//
// Both write every line, and Text also every beginning of a line, with one
// write(2) at once: whatever ends the tracer, what it saw is in the log.
package output

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace"
	"github.com/riverlytech/art/internal/trace/decode"
)

// resultColumn is where strace aligns results.
const resultColumn = 40

// Text is a trace.Observer that writes strace's text format.
type Text struct {
	w io.Writer
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

var _ trace.Observer = (*Text)(nil)

// NewText returns a Text that writes to w.
func NewText(w io.Writer) *Text { return &Text{w: w, entered: map[int]entered{}} }

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
	t.buf = fmt.Appendf(t.buf, "%-5d ", pid)
}

// line writes a line about thread pid that is no call.
func (t *Text) line(pid int, format string, args ...any) error {
	t.begin(pid)
	t.buf = fmt.Appendf(t.buf, format+"\n", args...)
	return t.flush()
}

// Enter implements trace.Observer.
func (t *Text) Enter(c *decode.Call) error {
	args, complete := decode.Enter(c)
	t.begin(c.Pid)
	start := len(t.buf) - 6 // of the line
	if c.Foreign() {
		t.buf = append(t.buf, archName(c)+":"...)
	}
	t.buf = append(append(t.buf, c.Name...), '(')
	t.buf = append(t.buf, strings.Join(args, ", ")...)
	t.open, t.column = c.Pid, len(t.buf)-start
	t.entered[c.Pid] = entered{complete: complete, comma: !complete && len(args) > 0}
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
		t.buf = append(t.buf, "<... "+c.Name+" resumed>"...)
		t.column = 6 + len("<...  resumed>") + len(c.Name)
	}
	t.open = 0
}

// finish writes the result in its column and ends the line.
func (t *Text) finish(result string) error {
	t.buf = append(t.buf, ") "...)
	for column := t.column + 2; column < resultColumn; column++ {
		t.buf = append(t.buf, ' ')
	}
	t.buf = append(t.buf, "= "+result+"\n"...)
	return t.flush()
}

// Exit implements trace.Observer.
func (t *Text) Exit(c *decode.Call) error {
	t.resume(c)
	args, result := decode.Exit(c)
	if len(args) > 0 {
		t.separate(c.Pid)
	}
	rest := strings.Join(args, ", ")
	t.buf = append(t.buf, rest...)
	t.column += len(rest)
	delete(t.entered, c.Pid)
	return t.finish(result)
}

// Signal implements trace.Observer.
func (t *Text) Signal(pid int, info *decode.Siginfo) error {
	return t.line(pid, "--- %s %s ---", decode.SignalName(info.Signal()), info)
}

// Stopped implements trace.Observer.
func (t *Text) Stopped(pid int, sig unix.Signal) error {
	return t.line(pid, "--- stopped by %s ---", decode.SignalName(int(sig)))
}

// Superseded implements trace.Observer.
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

// Ended implements trace.Observer.
func (t *Text) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	if during != nil {
		t.resume(during)
		if !t.entered[pid].complete {
			t.separate(pid)
			t.buf = append(t.buf, " <unfinished ...>"...)
			t.column += len(" <unfinished ...>")
		}
		delete(t.entered, pid)
		if err := t.finish("?"); err != nil {
			return err
		}
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
