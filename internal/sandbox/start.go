package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/wire"
	"github.com/riverlytech/art/libexec"
)

// startFUSE starts art-fuse with its end of the control socket.
func (s *session) startFUSE() error {
	defer s.closeServer()
	name := filepath.Base(s.plan.Workspace)
	args := []string{"serve", "--db", s.plan.Database, "--base", s.plan.Workspace, "--name", name, "--control", "3"}
	if !s.quiet {
		args = append(args, "--summary")
	}
	// What the stage mounts over a path to hide it goes away when the host replaces what is there
	// (d_invalidate in fs/dcache.c), so the server must not show the host's in the first place.
	for _, path := range s.hideBase {
		args = append(args, "--hide", filepath.Join(s.plan.Workspace, path))
	}
	cmd, err := libexec.Command("art-fuse", args...)
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{s.server}
	cmd.Stdout = &s.report
	cmd.Stderr = os.Stderr
	// Away from the terminal's signals: it ends after the guest, not with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start art-fuse: %w", unwrapped(err))
	}
	done := make(chan error, 1)
	s.fuseDone = done
	go func() { done <- cmd.Wait() }()
	return s.limitDatabase(cmd.Process.Pid)
}

// startStage starts the stage.
func (s *session) startStage() error {
	files, err := s.stageFiles()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return err
	}
	extra := append(files[:len(files):len(files)], s.streamFiles()...)
	if s.traceLog != nil {
		extra = append(extra, s.traceLog, s.redacted)
	}
	uid, gid := os.Getuid(), os.Getgid()
	cmd := &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       []string{stage.Name},
		Env:        s.stageEnv(),
		Stderr:     &s.diagnosis,
		ExtraFiles: extra,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  s.namespaces(),
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
			Pdeathsig:   syscall.SIGKILL,
			Setsid:      true,
		},
	}
	started, done := make(chan error), make(chan error, 1)
	go func() {
		// The kernel kills the stage when the thread ends that started it (prctl(2), PR_SET_PDEATHSIG),
		// and bubblewrap, which the stage becomes, takes the guest with it. So this thread stays.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return cli.WithHint(fmt.Errorf("make a user namespace: %w", unwrapped(err)), hint.Host{}.Namespaces())
	}
	s.stage, s.stageDone = cmd.Process, done
	return nil
}

// namespaces are what the stage begins in. As the first process of a process
// namespace, which the guest shares, it takes everything below with it, at whatever
// moment it is killed (pid_namespaces(7)). A tracer needs the process ids that the
// host's /proc has, and ends what it traces by itself.
func (s *session) namespaces() uintptr {
	if s.traceLog != nil {
		return unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	}
	return unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID
}

func (s *session) stageEnv() []string {
	if s.traceLog == nil {
		return []string{}
	}
	return libexec.CallerEnv()
}

// stageFiles opens what the stage inherits before the streams, in the order of
// its descriptors. It returns what it opened also with an error; all of it is
// art's to close once the stage has it.
func (s *session) stageFiles() (files []*os.File, err error) {
	add := func(f *os.File, e error) {
		if e != nil {
			err = errors.Join(err, e)
			return
		}
		files = append(files, f)
	}
	add(wire.File("plan", s.plan.Marshal()))
	if s.control != nil {
		add(duplicate(s.control))
	} else {
		add(os.Open(os.DevNull))
	}
	add(s.newLink())
	add(s.newStatus())
	add(os.Open("/proc/self/exe"))
	add(wire.File("payload", s.payload.Marshal()))
	add(wire.File("filter", s.filter))
	if err != nil {
		return files, fmt.Errorf("start the sandbox: %w", err)
	}
	return files, nil
}

// streamFiles returns the guest's ends of the streams. The terminal's place is
// taken by standard error, which is never used there.
func (s *session) streamFiles() []*os.File {
	var files []*os.File
	for _, f := range s.streams.Guest {
		if f == nil {
			f = s.null
		}
		files = append(files, f)
	}
	return files
}

func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// newLink makes the socket pair to the stage and the stub, listens on one end and
// returns the other.
func (s *session) newLink() (*os.File, error) {
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		return nil, err
	}
	// The sender of a message is then known by the kernel's word.
	if err := unix.SetsockoptInt(int(ours.Fd()), unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		ours.Close()
		theirs.Close()
		return nil, fmt.Errorf("ask for credentials: %w", err)
	}
	s.link, s.messages = ours, receive(ours)
	return theirs, nil
}

// message is one datagram from the stage or the stub.
type message struct {
	text string
	fd   int // the terminal's master, or -1
	pid  int
}

// receive returns the messages that come over link, up to its end.
func receive(link *os.File) <-chan message {
	messages := make(chan message, 4)
	go func() {
		defer close(messages)
		for {
			fd, text, sender, err := libexec.RecvFrom(link)
			if err != nil {
				return // the end of the last process that held the other side
			}
			m := message{text: string(text), fd: fd}
			if sender != nil {
				m.pid = int(sender.Pid)
			}
			messages <- m
		}
	}()
	return messages
}
