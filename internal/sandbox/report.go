package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// exitReport is the pipe to which bubblewrap writes what it has to report: first which process it has started, and when that
// has ended its exit code, right before it ends itself (monitor_child in bubblewrap.c). With it goes all that is left in the
// guest. As long as there is no room in the pipe it waits for that, and so it ends when art lets it.
type exitReport struct {
	r    *os.File
	w    *os.File // art's own end, until the pipe is full
	text []byte   // what was read
}

// newReport makes the pipe, and returns the end of it for bubblewrap.
func (s *session) newReport() (*os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	w := os.NewFile(uintptr(p[1]), "report")
	own, err := duplicate(w)
	if err != nil {
		w.Close()
		unix.Close(p[0])
		return nil, err
	}
	s.exitReport = &exitReport{r: os.NewFile(uintptr(p[0]), "report"), w: own}
	return w, nil
}

// hold fills the pipe, with spaces: JSON may have any number of them. Bubblewrap has said what it has started by then, as
// that does not begin before.
func (e *exitReport) hold() error {
	defer e.close()
	size, err := unix.FcntlInt(e.w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		return fmt.Errorf("fill the pipe for the exit code: %w", err)
	}
	// Another open file, as bubblewrap is to wait where this does not.
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", e.w.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("fill the pipe for the exit code: %w", err)
	}
	defer unix.Close(fd)
	spaces := bytes.Repeat([]byte(" "), size)
	for n := size; n > 0; n /= 2 {
		for err = nil; err == nil; {
			_, err = unix.Write(fd, spaces[:n])
		}
		if !errors.Is(err, unix.EAGAIN) {
			return fmt.Errorf("fill the pipe for the exit code: %w", err)
		}
	}
	return nil
}

// release makes room in the pipe. It may be called again.
func (e *exitReport) release() {
	buf := make([]byte, 64<<10)
	ready := []unix.PollFd{{Fd: int32(e.r.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(ready, 0); err == nil && n > 0 {
		n, _ := e.r.Read(buf) // the end is the end of exitCode
		e.text = append(e.text, buf[:max(n, 0)]...)
	}
}

// exitCode returns the exit code of bubblewrap's child, if there was one, when bubblewrap has ended.
func (e *exitReport) exitCode() (code int, ok bool) {
	e.close()
	rest, _ := io.ReadAll(e.r) // what could be read is what there is
	e.r.Close()
	return exitCode(append(e.text, rest...))
}

func (e *exitReport) close() {
	if e.w != nil {
		e.w.Close()
		e.w = nil
	}
}

// drop gives up the report of a sandbox that has not begun.
func (e *exitReport) drop() {
	if e != nil {
		e.close()
		e.r.Close()
	}
}

// exitStatus returns the payload's exit code, once the sandbox has ended, if it ran.
func (s *session) exitStatus() (code int, known bool) {
	if s.exitReport == nil {
		return 0, false // there was none to the end
	}
	code, known = s.exitReport.exitCode()
	s.exitReport = nil
	return code, known && s.guest != nil
}

// exitCode returns the payload's exit code out of bubblewrap's reports, which are
// JSON objects one after the other. There is none if the payload never ran.
func exitCode(status []byte) (code int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(status))
	for {
		var report struct {
			ExitCode *int `json:"exit-code"`
		}
		if err := d.Decode(&report); err != nil {
			return code, ok
		}
		if report.ExitCode != nil {
			code, ok = *report.ExitCode, true
		}
	}
}
