package sqlvfs

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockWriter makes this process the database's only writer, until the file is closed or the
// process dies in whatever way. flock(2) does not mix with the byte-range locks that SQLite takes
// on the same file (flock(2), NOTES), so readers are not affected.
func lockWriter(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			defer f.Close()
			if err == syscall.EWOULDBLOCK {
				return nil, &InUseError{PID: lockHolder(f)}
			}
			return nil, fmt.Errorf("lock: %w", err)
		}
		// A repair may have put another file in its place between the two calls.
		if isAt(f, path) {
			return f, nil
		}
		f.Close()
	}
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

// lockHolder finds who holds the flock on a file, or returns 0. A line of /proc/locks reads
// "1: FLOCK  ADVISORY  WRITE 4711 fd:01:131 0 EOF" (proc(5)).
func lockHolder(f *os.File) int {
	var st syscall.Stat_t
	if syscall.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for sc := bufio.NewScanner(locks); sc.Scan(); {
		w := strings.Fields(sc.Text())
		if len(w) >= 6 && w[1] == "FLOCK" && strings.HasSuffix(w[5], inode) {
			pid, _ := strconv.Atoi(w[4])
			return max(pid, 0)
		}
	}
	return 0
}
