package sync

import (
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sync/reading"
)

// setXattrs gives an open file the user's extended attributes that the guest's has, and no others.
func (p *planner) setXattrs(f *os.File, a *item) error {
	var want map[string]string
	var err error
	if a.node != nil {
		want = a.xattrs
	} else if want, err = reading.XattrsOf(p.openSource(a)); err != nil {
		return err
	}
	have, err := reading.Xattrs(f)
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
