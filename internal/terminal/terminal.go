// Package terminal stands between the caller's terminal and streams and the
// guest's, so that the guest never holds the caller's: with a terminal's
// descriptor it could type into it (TIOCSTI, CVE-2017-5226), and with one of a
// host file, even one opened for reading, it could open that file anew for
// writing through /proc/self/fd.
package terminal

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is the caller's terminal.
type Terminal struct {
	// Came is sent to when this process has come to the foreground of the terminal after Raw was called in the background: it is to
	// be called again. Read finds that out.
	Came chan struct{}

	file *os.File
	fd   int // of the file: os.File's own may not be asked for beside a Close
	// wake is an eventfd(2) by which Read looks again whether this process is in the foreground; -1: it looks at the next key.
	wake int
	// lines says that lines appear on the terminal that are not of the guest's terminal, as of a pipeline, and need their
	// carriage returns.
	lines bool

	mu    sync.Mutex
	saved *unix.Termios // GUARDED_BY(mu); what to go back to, nil when not raw
	owed  bool          // GUARDED_BY(mu); it is to become raw
}

// New returns the terminal that file is, or nil if it is none.
func New(file *os.File) *Terminal {
	fd := int(file.Fd())
	if !term.IsTerminal(fd) {
		return nil
	}
	t := &Terminal{file: file, fd: fd, Came: make(chan struct{}, 1)}
	var err error
	if t.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		t.wake = -1
	}
	return t
}

// Close gives up what New has opened. Nothing else may be called any more, or be under way. The file stays open.
func (t *Terminal) Close() {
	unix.Close(t.wake)
	t.wake = -1
}

// Remember has Restore go back to the mode that the terminal has now.
func (t *Terminal) Remember() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if modes, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil { // or it is gone
		t.saved = modes
	}
}

// Raw puts the terminal into raw mode: every key is the guest's. It may be called again, when somebody else may have
// changed the mode. In the background it does nothing but have Came tell: the terminal is somebody else's, and the kernel stops
// whoever tries.
func (t *Terminal) Raw() error {
	front := t.Foreground()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owed = !front; t.owed {
		_, _ = unix.Write(t.wake, binary.NativeEndian.AppendUint64(nil, 1)) // who reads keys takes this process to be in the foreground
		return nil
	}
	found, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err == nil {
		err = unix.IoctlSetTermios(t.fd, unix.TCSETS, t.raw(found))
	}
	if err != nil {
		return fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	if t.saved == nil {
		t.saved = found
	}
	return nil
}

// raw returns the raw mode (cfmakeraw in termios(3)) for a terminal that has the given one.
func (t *Terminal) raw(modes *unix.Termios) *unix.Termios {
	raw := *modes
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	if !t.lines {
		raw.Oflag &^= unix.OPOST
	}
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return &raw
}

// keys has a raw terminal give single keys, and what is written there be lines; the keys of signals are such.
func (t *Terminal) keys() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved == nil {
		return nil // it is not raw
	}
	modes := *t.saved
	modes.Lflag &^= unix.ICANON | unix.ECHO
	modes.Lflag |= unix.ISIG
	modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(t.fd, unix.TCSETS, &modes); err != nil {
		return fmt.Errorf("ask on the terminal: %w", err)
	}
	return nil
}

// Restore puts the terminal back into the mode from before Raw. It may be called
// any number of times, and on nil.
func (t *Terminal) Restore() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed = false
	if t.saved != nil {
		if t.Foreground() {
			// Fails if the terminal is gone; then there is nothing to restore.
			_ = unix.IoctlSetTermios(t.fd, unix.TCSETS, t.saved)
		}
		t.saved = nil
	}
}

// CopyTo gives the guest's terminal, whose master is given, the modes and the size
// of the caller's, which must not be raw yet.
func (t *Terminal) CopyTo(master *os.File) error {
	modes, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read the terminal's modes: %w", err)
	}
	err = control(master, func(fd int) error {
		// On the master this sets the slave's modes (ioctl_tty(2)).
		return unix.IoctlSetTermios(fd, unix.TCSETS, modes)
	})
	if err != nil {
		return fmt.Errorf("set the guest's terminal modes: %w", err)
	}
	return t.Resize(master)
}

// Resize gives the guest's terminal the size of the caller's; the kernel tells
// its foreground processes if that is another one.
func (t *Terminal) Resize(master *os.File) error {
	size, err := t.size()
	if err != nil {
		return err
	}
	err = control(master, func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
	if err != nil {
		return fmt.Errorf("set the guest's terminal size: %w", err)
	}
	return nil
}

func (t *Terminal) size() (*unix.Winsize, error) {
	size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's size: %w", err)
	}
	return size, nil
}

// control calls f with the descriptor, leaving it in the mode it is in;
// os.File.Fd would make it blocking, and Close would no longer end a Read.
func control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
