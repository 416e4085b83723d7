package stub

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/scope"
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
	if p.Joined {
		if err := comeIn(); err != nil {
			return fail(err)
		}
	}
	link := os.NewFile(stage.LinkFD, "link")
	set, err := p.prepare(link)
	if err != nil {
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
		return p.runJob(link, set)
	}
	return p.exec(set)
}

// comeIn makes this process one like all others in a guest that is there already. Nobody there can trace it, read its
// memory or get at its descriptors, from its beginning on for the capability that it has (package join), and from here on
// to its execve because it is not dumpable. So the capability can go.
func comeIn() error {
	if err := protect(); err != nil {
		return err
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	// Of this thread, which is the one that calls fork or execve. The ambient set goes along (cap_capset in
	// security/commoncap.c).
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}

// onTerminal says whether any of the streams is the terminal.
func (p *Payload) onTerminal() bool { return p.Terminal != [3]bool{} }

func fail(err error) int {
	cli.Fail("art", err)
	return cli.ExitArt
}

// prepare gives the process its session and streams. Without a terminal it waits for art; otherwise the payload does. It
// returns what keeps the payload from sockets of the host.
func (p *Payload) prepare(link *os.File) (scope.Ruleset, error) {
	for i, terminal := range p.Terminal {
		if !terminal {
			if err := stream(i); err != nil {
				return -1, fmt.Errorf("set up the streams: %w", err)
			}
		}
	}
	set, err := p.ruleset(link)
	if err != nil {
		return -1, err
	}
	if _, err := unix.Setsid(); err != nil {
		return -1, fmt.Errorf("start a session: %w", err)
	}
	if err := p.start(link); err != nil {
		return -1, err
	}
	if err := p.enter(); err != nil {
		return -1, err
	}
	if err := p.enterDir(); err != nil {
		return -1, err
	}
	return set, closeOnExec()
}

// start has art set up its side of the streams.
func (p *Payload) start(link *os.File) error {
	if p.onTerminal() {
		return p.terminal(link)
	}
	if err := control.Send(link, -1, control.Message{Kind: control.Started}); err != nil {
		return err
	}
	if _, err := control.Receive(link); err != nil {
		return fmt.Errorf("wait for art: %w", err)
	}
	return nil
}

// ruleset returns what keeps the payload from sockets of the host. The paths in it are the guest's to change by the time
// that another command joins it, so that such a one gets the ruleset of the first, which art keeps.
func (p *Payload) ruleset(link *os.File) (scope.Ruleset, error) {
	if p.Joined && p.Ruleset {
		return stage.ControlFD, nil
	}
	if p.Joined {
		return -1, nil
	}
	set, err := scope.Files(p.Mounts, p.Sockets)
	if err != nil || set < 0 {
		return -1, err
	}
	return set, control.Send(link, int(set), control.Message{Kind: control.Ruleset})
}

// enter goes to the directory where the command starts, by its other path if there is one. In a database an earlier
// session may have moved it, or put something else in its place: then what is left above it opens all the same, where
// that can be mended.
func (p *Payload) enter() error {
	if p.Workspace == "" {
		return p.startThere()
	}
	missing := unix.Chdir(p.Workspace)
	for at, err := p.Workspace, missing; ; err = unix.Chdir(at) {
		switch err {
		case nil:
			if missing == nil {
				return p.startThere()
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
		"an earlier session has removed, moved or replaced it: end this one, then art reset brings it back"))
	for i, kv := range p.Env {
		if kv == "PWD="+p.Workspace || kv == "PWD="+p.Start {
			p.Env[i] = "PWD=" + dir
		}
	}
}

// startThere goes to the workspace by its other path.
func (p *Payload) startThere() error {
	if p.Start == "" {
		return nil
	}
	if err := unix.Chdir(p.Start); err != nil {
		return fmt.Errorf("open the workspace at its path on the host, %s: %w", p.Start, err)
	}
	return nil
}

// enterDir goes to the directory that somebody has asked for.
func (p *Payload) enterDir() error {
	if p.Dir == "" {
		return nil
	}
	if err := unix.Chdir(p.Dir); err != nil {
		return fmt.Errorf("open the directory %s: %w", p.Dir, err)
	}
	for i, kv := range p.Env {
		before, ok := strings.CutPrefix(kv, "PWD=")
		if ok && path.IsAbs(p.Dir) {
			before = ""
		}
		if ok {
			p.Env[i] = "PWD=" + path.Join(before, p.Dir)
		}
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
