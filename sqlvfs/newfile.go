package sqlvfs

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// newFile is a database file in the making, for its owner alone. It has another name until it is
// whole, and never takes the place of a file that is there without being told to.
type newFile struct{ tmp, path string }

// makeNew begins a file that is to be path one day.
func makeNew(path string) (*newFile, error) {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(filepath.Clean(dir+"."), "."+name+".*") // 0600
	if err != nil {
		return nil, unwrapPath(err)
	}
	return &newFile{f.Name(), path}, f.Close()
}

// place gives the file its name, durably. With replace it takes the place of the one that has it;
// otherwise the error is fs.ErrExist when there is one.
func (n *newFile) place(replace bool) error {
	f, err := os.Open(n.tmp)
	if err != nil {
		return err
	}
	err = f.Sync()
	f.Close()
	if err != nil {
		return err
	}
	if replace {
		err = os.Rename(n.tmp, n.path)
	} else {
		err = renameNew(n.tmp, n.path)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(n.path))
}

// discard removes what was made, if it has not got its name.
func (n *newFile) discard() {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(n.tmp + suffix)
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
