package trace

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// early is the end of a thread that was reported before its parent's event, which tells of its birth: parent and child
// run at the same time.
type early struct {
	status unix.WaitStatus
	told   bool // the handler has been told of it
}

// task returns the task of a thread that the kernel has reported something of.
func (t *tracer) task(pid int) *task {
	tk := t.tasks[pid]
	if tk == nil { // heard of before its parent's event
		delete(t.early, pid) // of another that had this id
		// All that the command starts is the command's. Where a sandbox loads the filter, it depends on the parent.
		tk = &task{pid: pid, payload: t.began && (t.filtered || t.everyCall)}
		t.tasks[pid] = tk
	}
	return tk
}

// forked handles the birth of a thread or process.
func (t *tracer) forked(tk *task) error {
	child, err := unix.PtraceGetEventMsg(tk.pid)
	if err != nil {
		return err
	}
	if err := t.birth(tk, int(child)); err != nil {
		return err
	}
	return t.resume(tk, 0)
}

// birth notes who has started a thread, which may have ended.
func (t *tracer) birth(parent *task, child int) error {
	if end, ok := t.early[child]; ok {
		delete(t.early, child)
		// An entry stays where the parent is killed before it stops. Then the id may be another's by now, which is traced until its
		// end is waited for, and that has not been.
		if statusField(child, "TracerPid") != strconv.Itoa(unix.Gettid()) {
			if end.told || !parent.payload {
				return nil
			}
			return t.handler.Ended(child, end.status, nil)
		}
	}
	born := t.task(child)
	born.born, born.payload = true, born.payload || parent.payload
	return nil
}

// ended handles the end of a thread.
func (t *tracer) ended(tk *task, status unix.WaitStatus) error {
	delete(t.tasks, tk.pid)
	if !tk.born {
		t.early[tk.pid] = early{status, tk.payload}
	}
	if tk.pid == t.root {
		t.end = status
	}
	if !tk.payload {
		return nil
	}
	return t.handler.Ended(tk.pid, status, tk.during())
}
