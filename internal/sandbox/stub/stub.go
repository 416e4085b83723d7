package stub

import (
	"fmt"
	"os"
	"path"
	"runtime"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/stage"
)

// Main runs the stub. It returns only if that failed, with the exit code.
func Main() int {
	// The signal mask belongs to the thread; it is that of the one that calls
	// execve that the payload gets.
	runtime.LockOSThread()
	p := &Payload{}
	if err := control.ReadFile(os.NewFile(stage.PayloadFD, "payload"), p); err != nil {
		return fail(fmt.Errorf("read what to run: %w", err))
	}
	link := os.NewFile(stage.LinkFD, "link")
	if err := p.prepare(link); err != nil {
		return fail(err)
	}
	if len(p.Command) == 0 {
		shell, err := p.shell()
		if err != nil {
			return fail(err)
		}
		p.Command = []string{shell}
	}
	if err := p.notify(link); err != nil {
		return fail(err)
	}
	if p.onTerminal() {
		return p.runJob(link)
	}
	return p.exec()
}

// onTerminal says whether any of the streams is the terminal.
func (p *Payload) onTerminal() bool { return p.Terminal != [3]bool{} }

func fail(err error) int {
	cli.Fail("art", err)
	return cli.ExitArt
}

// prepare gives the process its session and streams. Without a terminal it waits for art; otherwise the payload does.
func (p *Payload) prepare(link *os.File) error {
	for i, terminal := range p.Terminal {
		if !terminal {
			if err := stream(i); err != nil {
				return fmt.Errorf("set up the streams: %w", err)
			}
		}
	}
	if _, err := unix.Setsid(); err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	if p.onTerminal() {
		if err := p.terminal(link); err != nil {
			return err
		}
	} else {
		if err := control.Send(link, -1, control.Message{Kind: control.Started}); err != nil {
			return err
		}
		if _, err := control.Receive(link); err != nil {
			return fmt.Errorf("wait for art: %w", err)
		}
	}
	if err := p.enter(); err != nil {
		return err
	}
	return closeOnExec()
}

// enter goes to the directory where the command starts, by its other path if there is one. In a database an earlier
// session may have moved it, or put something else in its place: then what is left above it opens all the same, where
// that can be mended.
func (p *Payload) enter() error {
	if p.Workspace == "" {
		return p.start()
	}
	missing := unix.Chdir(p.Workspace)
	for at, err := p.Workspace, missing; ; err = unix.Chdir(at) {
		switch err {
		case nil:
			if missing == nil {
				return p.start()
			}
			p.startIn(at, missing)
			return nil
		case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		default:
			return fmt.Errorf("open the workspace %s: %w", at, err)
		}
		if at == "/" {
			return fmt.Errorf("open the workspace %s: %w", p.Workspace, missing)
		}
		at = path.Dir(at)
	}
}

// startIn says that the command starts in another directory than it should.
func (p *Payload) startIn(dir string, why error) {
	cli.Fail("art", cli.WithHint(fmt.Errorf("open the workspace %s: %w: the session starts in %s", p.Workspace, why, dir),
		"an earlier session has moved or replaced it: move it back"))
	for i, kv := range p.Env {
		if kv == "PWD="+p.Workspace || kv == "PWD="+p.Start {
			p.Env[i] = "PWD=" + dir
		}
	}
}

// start goes to the workspace by its other path.
func (p *Payload) start() error {
	if p.Start == "" {
		return nil
	}
	if err := unix.Chdir(p.Start); err != nil {
		return fmt.Errorf("open the workspace at its path on the host, %s: %w", p.Start, err)
	}
	return nil
}

// stream makes what art has passed for standard stream i that stream. In place of the host's /dev/null, whose mode
// root could change by it, it takes the guest's own.
func stream(i int) error {
	fd := stage.StreamFD + i
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		if fd, err = unix.Open(os.DevNull, flags&unix.O_ACCMODE|unix.O_CLOEXEC, 0); err != nil {
			return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
		}
	}
	return unix.Dup3(fd, i, 0)
}

// terminal makes a terminal of the guest's own devpts the controlling one and
// sends its master to art. The guest can name it (ttyname(3)), as programs that
// ask for a password or start another terminal do, and never holds the caller's.
func (p *Payload) terminal(link *os.File) error {
	master, slave, err := pty.Open()
	if err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	fd := int(slave.Fd())
	if err := unix.IoctlSetInt(fd, unix.TIOCSCTTY, 0); err != nil {
		return fmt.Errorf("set the controlling terminal: %w", err)
	}
	for i, terminal := range p.Terminal {
		if terminal {
			if err := unix.Dup3(fd, i, 0); err != nil {
				return fmt.Errorf("set up the streams: %w", err)
			}
		}
	}
	if err := control.Send(link, int(master.Fd()), control.Message{Kind: control.Started}); err != nil {
		return err
	}
	// Held by art alone, so that its end is the end of the terminal.
	master.Close()
	slave.Close()
	return nil
}
