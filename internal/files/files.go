// Package files gives the guest single files of the host in its home, as files like any other there: programs replace
// them by rename(2), which the kernel refuses for what is mounted (fs/namei.c, d_is_local_mountpoint in vfs_rename).
//
// In a home that the database has, package filetree is the guest's side, in art-fuse: it puts each file into the tree before
// a session, and takes it away afterwards. A [Host] is the host's side, in art: it opens the files, looks whether somebody
// changes them, and writes what the guest has written, since art-fuse has no rights on the host. Content goes between the
// two as open files, over a socket, as a [Message] each:
//
//	art to art-fuse     file N        the host's file, first and whenever it has changed
//	art-fuse to art     wrote N       what the guest has written; answered by
//	art to art-fuse     done N, failed N
//	art-fuse to art     removed N     the guest has removed the file
//	art-fuse to art     other N       the guest has put something else there
//
// In a home that is a plain directory a [Directory] is both sides, in art. It compares content, since other sessions may
// follow the same file, and one that was killed may have left something to be done.
package files

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// MaxSize is how large a file may be, which is copied whole each time.
const MaxSize = 16 << 20

const (
	// Quiet is for how long nothing is to change in a home before what has changed is looked at, and waitMost for how long
	// that may be put off.
	Quiet, waitMost = 20 * time.Millisecond, 500 * time.Millisecond
)

// Settle waits until nothing has changed for a moment, or until it is stopped.
func Settle(changed, stop <-chan struct{}) {
	end := time.After(waitMost)
	for {
		select {
		case <-changed:
		case <-stop:
			return
		case <-end:
			return
		case <-time.After(Quiet):
			return
		}
		time.Sleep(time.Millisecond) // who writes all the time is not followed step by step
	}
}

// File is a file of the host's in a tree of the database.
type File struct {
	Path    string // in the tree, relative to its root
	Overlay bool   // what the guest makes of it stays in the tree
}

// Place is a mount point in a tree of the database.
type Place struct {
	Path      string
	Directory bool
}

// Content reads a file from its beginning, if that is not too large.
func Content(f *os.File) (data []byte, st unix.Stat_t, err error) {
	if err = unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, fmt.Errorf("it is not a regular file")
	}
	data, err = io.ReadAll(io.NewSectionReader(f, 0, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		data, err = nil, ErrTooLarge
	}
	return data, st, err
}

// ErrTooLarge is the error of a file larger than MaxSize.
var ErrTooLarge = fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
