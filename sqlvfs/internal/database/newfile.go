package database

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

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

// Read returns what the file holds, up to most bytes. Of a longer one the error is [ErrCorrupt].
func (n *NewFile) Read(most int64) ([]byte, error) {
	f, err := os.Open(n.Tmp)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("%w: more than %d bytes go into a new file", ErrCorrupt, most)
	}
	return data, err
}

// sparseBlock is the least that a file system leaves out of a file.
const sparseBlock = 4096

// Write has the file hold some data. Where that is zero it takes no room on the disk.
func (n *NewFile) Write(data []byte) error {
	f, err := os.OpenFile(n.Tmp, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Truncate(int64(len(data)))
	for at := 0; at < len(data) && err == nil; at += sparseBlock {
		block := data[at:min(at+sparseBlock, len(data))]
		if slices.ContainsFunc(block, func(b byte) bool { return b != 0 }) {
			_, err = f.WriteAt(block, int64(at))
		}
	}
	return errors.Join(err, f.Close())
}

// Place gives the file its name, durably. With replace it takes the place of the one that has it;
// otherwise the error is fs.ErrExist when there is one.
func (n *NewFile) Place(replace bool) error {
	if err := n.sync(); err != nil {
		return err
	}
	rename := renameNew
	if replace {
		rename = os.Rename
	}
	if err := rename(n.Tmp, n.Path); err != nil {
		return err
	}
	return diskvfs.SyncDir(filepath.Dir(n.Path))
}

// PlaceAll gives files their names as Place without replace does, all of them or none; some, if it is killed.
func PlaceAll(files []*NewFile) error {
	var group sync.WaitGroup // the disk writes them together
	errs := make([]error, len(files))
	for i, n := range files {
		group.Go(func() { errs[i] = n.sync() })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	dirs := map[string]bool{}
	for i, n := range files {
		if err := renameNew(n.Tmp, n.Path); err != nil {
			removeAll(files[:i])
			return err
		}
		dirs[filepath.Dir(n.Path)] = true
	}
	for dir := range dirs {
		if err := diskvfs.SyncDir(dir); err != nil {
			removeAll(files)
			return err
		}
	}
	return nil
}

// removeAll removes files that have just got their names.
func removeAll(files []*NewFile) {
	for _, n := range files {
		os.Remove(n.Path)
	}
}

func (n *NewFile) sync() error {
	f, err := os.Open(n.Tmp)
	if err != nil {
		return err
	}
	err = f.Sync()
	f.Close()
	return err
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
			if err = os.Remove(from); err != nil {
				os.Remove(to)
			}
		}
	}
	return err
}
