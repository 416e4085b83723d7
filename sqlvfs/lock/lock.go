// Package lock is who writes a database. It works on the file alone, so that a program that only asks does not carry SQLite
// along.
package lock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A process that is about to close a database may take long to write what is left. It says so
	// by a lock on this byte, which is beyond those that SQLite locks
	// (https://sqlite.org/src/file/src/os.h, PENDING_BYTE) and goes with the process too.
	leavingByte = 0x40000000 + 1024

	// Grace is how long a writer is given to begin to leave. An unmounted file system's server
	// hears of it only after umount(8) has returned.
	Grace = time.Second
	// leavingTime is how long one that leaves is waited for.
	leavingTime = time.Minute
)

// InUseError says that another process has a database open for writing.
type InUseError struct {
	PID int // of that process; 0 when it cannot be told
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return "database is in use by another session"
	}
	return fmt.Sprintf("database is in use by another session (process %d)", e.PID)
}

// Writer tells whether a process has a database open for writing, and which that is (0: unknown). The error is that of
// opening the file.
func Writer(path string) (pid int, open bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, false, errors.Unwrap(err) // without the path
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return holder(f), true, nil
	}
	return 0, false, err
}

// Await waits for a writer that is about to close the database, as Take does. One that stays is an [*InUseError] at once.
func Await(path string, waiting func(pid int)) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if isLeaving(f) {
		taken, err := Take(path, waiting)
		if err != nil {
			return err
		}
		return taken.Close()
	}
	pid, open, err := Writer(path)
	if open {
		return &InUseError{PID: pid}
	}
	return err
}

// Take makes this process the database's only writer, until the file is closed or the
// process dies in whatever way: nothing is left that could be stale. flock(2) does not mix with the
// byte-range locks that SQLite takes on the same file (flock(2), NOTES), so readers are not
// affected. A writer that is leaving is waited for; waiting, which may be nil, is told once.
func Take(path string, waiting func(pid int)) (*os.File, error) {
	stays := false // the writer did not leave when it was looked at last; it may have closed the file just before
	for start := time.Now(); ; {
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		// A repair may have put another file in its place between the two calls.
		if err == nil && isAt(f, path) {
			return f, nil
		}
		pid, leaving := holder(f), isLeaving(f)
		f.Close()
		waited := time.Since(start)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, fmt.Errorf("lock: %w", err)
		case waited > leavingTime || waited > Grace && !leaving && stays:
			return nil, &InUseError{PID: pid}
		case leaving && waiting != nil:
			waiting(pid)
			waiting = nil
		}
		stays = !leaving
		time.Sleep(10 * time.Millisecond)
	}
}

// SayLeaving lets those who want to write know that this process is about to close the file. If it
// cannot, they are told that the database is in use.
func SayLeaving(f *os.File) {
	_ = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: leavingByte, Len: 1})
}

// isLeaving tells whether another process has said so.
func isLeaving(f *os.File) bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: leavingByte, Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock) == nil && lock.Type == unix.F_RDLCK
}

// isAt tells whether a path leads to a file that is open.
func isAt(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(have, there)
}

// holder finds who holds the flock on a file, or returns 0. The kernel gives /proc/locks a page at a time and counts its
// lines from the beginning for each (seq_read_iter in fs/seq_file.c), so a lock that ends meanwhile hides the line of
// another: what is not found is looked for again.
func holder(f *os.File) int {
	var st syscall.Stat_t
	if syscall.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	for range 3 {
		if pid := holderOf(st.Ino); pid != 0 {
			return pid
		}
	}
	return 0
}

// holderOf looks through /proc/locks once. A line of it reads "1: FLOCK  ADVISORY  WRITE 4711 fd:01:131 0 EOF" (proc(5)).
func holderOf(ino uint64) int {
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	inode := ":" + strconv.FormatUint(ino, 10)
	for sc := bufio.NewScanner(locks); sc.Scan(); {
		w := strings.Fields(sc.Text())
		if len(w) >= 6 && w[1] == "FLOCK" && strings.HasSuffix(w[5], inode) {
			pid, _ := strconv.Atoi(w[4])
			return max(pid, 0)
		}
	}
	return 0
}
