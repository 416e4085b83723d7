package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/libexec"
)

// starting is a stage that has not been briefed yet.
type starting struct {
	process
	refused error // why it has not begun

	plan  *os.File                   // the writing end of a pipe, which the stage reads to its end
	files map[*os.File]func() []byte // what it has in memory, and what is to be in there by then
}

// startStage starts the stage, which then waits to be briefed: meanwhile art finds out what there is
// to do.
func (s *session) startStage() error {
	st := &starting{files: map[*os.File]func() []byte{}}
	files, err := s.stageFiles(st)
	defer func() { closeFiles(files) }()
	var stderr *os.File
	if err == nil {
		stderr, err = st.add(&s.diagnosis)
	}
	if err != nil {
		st.close()
		return err
	}
	s.starting = st
	if s.thread == nil {
		s.thread = newGuestThread()
	}
	uids, gids := s.mappings()
	c := &spawn.Command{
		Path:  "/proc/self/exe",
		Args:  []string{stage.Name},
		Env:   s.stageEnv(),
		Files: slices.Concat([]*os.File{s.null, s.null, stderr}, files, s.streamFiles(), s.traceFiles()),
		Flags: s.namespaces(),
		// To give up the caller's groups with the caller's ids.
		IDs: &spawn.IDs{UIDs: uids, GIDs: gids, Setgroups: s.spare != 0},
		// To mount; and to get at the mount points in the home, whatever modes a guest has given the
		// caller's own directories there (capable_wrt_inode_uidgid in kernel/capability.c).
		// To set up a network that it makes for the guest: the host's does not belong to this user namespace.
		Capabilities: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW},
		Deathsig:     true,
		Setsid:       true,
	}
	// At once: another goroutine would begin only when this one waits for something, which is later.
	st.refused = s.thread.start(func() error { return st.begin(c) })
	return nil
}

// brief tells the stage what to do.
func (s *session) brief() error {
	st := s.starting
	s.starting = nil
	defer st.close()
	if st.refused != nil {
		return cli.WithHint(fmt.Errorf("make a user namespace: %w", cli.Reason(st.refused)), hint.Host{}.Namespaces())
	}
	s.stage, s.stageDone = st.Process, st.done
	if s.plainHome != nil {
		if err := s.plainHome.Began(s.stage.Pid); err != nil {
			return err
		}
	}
	for f, data := range st.files {
		// The stage has the same offset, and finds it at the beginning.
		if _, err := f.WriteAt(data(), 0); err != nil {
			return fmt.Errorf("start the sandbox: %w", cli.Reason(err))
		}
	}
	if _, err := st.plan.Write(control.Marshal(&s.plan)); err != nil {
		return fmt.Errorf("start the sandbox: %w", cli.Reason(err))
	}
	return nil
}

// dismiss ends a stage and an art-fuse that are not going to be briefed, if there are any.
func (s *session) dismiss() {
	s.dismissFUSE()
	st := s.starting
	if st == nil {
		return
	}
	s.starting = nil
	st.close()
	if st.refused == nil {
		<-st.done
	}
}

func (st *starting) close() {
	if st.plan != nil {
		st.plan.Close()
	}
	for f := range st.files {
		f.Close()
	}
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
func (s *session) stageFiles(st *starting) (files []*os.File, err error) {
	add := func(f *os.File, e error) {
		if e != nil {
			err = errors.Join(err, e)
			return
		}
		files = append(files, f)
	}
	r, w, e := os.Pipe()
	st.plan = w
	add(r, e)
	if s.control != nil {
		add(duplicate(s.control))
	} else {
		add(os.Open(os.DevNull))
	}
	add(s.newLink())
	add(s.newReport())
	add(os.Open("/proc/self/exe"))
	add(st.memory("payload", func() []byte { return control.Marshal(&s.payload) }))
	add(st.memory("filter", func() []byte { return s.filter }))
	if s.traceLog != nil {
		// In memory: a command line or an environment could be read by others.
		var f *os.File
		if f, e = st.memory("secrets", func() []byte { return []byte(strings.Join(s.secrets, "\x00")) }); e == nil {
			s.redacted = f
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		return files, fmt.Errorf("start the sandbox: %w", err)
	}
	return files, nil
}

// memory returns an empty file in memory for the stage, which data fills when it is briefed.
func (st *starting) memory(name string, data func() []byte) (*os.File, error) {
	f, err := memoryFile(name)
	if err != nil {
		return nil, err
	}
	own, err := duplicate(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	st.files[own] = data
	return f, nil
}

func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// traceFiles are the tracer's, after all others.
func (s *session) traceFiles() []*os.File {
	if s.traceLog == nil {
		return nil
	}
	return []*os.File{s.traceLog, s.redacted}
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

// receive returns the messages that come over link, up to its end: that of the last process that holds the other side, or a
// message that is none.
func receive(link *os.File) <-chan control.Received {
	messages := make(chan control.Received, 4)
	go func() {
		defer close(messages)
		for {
			m, err := control.Receive(link)
			if err != nil {
				return
			}
			messages <- m
		}
	}()
	return messages
}
