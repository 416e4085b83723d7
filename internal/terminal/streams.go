package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

const (
	bufferSize = 128 << 10
	// pipeSize is asked for, to move large data in few wake-ups.
	pipeSize = 1 << 20
	// lingerTime is how long a relay waits for more once the guest has ended. All
	// that it wrote is there by then; only a host process that was handed the
	// descriptor could still hold it.
	lingerTime = 2 * time.Second
)

var streamNames = [3]string{"standard input", "standard output", "standard error"}

// Streams are the caller's standard streams and what stands for them in the guest.
type Streams struct {
	// Terminal is the caller's terminal, nil without a session on one, and after Detach.
	Terminal *Terminal
	// Hub is where others look at the guest's terminal; nil if none can.
	Hub *Hub
	// Heard, if it is set before Start, is written what the guest writes to its terminal. It must not block.
	Heard io.Writer
	// IsTerminal says which streams are the guest's terminal.
	IsTerminal [3]bool
	// Guest are the other streams' ends for the guest: the stream itself if it is
	// a pipe, a socket or /dev/null, a pipe of art's otherwise. Close them once
	// the guest has them.
	Guest [3]*os.File

	host    [3]*os.File
	relayed [3]*os.File // art's end of the pipe, where there is one
	master  *os.File
	copied  bool          // the guest's terminal has had the modes of the caller's
	ended   chan struct{} // closed when the guest has ended
	shown   shown         // on the caller's terminal
	typed   typed         // there
	gate    *gate         // before it is shown
	front   *front        // that with the hub; nil if the terminal cannot be detached

	outputs sync.WaitGroup
	mu      sync.Mutex
	errs    []error // GUARDED_BY(mu)
}

// Open looks at each of the three standard streams by itself. If interactive and
// standard input is a terminal, the streams that are terminals become the guest's
// terminal.
func Open(interactive bool, host [3]*os.File) (*Streams, error) {
	s := &Streams{host: host, ended: make(chan struct{}), gate: newGate()}
	if interactive {
		s.Terminal = New(host[0])
	}
	for i, file := range host {
		if s.Terminal != nil && term.IsTerminal(int(file.Fd())) {
			s.IsTerminal[i] = true
			continue
		}
		if err := s.open(i, file); err != nil {
			s.CloseGuest()
			return nil, fmt.Errorf("set up %s: %w", streamNames[i], err)
		}
	}
	if s.Terminal != nil {
		s.Terminal.lines = !s.IsTerminal[1]
	}
	return s, nil
}

// OpenHub opens the streams of a session in the background: all are a terminal that others look at by the hub.
func OpenHub(hub *Hub) *Streams {
	return &Streams{Hub: hub, IsTerminal: [3]bool{true, true, true}, ended: make(chan struct{}), gate: newGate()}
}

// OnTerminal tells whether the guest has a terminal.
func (s *Streams) OnTerminal() bool { return s.Terminal != nil || s.Hub != nil }

// SetUp gives the guest's terminal, whose master is given, the modes and the size of the caller's, and makes the caller's raw.
func (s *Streams) SetUp(master *os.File) error {
	s.master = master
	if s.Terminal == nil {
		return setModes(master)
	}
	if !s.Foreground() { // the modes are somebody else's
		if err := setModes(master); err != nil {
			return err
		}
	}
	return s.TakeTerminal()
}

// Foreground tells whether the guest's terminal is to be in the foreground of the guest: as the caller's is, if there is one.
func (s *Streams) Foreground() bool { return s.Terminal == nil || s.Terminal.Foreground() }

// TakeTerminal makes the caller's terminal raw as soon as this process is in its foreground. The guest's has its size, and
// from the first time on its modes.
func (s *Streams) TakeTerminal() error {
	if !s.copied && s.Foreground() {
		if err := s.Terminal.CopyTo(s.master); err != nil {
			return err
		}
		s.copied = true
	}
	if err := s.Terminal.Raw(); err != nil {
		return err
	}
	s.Resize()
	return nil
}

func (s *Streams) open(i int, file *os.File) error {
	direct, err := harmless(file)
	if err != nil {
		return err
	}
	if direct {
		s.Guest[i] = file
		return nil
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	// The limit of pipes is for all of a user's; a small one does as well.
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETPIPE_SZ, pipeSize)
	guest, own := p[0], p[1]
	if i != 0 {
		guest, own = p[1], p[0]
	}
	// Only art's end: each end has a mode of its own, and the guest's is to block.
	if err := unix.SetNonblock(own, true); err != nil {
		return err
	}
	s.Guest[i] = os.NewFile(uintptr(guest), streamNames[i])
	s.relayed[i] = os.NewFile(uintptr(own), streamNames[i])
	return nil
}

