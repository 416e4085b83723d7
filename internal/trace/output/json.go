package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Record is one line of the JSON format. Every record has time, pid and event;
// the event says what else it has:
//
//	call        call, args, ret, error if it failed, injected if a policy has
//	            answered it, duration; arch if foreign
//	unfinished  call, args so far; the thread ended, or was let go, in this call
//	entry       call, args as they are before it, in a trace of entries
//	signal      signal, info: about to be delivered
//	stopped     signal: the thread has stopped
//	superseded  by: thread by has taken pid's place with an execve
//	exited      status
//	killed      signal, core
//	detached    the thread goes on untraced
type Record struct {
	// Time is when the call began, or the event was seen: RFC 3339, in UTC.
	Time time.Time `json:"time"`
	// Pid is the thread's id in the tracer's pid namespace.
	Pid   int    `json:"pid"`
	Event string `json:"event"`

	// Call is the system call's name, or syscall_0x… without one.
	Call string `json:"call,omitempty"`
	// Arch names the architecture of a call that is not the native one's; its
	// arguments are then six registers.
	Arch string `json:"arch,omitempty"`
	// Args are the arguments in strace's notation, strings quoted and escaped.
	Args []string `json:"args,omitempty"`
	// Ret is what the call returned: -1 when Error names an errno, or one of
	// the kernel's ERESTART… codes of a call that a signal has interrupted.
	Ret   *int64 `json:"ret,omitempty"`
	Error string `json:"error,omitempty"`
	// Injected says that a handler has given the result, not the kernel.
	Injected bool `json:"injected,omitempty"`
	// Duration is the time in seconds from the entry to the exit.
	Duration float64 `json:"duration,omitempty"`

	Signal string `json:"signal,omitempty"`
	// Info is the siginfo_t in strace's notation.
	Info   string `json:"info,omitempty"`
	By     int    `json:"by,omitempty"`
	Status *int   `json:"status,omitempty"`
	Core   bool   `json:"core,omitempty"`
}

// JSON is a trace.Handler that writes Records.
type JSON struct {
	w       io.Writer
	buf     bytes.Buffer  // records that are not written yet
	encoder *json.Encoder // into buf
	style   Style
	entered map[int][]string // by thread: the arguments known at the entry
}

var _ trace.Handler = (*JSON)(nil)

// jsonStrings is how many bytes of a string JSON shows by itself: programs read it.
const jsonStrings = 4096

// NewJSON returns a JSON that writes to w. Of the style, times and columns do not matter:
// the times are always there.
func NewJSON(w io.Writer, style Style) *JSON {
	j := &JSON{w: w, style: style, entered: map[int][]string{}}
	j.encoder = json.NewEncoder(&j.buf)
	j.encoder.SetEscapeHTML(false)
	return j
}

// write writes a record, and those that have waited before it.
func (j *JSON) write(r Record) error {
	if err := j.add(r); err != nil {
		return err
	}
	return j.Flush()
}

// Flush implements trace.Handler.
func (j *JSON) Flush() error {
	if j.buf.Len() == 0 {
		return nil
	}
	_, err := j.w.Write(j.buf.Bytes())
	j.buf.Reset()
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// add adds a record to those that wait.
func (j *JSON) add(r Record) error {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time = r.Time.UTC()
	if err := j.encoder.Encode(r); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// call begins a record about c.
func (j *JSON) call(c *decode.Call, event string) Record {
	r := Record{Time: c.Start, Pid: c.Pid, Event: event, Call: c.Name, Args: j.entered[c.Pid]}
	if c.Foreign() {
		r.Arch = archName(c)
	}
	delete(j.entered, c.Pid)
	return r
}

// archName names the interface through which a foreign call was made.
func archName(c *decode.Call) string {
	if c.Arch == syscalls.Native.Audit {
		return "x32"
	}
	return syscalls.ArchName(c.Arch)
}

// Enter implements trace.Handler.
func (j *JSON) Enter(c *decode.Call) error {
	j.style.apply(c, jsonStrings)
	j.entered[c.Pid], _ = decode.Enter(c)
	if !j.style.Entries {
		return nil
	}
	if c.Injected {
		return errors.Join(j.Exit(c), j.Flush())
	}
	return j.write(j.call(c, "entry"))
}

// Exit implements trace.Handler.
func (j *JSON) Exit(c *decode.Call) error {
	if !j.style.Only.has(c) {
		delete(j.entered, c.Pid)
		return nil
	}
	r := j.call(c, "call")
	r.Args = append(r.Args, decode.Exit(c)...)
	ret := c.Ret
	if c.Failed {
		ret = -1
		r.Error = decode.ErrorName(c)
	}
	r.Ret, r.Injected, r.Duration = &ret, c.Injected, c.Duration.Seconds()
	return j.add(r)
}

// Signal implements trace.Handler.
func (j *JSON) Signal(pid int, info *decode.Siginfo) error {
	if j.style.Signals != nil && !j.style.Signals(info.Signal()) {
		return nil
	}
	return j.write(Record{Pid: pid, Event: "signal", Signal: decode.SignalName(info.Signal()), Info: info.String()})
}

// Stopped implements trace.Handler.
func (j *JSON) Stopped(pid int, sig unix.Signal) error {
	return j.write(Record{Pid: pid, Event: "stopped", Signal: decode.SignalName(int(sig))})
}

// Superseded implements trace.Handler.
func (j *JSON) Superseded(pid, by int) error {
	j.entered[pid] = j.entered[by]
	delete(j.entered, by)
	if j.style.NoTurns {
		return nil
	}
	return j.write(Record{Pid: pid, Event: "superseded", By: by})
}

// Ended implements trace.Handler.
func (j *JSON) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	if err := j.unfinished(during); err != nil || j.style.NoExits {
		return err
	}
	if status.Signaled() {
		return j.write(Record{Pid: pid, Event: "killed",
			Signal: decode.SignalName(int(status.Signal())), Core: status.CoreDump()})
	}
	code := status.ExitStatus()
	return j.write(Record{Pid: pid, Event: "exited", Status: &code})
}

// Detached implements trace.Handler.
func (j *JSON) Detached(pid int, during *decode.Call) error {
	if err := j.unfinished(during); err != nil {
		return err
	}
	return j.write(Record{Pid: pid, Event: "detached"})
}

// unfinished writes the record of the call, if any, that will not be seen to return.
func (j *JSON) unfinished(during *decode.Call) error {
	if during == nil {
		return nil
	}
	if !j.style.Only.Shows(Unfinished) {
		delete(j.entered, during.Pid)
		return nil
	}
	return j.write(j.call(during, "unfinished"))
}
