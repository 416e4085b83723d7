package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/processes"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace/decode"
)

// observer is the engine that is asked about calls by the kernel (seccomp_unotify(2)), and lets them go on. It has no
// stops, so it hears of nothing but entries.
type observer struct {
	handler  Handler
	selected func(name string) bool
	listener *seccomp.Listener
	waits    seccomp.Notification // the call that waits
	call     decode.Call          // and what the handler is told of it
	view     view

	root      int
	began     bool // root has executed the command
	attempted bool // root has called execve
	keeper    kept
	pidfd     int // root, whose id may be another's once the keeper is gone
	job       *job
	told      sync.WaitGroup  // all that the keeper and the launcher say was heard
	end       unix.WaitStatus // of root
	failed    error           // why the launcher has not executed the command
	lost      atomic.Bool     // the keeper has been killed
	cut       int             // can be read when nothing is to be received any more
	left      chan struct{}   // closed when nothing is
}

// errNoListener says that no filter that asks could be loaded. Nothing was run.
var errNoListener = errors.New("trace: no user notification")

// ErrChanged says that a handler has changed a call of a trace of entries.
var ErrChanged = errors.New("trace: a handler has changed the arguments of a call, which a trace of entries cannot do")

// observe is Run by this engine.
func observe(ctx context.Context, cmd *Command, handler Handler, set syscalls.Set, streams *streams) (unix.WaitStatus, error) {
	filter, err := seccomp.Observe(set.Names(), refused(handler)...)
	if err != nil {
		return 0, fmt.Errorf("trace: %w", err)
	}
	defer twoProcessors()()
	o := &observer{handler: handler, selected: set.Has, pidfd: -1, left: make(chan struct{})}
	if cmd.Foreground {
		o.job = &job{keeper: true}
	}
	err = errGoexit
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err = o.run(ctx, cmd, filter, streams)
	}()
	<-done
	return o.end, err
}

// processors is how many traces need two of Go's processors, one of which is for waiting.
var processors struct {
	mu     sync.Mutex
	users  int
	raised bool // there was one
}

// twoProcessors has Go use two processors at least, and returns what undoes that.
func twoProcessors() (restore func()) {
	p := &processors
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users++; p.users == 1 && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
		p.raised = true
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.users--; p.users > 0 || !p.raised {
			return
		}
		if p.raised = false; runtime.GOMAXPROCS(0) == 2 { // else somebody has changed it meanwhile
			runtime.GOMAXPROCS(1)
		}
	}
}

// run is observe on a thread of its own.
func (o *observer) run(ctx context.Context, cmd *Command, filter []unix.SockFilter, streams *streams) error {
	var err error
	if o.cut, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	defer unix.Close(o.cut)
	report, err := o.start(cmd, streams.files)
	if err != nil {
		return err
	}
	defer unix.Close(report)
	defer func() { // not before all has ended: the calls that wait would fail, and programs go on
		if o.listener != nil {
			o.listener.Close()
		}
	}()
	finish := sync.OnceFunc(func() { o.finish(report) })
	defer finish()
	if err := o.listen(report, filter); err != nil {
		return err
	}
	o.told.Go(func() { o.becomes(report, streams) })
	stop := context.AfterFunc(ctx, o.keeper.kill)
	defer stop()
	for o.listener.Receive(&o.waits) {
		if o.lost.Load() {
			_ = unix.Kill(int(o.waits.TID), unix.SIGKILL) // the process of the thread
			continue
		}
		if err := o.handle(); err != nil {
			return err
		}
	}
	finish()
	switch err := ctx.Err(); {
	case err != nil && !stop():
		return err
	case o.lost.Load():
		return errors.New("trace: the process that keeps the command has been killed, and the command with it")
	}
	return o.failed
}