// harmless says whether the guest may hold file itself: what it does to the inode, and opening it anew through
// /proc/self/fd, must reach nothing that has a name on the host. In place of /dev/null it gets its own.
func harmless(file *os.File) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return false, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK: // not the one that a path leads to (unix(7))
		return true, nil
	case unix.S_IFIFO:
		var fs unix.Statfs_t
		if err := unix.Fstatfs(int(file.Fd()), &fs); err != nil {
			return false, err
		}
		return fs.Type == unix.PIPEFS_MAGIC, nil // pipe(2), not mkfifo(3)
	case unix.S_IFCHR:
		return st.Rdev == unix.Mkdev(1, 3), nil // /dev/null
	}
	return false, nil
}

// Give makes the ids the owner of the guest's streams, so that a guest that has these on the host can open
// them anew, as /dev/stdout and the like: pipes that have no name, and are root's or art's own.
func (s *Streams) Give(uid, gid int) error {
	for i, file := range s.Guest {
		if file == nil {
			continue
		}
		var st unix.Stat_t
		var fs unix.Statfs_t
		err := errors.Join(unix.Fstat(int(file.Fd()), &st), unix.Fstatfs(int(file.Fd()), &fs))
		if err == nil && fs.Type == unix.PIPEFS_MAGIC && int(st.Uid) == os.Getuid() {
			err = unix.Fchown(int(file.Fd()), uid, gid)
		}
		if err != nil {
			return fmt.Errorf("set up %s: %w", streamNames[i], err)
		}
	}
	return nil
}

// CloseGuest closes art's copies of the guest's ends, so that their end is seen.
func (s *Streams) CloseGuest() {
	for i, file := range s.Guest {
		if file != nil && file != s.host[i] {
			file.Close()
		}
		s.Guest[i] = nil
	}
}

// Start begins to carry data. master is the guest's terminal, nil if there is
// none; Streams owns it from now on. hangup is called, once, if the caller's
// terminal is gone.
func (s *Streams) Start(master *os.File, hangup func()) {
	s.master = master
	switch {
	case master != nil && s.Terminal == nil:
		s.Hub.start(master)
		s.goOutput(reopening{master, s.ended}, s.heard(s.Hub), "the terminal")
	case master != nil:
		s.typed.guest = master
		s.shown.screen = s.screen()
		var to io.Writer = &s.shown
		carry := (&front{keys: &Keys{}}).carry
		if s.front != nil {
			s.Hub.start(master)
			to, carry = s.front, s.front.carry
		}
		go func() {
			// It outlives the guest's closing its side, which may be opened again; meanwhile writing fails.
			if !carry(s.Terminal, func(keys []byte) { _, _ = s.typed.Write(keys) }) {
				hangup()
			}
		}()
		s.goOutput(reopening{master, s.ended}, gated{s.gate, s.heard(to)}, "the terminal")
	}
	if own := s.relayed[0]; own != nil {
		go func() {
			// An error is the guest's having closed its input: as with any pipe.
			io.CopyBuffer(writer{own}, s.input(), make([]byte, bufferSize))
			own.Close()
		}()
	}
	for i := 1; i < 3; i++ {
		if own := s.relayed[i]; own != nil {
			s.goOutput(own, s.host[i], streamNames[i])
		}
	}
}

// input is the caller's standard input.
func (s *Streams) input() io.Reader {
	if t := New(s.host[0]); t != nil {
		return t
	}
	return s.host[0]
}

// heard returns what has both shown and heard what the guest writes.
func (s *Streams) heard(shown io.Writer) io.Writer {
	if s.Heard == nil {
		return shown
	}
	return io.MultiWriter(shown, s.Heard)
}

// screen returns the stream on which the guest's terminal appears.
func (s *Streams) screen() *os.File {
	for _, i := range []int{1, 2} {
		if s.IsTerminal[i] {
			return s.host[i]
		}
	}
	return s.host[0] // a terminal is usually open for both
}

// source is what a relay reads from.
type source interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

func (s *Streams) goOutput(from source, to io.Writer, name string) {
	s.outputs.Add(1)
	go func() {
		defer s.outputs.Done()
		defer from.Close() // so that the guest's next write fails, as ours did
		if err := relay(to, from); err != nil {
			s.mu.Lock()
			s.errs = append(s.errs, fmt.Errorf("write %s: %w", name, err))
			s.mu.Unlock()
		}
	}()
}

