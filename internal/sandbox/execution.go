package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/join"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// execution is a program that joins a session, or has joined it: the session's side. All fields belong to the goroutine
// that calls run, unless they say something else.
type execution struct {
	j         *joinable
	cmd       *exec.Cmd
	link      *os.File
	messages  <-chan control.Received
	done      chan error
	diagnosis diagnosis
	guest     *guest // the program, or nil as long as there is none

	process *os.Process // GUARDED_BY(j.mu); nil until it has begun
	stub    int         // GUARDED_BY(j.mu); its process id, or 0
}

// killed is the exit code of what was killed.
const killed = cli.ExitSignal + int(unix.SIGKILL)

// errSessionOver is how a program ends that has joined.
var errSessionOver = errors.New("run the command: the session has ended, and with it all that ran there")

// client is who has asked for a program: what it is told of it.
type client interface {
	// terminal gives it the master of the program's terminal.
	terminal(master int) error
	// running gives it the program, which waits until the channel of set is closed.
	running(*guest) error
	set() <-chan struct{}
	// stopped says that the program was stopped as a job of its terminal.
	stopped()
	// continued tells whether the program, which goes on, is in the foreground of its terminal.
	continued() <-chan bool
	// ended says how the program ended, or why there was none.
	ended(code int, err error)
	// The channel of went is closed when the client is there no more.
	went() <-chan struct{}
}

// run runs a program in the guest, with the streams that are not its terminal, which it closes. None of the client's methods
// may block.
func (j *joinable) run(ask *control.ExecAsk, streams [3]*os.File, c client) {
	x := &execution{j: j, done: make(chan error, 1)}
	if err := j.add(x); err != nil {
		closeFiles(streams[:])
		c.ended(cli.ExitArt, err)
		return
	}
	defer j.remove(x) // the session waits for this, and the client is told before
	if err := x.start(ask, streams); err != nil {
		c.ended(cli.ExitArt, err)
		return
	}
	defer x.hangUp()
	c.ended(x.attend(c))
}

// start starts the process that joins.
func (x *execution) start(ask *control.ExecAsk, streams [3]*os.File) (err error) {
	j := x.j
	var files []*os.File
	defer func() { closeFiles(append(files, streams[:]...)) }()
	if err := (&terminal.Streams{Guest: streams}).Give(j.hostIDs[0], j.hostIDs[1]); err != nil {
		return err
	}
	payload := j.payload
	payload.Command, payload.Env, payload.Dir, payload.Terminal = ask.Command, mergeEnv(payload.Env, ask.Env), ask.Dir, ask.Terminal
	payload.Joined, payload.Ruleset, payload.Background = true, j.ruleset != nil, ask.Background
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", os.DevNull, cli.Reason(err))
	}
	files = append(files, null)
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		return err
	}
	files = append(files, theirs)
	// By the numbers of their descriptors, see package join.
	inherited := []*os.File{nil, j.ruleset, theirs, null, j.self, nil, nil, streams[0], streams[1], streams[2]}
	for i, data := range map[int][]byte{0: control.Marshal(&j.plan), 5: control.Marshal(&payload), 6: j.filter} {
		if inherited[i], err = filled("join", data); err != nil {
			ours.Close()
			return err
		}
		files = append(files, inherited[i])
	}
	for i, f := range inherited {
		if f == nil {
			inherited[i] = null
		}
	}
	x.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{join.Name}, Env: []string{}, Stderr: &x.diagnosis,
		ExtraFiles:  slices.Concat(inherited, j.namespaces),
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true},
	}
	err = unix.SetsockoptInt(int(ours.Fd()), unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	if err == nil {
		err = j.thread.start(x.cmd.Start)
	}
	if err != nil {
		ours.Close()
		return fmt.Errorf("join the session: %w", cli.Reason(err))
	}
	x.link, x.messages = ours, receive(ours)
	j.started(x, x.cmd.Process)
	go func() { x.done <- x.cmd.Wait() }()
	return nil
}

// hangUp ends the link, and leaves no message behind, nor its descriptor.
func (x *execution) hangUp() {
	// It wakes who waits for a message, as to close it does not.
	_ = unix.Shutdown(int(x.link.Fd()), unix.SHUT_RDWR)
	if x.messages != nil {
		for m := range x.messages {
			if m.FD >= 0 {
				unix.Close(m.FD)
			}
		}
	}
	x.link.Close()
}

