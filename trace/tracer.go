package trace

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// task is one thread that is traced.
type task struct {
	pid int
	// call is the call whose exit is awaited; nil between calls and during
	// calls whose exit nobody wants. It is &current, which is used again and
	// again.
	call    *decode.Call
	current decode.Call
	process process // what current.Mem and current.Files refer to
	// args are the arguments of current as the program gave them, and changed as
	// the handler made them.
	args, changed [6]uint64
	// execed: the call has executed another program.
	execed bool
	// seen: the handler has been told of call.
	seen bool
	// resumes is the name of the call that the next restart_syscall goes on with.
	resumes string
	// payload: the thread belongs to the command, not to what sets it up, so
	// its signals and its end are reported.
	payload bool
	// born: its parent has said that it has started it, or it is the first.
	born bool
	// preempted: a signal by which the launcher's Go runtime preempts itself is
	// on its way and outlived execve (signal(7)); it is none of the command's.
	preempted bool
}

type tracer struct {
	handler  Handler
	selected func(name string) bool
	tasks    map[int]*task
	// early are those that have ended before their parents said that they have started them.
	early  map[int]early
	stops  []stop // reported and not yet handled
	room   []stop // the memory of stops
	single int    // stops since another was found beside one
	root   int
	// everyCall: there is no filter, or another gets in its way, so the threads stop at every call.
	everyCall bool
	filtered  bool     // the launcher loads the filter
	streams   *streams // of a command that has not been executed; nil afterwards
	// began: a process with the filter has executed a program. Before that,
	// only its attempts to do so are reported.
	began bool
	// attempted: such a process has called execve.
	attempted bool
	job       *job            // nil without job control
	quit      atomic.Bool     // the context has ended
	end       unix.WaitStatus // of root
}

func newTracer(handler Handler, selected func(name string) bool) *tracer {
	return &tracer{handler: handler, selected: selected, tasks: map[int]*task{}, early: map[int]early{}}
}

// ErrNoFilter says that nothing could be reported, because none of the processes
// that were to load the filter did.
var ErrNoFilter = errors.New("trace: the command has ended and no process of it loaded the filter")

// Run executes cmd, tells the handler what it does, and returns how its first
// process ended once all processes have. An error that wraps ErrNotExecuted
// says that nothing was run. When ctx ends, all processes are killed, and the error
// wraps that of ctx (errors.Is).
//
// The handler's methods are called from one goroutine, which is not the caller's.
func Run(ctx context.Context, cmd *Command, handler Handler) (unix.WaitStatus, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	engine, err := cmd.engine(handler)
	if err != nil {
		return 0, err
	}
	set, err := cmd.selected(handler)
	if err != nil {
		return 0, fmt.Errorf("trace: %w", err)
	}
	filter, err := cmd.filter(set, handler)
	if err != nil {
		return 0, fmt.Errorf("trace: %w", err)
	}
	streams, err := cmd.streams()
	if err != nil {
		return 0, fmt.Errorf("trace: %w", err)
	}
	if engine == Notification {
		end, err := observe(ctx, cmd, handler, set, streams)
		if !errors.Is(err, errNoListener) || cmd.Engine == Notification {
			return end, errors.Join(err, streams.wait(ctx, cmd.WaitDelay, err != nil))
		}
	}
	if cmd.Entries {
		handler = entries{to: handler}
	}
	t := newTracer(handler, set.Has)
	t.filtered = !cmd.FilterByPayload
	if cmd.Foreground {
		t.job = &job{}
	}
	err = onThread(t.kill, func() error { return t.run(ctx, cmd, filter, streams) })
	return t.end, errors.Join(err, streams.wait(ctx, cmd.WaitDelay, err != nil))
}

// run is Run on the tracer's thread.
func (t *tracer) run(ctx context.Context, cmd *Command, filter []unix.SockFilter, streams *streams) error {
	restore, err := quietSIGCHLD()
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	defer restore()
	root, report, err := launch(cmd, filter, streams.files)
	if err != nil {
		return err
	}
	defer unix.Close(report)
	t.streams = streams
	t.root, t.tasks[root] = root, &task{pid: root, born: true}
	if t.job != nil {
		if err := t.job.start(root); err != nil {
			t.kill()
			return err
		}
		defer t.job.stop()
	}
	defer t.watch(ctx)()
	if err := t.loop(); err != nil {
		t.kill()
		return err
	}
	if t.quit.Load() {
		t.kill()
		return ctx.Err()
	}
	if err := launchError(report); err != nil {
		return err
	}
	if !t.attempted {
		return ErrNoFilter
	}
	return nil
}

// loop handles one stop or end after the other until no tracee is left, or until
// somebody wants it to end.
func (t *tracer) loop() error {
	for {
		s, ok, err := t.next()
		if err != nil || !ok {
			return err
		}
		if err := t.handle(t.task(s.pid), s); err != nil && !errors.Is(err, unix.ESRCH) {
			// ESRCH: killed meanwhile; its end will be reported.
			return err
		}
	}
}

// kill ends all tracees and waits for them. It must be called on the tracer's thread.
func (t *tracer) kill() {
	for _, s := range t.stops { // of which nobody is told any more
		if s.status.Stopped() {
			t.task(s.pid)
		} else {
			delete(t.tasks, s.pid)
		}
	}
	t.stops = nil
	for pid := range t.tasks {
		kill(pid)
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if err == nil && status.Stopped() { // started meanwhile
			kill(pid)
		}
	}
}

// kill kills the process of a thread, if that is still traced by this one: a thread that executes a program loses its id without an
// end, and it may be another's soon.
func kill(pid int) {
	if interrupt(pid) == nil {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

func (t *tracer) handle(tk *task, s stop) error {
	if !s.status.Stopped() {
		return t.ended(tk, s.status)
	}
	sig, event := s.status.StopSignal(), int(s.status)>>16
	if event == unix.PTRACE_EVENT_SECCOMP || sig == unix.SIGTRAP|0x80 { // PTRACE_O_TRACESYSGOOD
		return t.syscallStop(tk)
	}
	if !s.holds() {
		return nil
	}
	switch event {
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		return t.forked(tk)
	case unix.PTRACE_EVENT_EXEC:
		return t.execed(tk)
	case eventStop:
		return t.groupStop(tk, sig)
	case 0:
		return t.signal(tk, sig)
	default:
		return fmt.Errorf("trace thread %d: unexpected ptrace event %d", tk.pid, event)
	}
}
