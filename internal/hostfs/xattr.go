package hostfs

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/inode"
)

// Xattrs returns those extended attributes of an open object whose names are wanted, but those that the caller may not
// read. It is nil where there are none, as on a file system that has none at all.
func Xattrs(fd int, wanted func(name string) bool) (map[string][]byte, error) {
	object := ProcPath(fd) // the calls on descriptors refuse those of O_PATH
	names, err := grow(func(buf []byte) (int, error) { return unix.Listxattr(object, buf) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var xattrs map[string][]byte
	for name := range bytes.SplitSeq(names, []byte{0}) {
		name := string(name)
		if name == "" || !wanted(name) {
			continue
		}
		value, err := grow(func(buf []byte) (int, error) { return unix.Getxattr(object, name, buf) })
		switch {
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
			continue // removed meanwhile, or not ours to read
		case err != nil:
			return nil, err
		}
		if xattrs == nil {
			xattrs = map[string][]byte{}
		}
		xattrs[name] = value
	}
	return xattrs, nil
}

// Xattr returns one extended attribute of an open object, which may have been opened with O_PATH, or nil if it has none of
// that name.
func Xattr(f *os.File, name string) ([]byte, error) {
	value, err := grow(func(buf []byte) (int, error) { return unix.Getxattr(Path(f), name, buf) })
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	return value, err
}

// grow makes a call that fills a buffer, with one that is large enough.
func grow(call func([]byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 256)
	for {
		n, err := call(buf)
		if errors.Is(err, unix.ERANGE) && len(buf) < inode.XattrSizeMax {
			buf = make([]byte, inode.XattrSizeMax)
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n:n], nil
	}
}