// filled returns a file in memory that is read from its beginning.
func filled(name string, data []byte) (*os.File, error) {
	f, err := memoryFile(name)
	if err == nil {
		if _, err = f.WriteAt(data, 0); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("join the session: %w", cli.Reason(err))
	}
	return f, nil
}

// mergeEnv returns an environment in which variables are replaced or added.
func mergeEnv(env, changed []string) []string {
	merged := slices.Clone(env)
	for _, kv := range changed {
		name, _, _ := strings.Cut(kv, "=")
		i := slices.IndexFunc(merged, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		if i < 0 {
			merged = append(merged, kv)
		} else {
			merged[i] = kv
		}
	}
	return merged
}

// attend does art's part until the program has ended, and returns its exit code.
func (x *execution) attend(c client) (int, error) {
	defer func() {
		if x.guest != nil {
			x.guest.close()
		}
	}()
	var failed error
	var kill <-chan time.Time
	gone, set := c.went(), c.set()
	var continued <-chan bool // the program waits for any message until it is let go
	for {
		select {
		case m, ok := <-x.messages:
			if !ok {
				x.messages = nil
			} else if err := x.handle(m, c); err != nil {
				failed = errors.Join(failed, err)
				x.end()
			}
		case <-set:
			set, continued = nil, c.continued()
			if err := x.letGo(); err != nil {
				failed = errors.Join(failed, err)
				x.end()
			}
		case front := <-continued:
			// Fails if the program has ended.
			_ = control.Send(x.link, -1, control.Message{Kind: control.Continue, Foreground: front})
		case <-gone:
			// As the end of a terminal: what stays is ended by force.
			gone = nil
			if x.guest == nil {
				x.end()
				break
			}
			x.guest.hangUp()
			kill = time.After(hangupGrace)
		case <-kill:
			x.end()
		case err := <-x.done:
			if x.guest != nil {
				x.guest.signal(unix.SIGKILL) // where it was the stub that was killed
			}
			return x.ended(err, failed)
		}
	}
}

// end ends the program by force, and what waits for it: the guest may have stopped that, which takes the stub along.
func (x *execution) end() {
	if x.guest != nil {
		x.guest.signal(unix.SIGKILL)
	}
	_ = x.cmd.Process.Kill()
}

// handle acts on a message of the stub or of the program.
func (x *execution) handle(m control.Received, c client) error {
	switch m.Kind {
	case control.Started:
		if m.FD < 0 {
			return x.begin(m.PID, c)
		}
		defer unix.Close(m.FD)
		x.j.setStub(x, m.PID)
		return c.terminal(m.FD)
	case control.Listening:
		x.j.calls.listen(m.FD)
	case control.Running:
		return x.begin(m.PID, c)
	case control.Stopped:
		c.stopped()
	default:
		if m.FD >= 0 {
			unix.Close(m.FD)
		}
	}
	return nil
}

// begin is called when the program's process is there, which waits.
func (x *execution) begin(pid int, c client) (err error) {
	if x.guest != nil {
		return nil
	}
	if x.guest, err = newGuest(pid, x.j.namespaces[0]); err != nil {
		return err
	}
	return c.running(x.guest)
}

// letGo limits the program, and lets it begin.
func (x *execution) letGo() error {
	if x.guest == nil {
		return errors.New("join the session: whoever has asked for it goes on before it is there")
	}
	if err := x.j.limit(x.guest.pid, x.j.stubs()...); err != nil {
		return err
	}
	return control.Send(x.link, -1, control.Message{Kind: control.Go})
}

// ended says how it ended, given how the process has that waited for it.
func (x *execution) ended(err, failed error) (int, error) {
	if failed != nil {
		return cli.ExitArt, failed
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return cli.ExitArt, fmt.Errorf("join the session: %w", err)
	}
	code := x.cmd.ProcessState.ExitCode()
	text := strings.TrimPrefix(x.diagnosis.String(), "art: ")
	switch {
	case (code < 0 || code == killed || x.guest == nil) && x.j.isEnding():
		return killed, errSessionOver
	case x.guest == nil && text != "":
		return cli.ExitArt, errors.New(text)
	case code < 0:
		return killed, nil
	}
	return code, nil
}