// start starts the keeper, which starts the launcher.
func (o *observer) start(cmd *Command, files []uintptr) (report int, err error) {
	const kind = unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC
	control, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return 0, fmt.Errorf("start launcher: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		unix.Close(control[0])
		unix.Close(control[1])
		return 0, fmt.Errorf("start launcher: %w", err)
	}
	var pid int
	if err = sendStreams(pair[0], files); err == nil {
		pid, err = startSelf(cmd, keeperName, files, control[1], pair[1])
	}
	unix.Close(control[1])
	unix.Close(pair[1])
	if err != nil {
		unix.Close(control[0])
		unix.Close(pair[0])
		return 0, fmt.Errorf("start launcher: %w", err)
	}
	o.keeper.started(pid, control[0])
	return pair[0], nil
}

// listen has the launcher load the filter, and takes the listener over.
func (o *observer) listen(report int, filter []unix.SockFilter) error {
	what, number, err := o.hear()
	switch {
	case err != nil:
		return fmt.Errorf("start launcher: %w", err)
	case what != keeperStarted:
		return fmt.Errorf("start launcher: %w", unix.Errno(number))
	}
	o.root = int(number)
	if o.pidfd, err = unix.PidfdOpen(o.root, 0); err != nil {
		return fmt.Errorf("start launcher: %w", err)
	}
	if o.job != nil {
		if err := o.job.start(o.root); err != nil {
			return err
		}
	}
	o.told.Go(o.attend)
	if err := unix.Send(report, append([]byte{observed}, seccomp.Marshal(filter)...), unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("start launcher: %w", err)
	}
	var b [5]byte
	rights := make([]byte, unix.CmsgSpace(4))
	n, space, err := receive(report, b[:], rights)
	if err != nil || n < len(b) {
		return fmt.Errorf("start launcher: %w", orErr(err, unix.ESRCH)) // it was killed
	}
	if b[0] != stageListener {
		return noListener(failure(b[:]))
	}
	messages, err := unix.ParseSocketControlMessage(rights[:space])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("start launcher: %w", orErr(err, unix.EBADMSG))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return fmt.Errorf("start launcher: %w", orErr(err, unix.EBADMSG))
	}
	o.listener = seccomp.NewListener(fds[0])
	o.listener.Until(o.cut)
	if err := unix.Sendmsg(o.keeper.control, []byte{0}, unix.UnixRights(fds[0]), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("start launcher: %w", err)
	}
	return nil
}

// noListener makes of the reason why there is no listener an error that is errNoListener.
func noListener(err error) error {
	hint := "trace by ptrace"
	switch {
	case errors.Is(err, unix.EBUSY):
		hint = "somebody listens to the calls of this process already, and there can be one listener: trace by ptrace"
	case errors.Is(err, unix.EINVAL):
		hint = "it needs Linux 5.19 or later: trace by ptrace"
	}
	return cli.WithHint(fmt.Errorf("%w: %w", errNoListener, err), hint)
}

// orErr returns err, or if that is nil the other.
func orErr(err error, errno unix.Errno) error {
	if err == nil {
		return errno
	}
	return err
}

// receive is recvmsg(2), begun again after a signal, and where it only says that the other side has ended before it had read all: what
// that has said comes then (ECONNRESET in unix_release_sock, net/unix/af_unix.c).
func receive(sock int, b, rights []byte) (n, space int, err error) {
	for {
		n, space, _, _, err = unix.Recvmsg(sock, b, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNRESET) {
			return n, space, err
		}
	}
}

// hear returns what the keeper says next.
func (o *observer) hear() (what byte, number uint32, err error) {
	var b [5]byte
	n, _, err := receive(o.keeper.control, b[:], nil)
	if err != nil || n < len(b) {
		return 0, 0, orErr(err, unix.ESRCH)
	}
	return b[0], binary.NativeEndian.Uint32(b[1:]), nil
}

// becomes hears what becomes of the launcher, until its end: its socket is closed when it executes the command.
func (o *observer) becomes(report int, streams *streams) {
	var b [5]byte
	if n, _, err := receive(report, b[:], nil); err == nil && n == len(b) {
		o.failed = failure(b[:])
		return
	}
	streams.begin()
}