// relay copies until the end of from, and returns an error of writing. After a
// deadline was set on from it goes on as long as there is something to read.
func relay(to io.Writer, from source) error {
	buf := make([]byte, bufferSize)
	expired := false
	for {
		n, err := from.Read(buf)
		if n > 0 {
			expired = false
			if _, err := to.Write(buf[:n]); err != nil {
				if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EIO) {
					return nil // the reader has had enough; the guest is told
				}
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && !expired:
			// The deadline may have passed during a slow write: look once more.
			expired = true
			if from.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
				return nil
			}
		default:
			return nil // the end: EOF of a pipe, EIO of a terminal (pty(7))
		}
	}
}

// reopening is the master of a terminal that programs close and open again.
// While nobody has it open, reading it fails with EIO (pty(7)).
type reopening struct {
	*os.File
	ended <-chan struct{}
}

func (r reopening) Read(p []byte) (int, error) {
	const retryTime = 20 * time.Millisecond
	for {
		n, err := r.File.Read(p)
		if n > 0 || !errors.Is(err, unix.EIO) {
			return n, err
		}
		select {
		case <-r.ended:
			return n, err
		case <-time.After(retryTime):
		}
	}
}

// shown is the guest's terminal as it appears on the caller's.
type shown struct {
	screen io.Writer
	pieces atomic.Int64 // of output that have been written
	modes  screenModes  // the relay's until the streams are drained, the terminal was detached, or the gate is held
}

func (s *shown) Write(p []byte) (int, error) {
	n, err := s.screen.Write(p)
	s.modes.Write(p[:max(n, 0)])
	s.pieces.Add(1)
	return n, err
}

// Shown is a terminal of which it is known what is turned on there.
type Shown struct{ shown }

// Show returns the terminal that screen is, with nothing turned on.
func Show(screen io.Writer) *Shown { return &Shown{shown{screen: screen}} }

// Reset turns off what is on.
func (s *Shown) Reset() {
	_, _ = io.WriteString(s.screen, s.modes.undo()) // fails if the terminal is gone
	s.modes = screenModes{}
}

// Resize gives the guest's terminal the size of the caller's, if there are both.
func (s *Streams) Resize() {
	switch {
	case s.master == nil || s.Terminal == nil:
	case s.Hub == nil:
		// Fails if one of the two terminals is gone, whose size then matters no more.
		_ = s.Terminal.Resize(s.master)
	default:
		if size, err := s.Terminal.size(); err == nil {
			s.Hub.setFront(size)
		}
	}
}

// Reset turns off what the guest has left on of its terminal, after Drain or Detach: the other screen, the mouse, and so on.
func (s *Streams) Reset() {
	if undo := s.shown.modes.undo(); s.master != nil && s.Terminal != nil && undo != "" {
		_, _ = io.WriteString(s.shown.screen, undo) // fails if the terminal is gone
	}
}

// AwaitQuiet waits until the terminal shows what the guest has written on its own. That takes the kernel a moment
// (flush_to_ldisc in drivers/tty/tty_buffer.c), and there may always be more: so until nothing has come for a while.
func (s *Streams) AwaitQuiet() { awaitQuiet(&s.shown.pieces) }

func awaitQuiet(pieces *atomic.Int64) {
	const quiet, limit = 20 * time.Millisecond, 500 * time.Millisecond
	before := pieces.Load()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		time.Sleep(quiet)
		now := pieces.Load()
		if now == before {
			return
		}
		before = now
	}
}

// Hangup takes the guest's terminal away; the kernel sends SIGHUP to its session.
func (s *Streams) Hangup() {
	if s.master != nil {
		s.master.Close()
	}
}

// Drain waits, after the guest has ended, until all of its output is written. It
// returns what went wrong in doing so. It may be called once.
func (s *Streams) Drain() error {
	close(s.ended)
	s.GoOn()
	deadline := time.Now().Add(lingerTime)
	for _, file := range []*os.File{s.relayed[1], s.relayed[2], s.master} {
		if file != nil {
			// Fails on a closed one, which has nothing more to give.
			_ = file.SetReadDeadline(deadline)
		}
	}
	s.outputs.Wait()
	if s.front != nil {
		s.front.queue.end()
	}
	if s.Hub != nil {
		s.Hub.end()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// writer hides os.File's ReadFrom, whose system calls do not suit every file.
type writer struct{ io.Writer }
