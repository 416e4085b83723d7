package database

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// Inspect looks at the file before SQLite does, and creates it with create. It reports whether there
// is no tree in it yet.
func Inspect(path string, readOnly, create bool) (fresh bool, err error) {
	if IsRemote(path) {
		if !readOnly {
			return false, fmt.Errorf("%w: it is a copy at another place", ErrReadOnly)
		}
		return false, nil // SQLite looks at the same
	}
	mode := os.O_RDWR
	if readOnly {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(path, mode|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && create && !readOnly {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	}
	if !readOnly && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		if _, statErr := os.Stat(path); statErr == nil {
			return false, fmt.Errorf("%w: %v", ErrReadOnly, UnwrapPath(err))
		}
	}
	if errors.Is(err, syscall.EISDIR) {
		return false, fmt.Errorf("%w: it is a directory", ErrNotDatabase)
	}
	if err != nil {
		return false, UnwrapPath(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !st.Mode().IsRegular() {
		return false, fmt.Errorf("%w: it is not a regular file", ErrNotDatabase)
	}
	// SQLite looks for the log beside the name by which it opens the file (https://sqlite.org/howtocorrupt.html, section 2.2.1).
	if n := st.Sys().(*syscall.Stat_t).Nlink; n > 1 && int(n) != 1+namesOfRepair(path, st) {
		return false, fmt.Errorf("%w (it has %d hard links): what was written last may be in a log beside another one; copy it, or remove the other names", ErrNames, n)
	}
	if st.Size() == 0 {
		if !create {
			return false, ErrEmpty
		}
		return true, nil
	}
	// The header's offsets are those of https://sqlite.org/fileformat2.html, section 1.3.
	var h [100]byte
	if _, err := io.ReadFull(f, h[:]); err != nil || string(h[:16]) != "SQLite format 3\x00" {
		if create && wasEmpty(path) {
			return true, nil
		}
		return false, ErrNotDatabase
	}
	app, version := binary.BigEndian.Uint32(h[68:]), binary.BigEndian.Uint32(h[60:])
	switch {
	case app == ApplicationID && version > SchemaVersion:
		return false, newerError(int64(version))
	case app != ApplicationID && app != 0:
		return false, foreignError(int64(app))
	}
	return false, nil
}

// wasEmpty tells whether the database was just being made when the power failed, or the process was
// killed: then a rollback journal says that the file had no pages, and SQLite will empty it again.
// The journal's header is that of https://sqlite.org/fileformat2.html, section 3.
func wasEmpty(path string) bool {
	f, err := os.OpenFile(path+"-journal", os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var h [20]byte
	_, err = io.ReadFull(f, h[:])
	return err == nil && string(h[:8]) == "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" && binary.BigEndian.Uint32(h[16:]) == 0
}

// ConnectReadOnly opens a connection to a database that this process does not write to, and leaves
// nothing beside it.
func ConnectReadOnly(path, query string) (*Conn, error) {
	if IsRemote(path) {
		return Connect(path, sqlite3.OPEN_READONLY, remoteFiles)
	}
	if syscall.Access(filepath.Dir(path), 2) != nil {
		// Without a writer there may be no -wal, and here none can be made: then nobody else can
		// change the file either.
		if _, err := os.Stat(path + "-wal"); err != nil {
			return Connect(path, sqlite3.OPEN_READONLY, query+"&immutable=1")
		}
		return Connect(path, sqlite3.OPEN_READONLY, query)
	}
	if syscall.Access(path, 2) != nil {
		return Connect(path, sqlite3.OPEN_READONLY, query)
	}
	// SQLite makes its log and index for readers too, and only a connection that may write removes
	// them again. So it may, where it can; query_only keeps it from doing anything else, and Close
	// from copying a log into the file.
	c, err := Connect(path, sqlite3.OPEN_READWRITE, query)
	if err != nil {
		return nil, err
	}
	c.reads = path
	if err := c.Exec("PRAGMA query_only=ON"); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// logSuffixes are added to a database's path for the files that SQLite has beside it.
var logSuffixes = []string{"-wal", "-shm", "-journal"}

func RemoveFiles(path string) {
	os.Remove(path)
	for _, suffix := range logSuffixes {
		os.Remove(path + suffix)
	}
}

// BeforeRepair is how a damaged database is called beside the repaired one that takes its name: the first, and those of later repairs.
func BeforeRepair(path string, i int) string {
	name := path + ".before-repair"
	if i > 1 {
		name = fmt.Sprintf("%s-%d", name, i)
	}
	return name
}

// namesOfRepair counts the names that a repair gave the file which it did not come to replace, since it was killed.
func namesOfRepair(path string, st fs.FileInfo) (n int) {
	for i := 1; ; i++ {
		other, err := os.Lstat(BeforeRepair(path, i))
		if err != nil {
			return n
		}
		if os.SameFile(st, other) {
			n++
		}
	}
}
