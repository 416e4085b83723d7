package database

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
)

// NewFile is a database file in the making, for its owner alone. It has another name until it is
// whole, and never takes the place of a file that is there without being told to.
type NewFile struct{ Tmp, Path string }

// MakeNew begins a file that is to be path one day.
func MakeNew(path string) (*NewFile, error) {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(filepath.Clean(dir+"."), "."+name+".*") // 0600
	if err != nil {
		return nil, UnwrapPath(err)
	}
	return &NewFile{f.Name(), path}, f.Close()
}

// Place gives the file its name, durably. With replace it takes the place of the one that has it;
// otherwise the error is fs.ErrExist when there is one.
func (n *NewFile) Place(replace bool) error {
	f, err := os.Open(n.Tmp)
	if err != nil {
		return err
	}
	err = f.Sync()
	f.Close()
	if err != nil {
		return err
	}
	if replace {
		err = os.Rename(n.Tmp, n.Path)
	} else {
		err = renameNew(n.Tmp, n.Path)
	}
	if err != nil {
		return err
	}
	return diskvfs.SyncDir(filepath.Dir(n.Path))
}

// Discard removes what was made, if it has not got its name.
func (n *NewFile) Discard() {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(n.Tmp + suffix)
	}
}

// renameNew is rename(2) that replaces nothing.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // not every file system knows the flag (rename(2))
		if err = os.Link(from, to); err == nil {
			err = os.Remove(from)
		}
	}
	return err
}
