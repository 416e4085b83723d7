package sqlvfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// Writer tells whether a process has a database open for writing, and which that is (0: unknown). The error is that of
// opening the file.
func Writer(path string) (pid int, open bool, err error) {
	if database.IsRemote(path) {
		return 0, false, nil
	}
	return lock.Writer(path)
}

// Await waits for a process that is about to close a database, as [Open] does, and tells waiting, which may be nil. One that stays is an
// [*InUseError] at once.
func Await(path string, waiting func(pid int)) error {
	return database.UnwrapPath(lock.Await(path, waiting))
}

// CloseHeld is [Store.Close], but nobody else writes the database until the file that it returns is closed, also by the end of the process.
// Who wants to waits, as for one that is about to close it.
func (s *Store) CloseHeld() (*os.File, error) {
	fd, err := unix.FcntlInt(s.lockFile.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	held := os.NewFile(uintptr(fd), s.path)
	if err := s.Close(); err != nil {
		held.Close()
		return nil, err
	}
	return held, nil
}

// Remove removes a database and what SQLite keeps beside it, unless a process has it open for writing: then the error
// is an [*InUseError].
func Remove(path string) error {
	f, err := lock.Take(path, nil)
	if err != nil {
		return database.UnwrapPath(err)
	}
	defer f.Close()
	// The database goes last: what was left of it alone would be taken for whole.
	for _, suffix := range []string{"-shm", "-wal", "-journal", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return database.UnwrapPath(err)
		}
	}
	return nil
}

// Rename gives a database another path in the same file system, where there is nothing yet (else syscall.EEXIST). The
// error is an [*InUseError] when a process has it open for writing, and [ErrBeingRead] when a session that was killed has
// left its log.
func Rename(path, to string) error {
	f, err := lock.Take(path, nil)
	if err != nil {
		return database.UnwrapPath(err)
	}
	defer f.Close()
	// A log that was left behind goes by the name of its database, and would be another's.
	if st, err := os.Lstat(path + "-wal"); err == nil && st.Size() > 0 {
		return fmt.Errorf("%w: a session that was killed has left %s-wal", ErrBeingRead, path)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + suffix) // they are empty, or made anew
	}
	return nil
}
