package fs

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Xattrs returns an object's extended attributes that an overlay shows.
func (h *Host) Xattrs(path string) (map[string][]byte, error) {
	fd, err := h.open(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// The calls on descriptors refuse those of O_PATH; the link in /proc leads to the object itself,
	// even where that is a symbolic link (proc_pid_fd(5)).
	object := fmt.Sprintf("/proc/self/fd/%d", fd)
	names, err := grown(func(buf []byte) (int, error) { return unix.Listxattr(object, buf) })
	if err == unix.EOPNOTSUPP {
		return nil, nil // the host's file system has none
	}
	if err != nil {
		return nil, err
	}
	var xattrs map[string][]byte
	for name := range bytes.SplitSeq(names, []byte{0}) {
		name := string(name)
		if checkXattr(name) != nil {
			continue
		}
		value, err := grown(func(buf []byte) (int, error) { return unix.Getxattr(object, name, buf) })
		switch {
		case err == unix.ENODATA, err == unix.EPERM, err == unix.EACCES:
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

// grown makes a call that fills a buffer, with one that is large enough.
func grown(call func([]byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 256)
	for {
		n, err := call(buf)
		if err == unix.ERANGE && len(buf) < sqlvfs.XattrSizeMax {
			buf = make([]byte, sqlvfs.XattrSizeMax)
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n:n], nil
	}
}