// attend hears what the keeper says, until its end.
func (o *observer) attend() {
	for {
		what, number, err := o.hear()
		switch {
		case err != nil:
			if !o.keeper.await() {
				o.abandon()
			}
			return
		case what == keeperEnded:
			o.end = unix.WaitStatus(number)
		case o.job == nil:
		case what == keeperStopped:
			_ = o.job.stopped(unix.Signal(number)) // then it goes on while the command stands
		case what == keeperHeard:
			o.job.heard(unix.Signal(number))
		}
	}
}

// grace is how long what has lost its keeper is still waited for.
const grace = 2 * time.Second

// abandon does what can be done without the keeper: it kills what is below the command's first process, and lets Run return soon. What
// had lost its parent before is killed when it makes a call that is selected, and after that its calls fail.
func (o *observer) abandon() {
	o.lost.Store(true)
	below := processes.Below(o.root, math.MaxInt, func(int) bool { return false })
	if unix.PidfdSendSignal(o.pidfd, unix.SIGKILL, nil, 0) == nil { // else its id may be another's, and these are not its own
		for _, p := range below {
			_ = unix.Kill(p.PID, unix.SIGKILL) // it may have ended
		}
	}
	select {
	case <-o.left:
	case <-time.After(grace):
	}
	_, _ = unix.Write(o.cut, binary.NativeEndian.AppendUint64(nil, 1))
}

// finish ends what still runs, and waits for it.
func (o *observer) finish(report int) {
	close(o.left)
	o.keeper.kill()
	o.keeper.await()
	// What they have said before is still heard (unix_stream_read_generic and __unix_dgram_recvmsg in net/unix/af_unix.c).
	_ = unix.Shutdown(o.keeper.control, unix.SHUT_RD)
	_ = unix.Shutdown(report, unix.SHUT_RD)
	o.told.Wait()
	o.keeper.close()
	if o.pidfd >= 0 {
		unix.Close(o.pidfd)
	}
	if o.job != nil && o.job.signals != nil {
		o.job.stop()
	}
}

// handle handles the call that waits.
func (o *observer) handle() error {
	n, c := &o.waits, &o.call
	c.Reset()
	o.view = view{process(n.TID), o.listener, n}
	c.Pid, c.Arch, c.Nr, c.Args = int(n.TID), n.Arch, uint64(uint32(n.Nr)), n.Args
	c.Start, c.Mem, c.Files, c.EntryOnly = time.Now(), &o.view, &o.view, true
	if c.Foreign() {
		narrow(c)
	} else {
		c.Name = syscalls.Native.Name(c.Nr)
	}
	args := c.Args
	exec := !c.Foreign() && (c.Name == "execve" || c.Name == "execveat")
	o.begins(c.Pid)
	if c.First = exec && !o.began; c.First {
		if err := o.permitted(); err != nil {
			return err
		}
		o.attempted = true
	}
	if !(c.Foreign() || o.selected(c.Name)) || !o.began && !exec {
		return o.listener.Continue(n)
	}
	if err := o.handler.Enter(c); err != nil {
		return err
	}
	var err error
	switch {
	case c.Args != args:
		return ErrChanged
	case c.Injected && c.Failed:
		err = o.listener.Refuse(n, unix.Errno(-c.Ret))
	case c.Injected:
		err = o.listener.Return(n, c.Ret)
	default:
		err = o.listener.Continue(n)
	}
	if err != nil {
		return err
	}
	return o.handler.Flush()
}

// permitted returns an error if nobody may look at the memory of root, as ptrace then could not attach to it.
func (o *observer) permitted() error {
	if o.attempted {
		return nil
	}
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	remote := []unix.RemoteIovec{{Base: uintptr(o.waits.Args[0]), Len: 1}}
	if _, err := unix.ProcessVMReadv(o.root, local, remote, 0); errors.Is(err, unix.EPERM) {
		return attachError(o.root, err)
	}
	return nil // what cannot be read otherwise, the kernel cannot either
}

// begins finds out whether the command has begun, before which the launcher makes calls.
func (o *observer) begins(pid int) {
	if !o.began && (pid != o.root || o.attempted) {
		o.began = pid != o.root || !isLauncher(pid)
	}
}
