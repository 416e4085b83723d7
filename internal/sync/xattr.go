package sync

import (
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Extended attributes of files in the namespace of users (xattr(7)) are part of what is moved. The
// other namespaces give rights on the host, or belong to it.
const userXattr = "user."

// userXattrs reads the user's extended attributes of an open file. A file system without any has
// none.
func userXattrs(f *os.File) (map[string]string, error) {
	fd := int(f.Fd())
	var list [sqlvfs.XattrListMax]byte
	n, err := unix.Flistxattr(fd, list[:])
	if n == 0 || err == unix.ENOTSUP {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var attrs map[string]string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, userXattr) {
			continue
		}
		value := make([]byte, sqlvfs.XattrSizeMax)
		n, err := unix.Fgetxattr(fd, name, value)
		if err == unix.ENODATA {
			continue // removed since
		}
		if err != nil {
			return nil, err
		}
		if attrs == nil {
			attrs = map[string]string{}
		}
		attrs[name] = string(value[:n])
	}
	return attrs, nil
}

// setXattrs gives an open file the user's extended attributes that the guest's has, and no others.
func (p *planner) setXattrs(f *os.File, a *item) error {
	var want map[string]string
	var err error
	if a.node != nil {
		want = a.xattrs
	} else if want, err = xattrsOf(p.openSource(a)); err != nil {
		return err
	}
	have, err := userXattrs(f)
	if err != nil || maps.Equal(have, want) {
		return err
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := unix.Fremovexattr(int(f.Fd()), name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		err := unix.Fsetxattr(int(f.Fd()), name, []byte(want[name]), 0)
		if err == unix.ENOTSUP {
			p.report.note(p.hostPath(a.path), "extended attributes are left out: its file system has none")
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// xattrsOf closes a file that was opened for its extended attributes, which it returns.
func xattrsOf(f *os.File, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return userXattrs(f)
}
