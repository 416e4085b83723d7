package sqlvfs

import (
	"io"
	"syscall"
)

// The host's directory as copies of it are made (copyhost.go): what an overlay shows of it.

// HostTree is a directory of the host, to copy from. Errors are syscall.Errno, and ENOENT for what is not there to be shown.
type HostTree interface {
	// Describe returns what an overlay shows of an object, but for content.
	Describe(path string) (*HostObject, error)
	// Names returns a directory's entries.
	Names(path string) ([]string, error)
	// Inode returns the type of an object, as of its mode, and its inode number on the host.
	Inode(path string) (mode uint32, ino uint64, err error)
	// Content opens a regular file.
	Content(path string) (HostContent, error)
}

// NoHost is a HostTree of which nothing can be read.
type NoHost struct{}

// Describe implements HostTree.
func (NoHost) Describe(string) (*HostObject, error) { return nil, syscall.ESTALE }

// Names implements HostTree.
func (NoHost) Names(string) ([]string, error) { return nil, syscall.ESTALE }

// Inode implements HostTree.
func (NoHost) Inode(string) (uint32, uint64, error) { return 0, 0, syscall.ESTALE }

// Content implements HostTree.
func (NoHost) Content(string) (HostContent, error) { return nil, syscall.ESTALE }

// HostObject is an object of the host.
type HostObject struct {
	Attr
	Fingerprint Fingerprint
	Number      uint64 // that an overlay shows for it
	Target      string // of a symbolic link
	Xattrs      map[string][]byte
}

// HostContent is an open file of the host.
type HostContent interface {
	io.ReaderAt
	io.Closer
	Version() (Fingerprint, error) // that it is now
}

// hostError is an error of the host's.
type hostError struct{ error }

func (e hostError) Unwrap() error { return e.error }

// unchangedFrom makes sure that what was read of a file is of one version.
func unchangedFrom(f HostContent, was *Fingerprint) error {
	now, err := f.Version()
	if err == nil && now != *was {
		err = ErrBaseChanged
	}
	if err != nil {
		err = hostError{err}
	}
	return err
}
