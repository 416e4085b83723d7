package sqlvfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// logFiles are the files beside an open database, by which a sandbox's maker hides them. They are
// made before SQLite is asked for anything, so that the maker need not wait for it. It uses the ones that it
// finds, empty ones too, and removes them like its own: "the WAL file exists for as long as any
// database connection has the database open" (https://www.sqlite.org/wal.html).
//
// Another connection that is closed, and believes to be the last, removes them. It needs the database
// for itself for that, so it is held like a reader holds it until the store's own connection does
// (https://www.sqlite.org/lockingv3.html, section 3: SHARED).
type logFiles struct {
	db    *os.File
	files []os.FileInfo
	made  []string
}

// sharedBytes are those on which a reader has a lock (https://sqlite.org/src/file/src/os.h).
func sharedBytes(kind int16) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Start: 0x40000002, Len: 510}
}

// placeLogFiles makes the log and its index for a database that is in WAL mode, which is open as db;
// for another it returns nil: SQLite would remove them. So it would beside a rollback journal that
// takes the database back to when it was empty (https://www.sqlite.org/lockingv3.html, section 4.0).
func placeLogFiles(db *os.File, path string) (*logFiles, error) {
	if _, err := os.Lstat(path + "-journal"); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	// File format write and read version (https://sqlite.org/fileformat2.html, section 1.3.3).
	var versions [2]byte
	if _, err := db.ReadAt(versions[:], 18); err != nil || versions != [2]byte{2, 2} {
		return nil, nil // SQLite tells what is wrong with it, if something is
	}
	if err := unix.FcntlFlock(db.Fd(), unix.F_OFD_SETLK, sharedBytes(unix.F_RDLCK)); err != nil {
		return nil, nil // another process is closing it
	}
	whole, err := db.Stat()
	if err != nil {
		return nil, database.UnwrapPath(err)
	}
	b := &logFiles{db: db}
	for _, suffix := range []string{"-wal", "-shm"} {
		name := path + suffix
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		switch {
		case err == nil:
			b.made = append(b.made, name)
			f.Close()
		case !errors.Is(err, fs.ErrExist):
			b.withdraw()
			return nil, database.UnwrapPath(err)
		default:
			narrow(name, whole.Mode())
		}
		info, err := os.Lstat(name)
		if err != nil {
			b.withdraw()
			return nil, database.UnwrapPath(err)
		}
		b.files = append(b.files, info)
	}
	return b, nil
}

// narrow takes from a file beside a database the permissions that the database itself does not give: a
// killed process may have left them. Another user's file keeps them.
func narrow(name string, db fs.FileMode) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Mode().Perm()&^db.Perm() != 0 {
		_ = f.Chmod(st.Mode().Perm() & db.Perm())
	}
}

// madeLog tells whether the log is a new file.
func (b *logFiles) madeLog() bool {
	return b != nil && slices.ContainsFunc(b.made, func(name string) bool { return strings.HasSuffix(name, "-wal") })
}

// release ends the hold: the store's own connection has the database open, or there will be none.
func (b *logFiles) release() {
	if b != nil {
		_ = unix.FcntlFlock(b.db.Fd(), unix.F_OFD_SETLK, sharedBytes(unix.F_UNLCK)) // cannot fail
	}
}

// check returns an error if SQLite, or anyone, has put other files in their place.
func (b *logFiles) check(path string) error {
	if b == nil {
		return nil
	}
	for i, suffix := range []string{"-wal", "-shm"} {
		if now, err := os.Lstat(path + suffix); err != nil || !os.SameFile(b.files[i], now) {
			return fmt.Errorf("%s%s was replaced while the database was opened", path, suffix)
		}
	}
	return nil
}

// withdraw removes what was made and never used, unless another connection has the database open. The
// writer's lock is held, and the store's connections are closed.
func (b *logFiles) withdraw() {
	if b == nil {
		return
	}
	defer b.release()
	if unix.FcntlFlock(b.db.Fd(), unix.F_OFD_SETLK, sharedBytes(unix.F_WRLCK)) != nil {
		return // it removes them in the end
	}
	for _, name := range b.made { // the log first, whose index says nothing without it
		if info, err := os.Lstat(name); err != nil || strings.HasSuffix(name, "-wal") && info.Size() > 0 {
			return
		}
		os.Remove(name)
	}
}
