package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// When art is killed, its locks go at once, but its guest a moment later. Until then it may write to a file that another
// session takes away. So each session notes beside the records which process its guest goes with: the first of the guest's
// process namespace, which ends after all others in it (kernel/pid_namespace.c, zap_pid_ns_processes).

const (
	sessionPrefix = "session."
	// guestGone is for how long the guest of a session that was killed is waited for.
	guestGone = 2 * time.Second
)

// Began notes the process that the session's guest goes with. The guest has not begun.
func (d *Directory) Began(pid int) error {
	if d.records == nil {
		return nil
	}
	fail := func(err error) error { return fmt.Errorf("note the session in the home: %w", hostfs.Unwrap(err)) }
	name := sessionPrefix + strconv.Itoa(pid)
	_ = unix.Unlinkat(int(d.records.Fd()), name, 0) // of a process of that number before
	f, err := hostfs.Create(d.records, name, 0o600)
	if err != nil {
		return fail(err)
	}
	d.sessions = append(d.sessions, f)
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		_, err = f.WriteString(started(pid))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// ended takes the notes away.
func (d *Directory) ended() {
	for _, f := range d.sessions {
		_ = unix.Unlinkat(int(d.records.Fd()), f.Name(), 0)
		f.Close()
	}
	d.sessions = nil
}

// awaitGuests waits for the guests of sessions that were killed.
func (d *Directory) awaitGuests() {
	list, err := hostfs.Open(d.records, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := hostfs.Names(list)
	for _, name := range names {
		number, ok := strings.CutPrefix(name, sessionPrefix)
		if pid, err := strconv.Atoi(number); ok && err == nil && pid > 0 {
			d.awaitGuest(name, pid)
		}
	}
}

func (d *Directory) awaitGuest(name string, pid int) {
	f, err := hostfs.Open(d.records, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return
	}
	defer f.Close()
	if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return // its art lives
	}
	start, err := io.ReadAll(io.LimitReader(f, 64))
	for end := time.Now().Add(guestGone); err == nil && len(start) > 0 && started(pid) == string(start) && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
	_ = unix.Unlinkat(int(d.records.Fd()), name, 0)
}

// started says when a process was started, as the kernel counts it; "" if it has ended.
func started(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	// proc_pid_stat(5): field 2, the name, stands in parentheses and may hold any byte; 3 is the state, 22 the time.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
