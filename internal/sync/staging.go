package sync

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// stagingPrefix begins the name of the directory, at the top of the workspace, in which a pull
// gathers what it is about to put in place. It is there because a rename cannot cross file systems.
const stagingPrefix = ".art-pull-"

// isStaging tells whether a path below the workspace is such a directory.
func isStaging(rel string) bool {
	return strings.HasPrefix(rel, stagingPrefix) && !strings.Contains(rel, "/")
}

// staging is a directory that this process alone works in. It holds a lock on it as long as it
// lives, so that another pull can tell it from one whose process was killed.
type staging struct {
	host *host
	dir  *os.File
	name string
	last int
	top  sqlvfs.Attr // of the workspace's directory, before this one was made in it
}

func newStaging(h *host) (*staging, error) {
	s := &staging{host: h, name: stagingPrefix + rand.Text()}
	st, err := fstat(h.dir)
	if err != nil {
		return nil, err
	}
	s.top = attrOf(&st)
	top := int(h.dir.Fd())
	if err := unix.Mkdirat(top, s.name, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", s.name, err)
	}
	if s.dir, err = h.openDir(s.name); err == nil {
		err = unix.Flock(int(s.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		unix.Unlinkat(top, s.name, unix.AT_REMOVEDIR)
		return nil, fmt.Errorf("open %s: %w", s.name, err)
	}
	return s, nil
}

// next returns a name that is not in use.
func (s *staging) next() string {
	s.last++
	return strconv.Itoa(s.last)
}

// create makes an empty file that only its owner can open.
func (s *staging) create(name string) (*os.File, error) {
	fd, err := unix.Openat(int(s.dir.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// discard removes what was staged under a name.
func (s *staging) discard(name string) { unix.Unlinkat(int(s.dir.Fd()), name, 0) }

// remove ends the staging directory with whatever is still in it. The workspace's times become
// again what they were before; a pull that came to its end sets them anew.
func (s *staging) remove() {
	clearStaging(s.host, s.dir, s.name)
	s.dir.Close()
	setTimes(s.host.dir, &s.top)
}

// clearStaging removes a staging directory. It is flat, and nothing in it is followed; what is not
// of a pull's making (a directory) stays, and the directory with it.
func clearStaging(h *host, dir *os.File, name string) {
	dir.Seek(0, 0)
	names, _ := entries(dir)
	for _, n := range names {
		unix.Unlinkat(int(dir.Fd()), n, 0)
	}
	unix.Unlinkat(int(h.dir.Fd()), name, unix.AT_REMOVEDIR)
}

// sweepStaging removes what pulls left that were killed.
func sweepStaging(h *host) error {
	top, err := h.openDir(".")
	if err != nil {
		return err
	}
	defer top.Close()
	names, err := entries(top)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isStaging(name) {
			continue
		}
		d, err := h.openDir(name)
		if err != nil {
			continue // not a directory of ours, or not for us to open
		}
		if unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			clearStaging(h, d, name)
		}
		d.Close()
	}
	return nil
}
