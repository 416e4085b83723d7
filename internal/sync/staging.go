package sync

import (
	"crypto/rand"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// stagingPrefix begins the name of the directory, at the top of the workspace, in which a pull
// gathers what it is about to put in place. It is there because a rename cannot cross file systems.
const stagingPrefix = ".art-pull-"

// isStaging tells whether a path below the workspace is such a directory. There is one elsewhere only
// for a moment, where another file system is mounted (trial.go).
func isStaging(rel string) bool { return strings.HasPrefix(path.Base(rel), stagingPrefix) }

// staging is a directory that this process alone works in. It holds a lock on it as long as it
// lives, so that another pull can tell it from one whose process was killed.
type staging struct {
	in   *os.File // the directory that it is in
	dir  *os.File
	name string
	last int
	was  sqlvfs.Attr // of the directory that it is in, before it was made there
}

func newStaging(in *os.File) (*staging, error) {
	s := &staging{in: in, name: stagingPrefix + rand.Text()}
	st, err := fstat(in)
	if err != nil {
		return nil, err
	}
	s.was = attrOf(&st)
	if err := unix.Mkdirat(int(in.Fd()), s.name, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", s.name, err)
	}
	if s.dir, err = openStaging(in, s.name); err == nil {
		// What is made here is to have the access control list of the place where it goes, see acl.go.
		unix.Fremovexattr(int(s.dir.Fd()), defaultList)
		err = unix.Flock(int(s.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		unix.Unlinkat(int(in.Fd()), s.name, unix.AT_REMOVEDIR)
		return nil, fmt.Errorf("open %s: %w", s.name, err)
	}
	return s, nil
}

func openStaging(in *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// next returns a name that is not in use.
func (s *staging) next() string {
	s.last++
	return strconv.Itoa(s.last)
}

// parent opens the directory that holds a staged path, and returns the path's last name. Who shares
// the workspace may exchange what is in it for a link, which is not followed.
func (s *staging) parent(tmp string) (*os.File, string, error) {
	at, name := path.Split(tmp)
	if at == "" {
		return s.dir, name, nil
	}
	d, err := openBeneath(s.dir, at, unix.O_PATH|unix.O_DIRECTORY)
	return d, name, err
}

// done closes what parent has opened.
func (s *staging) done(d *os.File) {
	if d != s.dir {
		d.Close()
	}
}

// create makes an empty file that only its owner can open.
func (s *staging) create(name string) (*os.File, error) { return createAt(s.dir, name, 0o600) }

func createAt(d *os.File, name string, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// discard removes what was staged under a name, if anything was.
func (s *staging) discard(tmp string) {
	d, name, err := s.parent(tmp)
	if err != nil {
		return
	}
	defer s.done(d)
	unix.Unlinkat(int(d.Fd()), name, 0)
}

// remove ends the staging directory with whatever is still in it. The times of the one that it is in
// become again what they were before, or when keepTimes was called.
func (s *staging) remove() {
	clearStaging(s.dir)
	unix.Unlinkat(int(s.in.Fd()), s.name, unix.AT_REMOVEDIR)
	s.dir.Close()
	setTimes(s.in, &s.was)
}

// keepTimes has the directory that it is in keep the times that it has now.
func (s *staging) keepTimes() {
	if st, err := fstat(s.in); err == nil {
		s.was = attrOf(&st)
	}
}

// clearStaging empties a staging directory, or one in it. No link is followed.
func clearStaging(dir *os.File) {
	dir.Seek(0, 0)
	names, _ := entries(dir)
	for _, n := range names {
		if unix.Unlinkat(int(dir.Fd()), n, 0) != unix.EISDIR {
			continue
		}
		if d, err := openStaging(dir, n); err == nil {
			clearStaging(d)
			d.Close()
		}
		unix.Unlinkat(int(dir.Fd()), n, unix.AT_REMOVEDIR)
	}
}

// sweepStaging removes what pulls that were killed left in a directory.
func sweepStaging(in *os.File) error {
	in.Seek(0, 0)
	names, err := entries(in)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isStaging(name) {
			continue
		}
		d, err := openStaging(in, name)
		if err != nil {
			continue // not a directory of ours, or not for us to open
		}
		if unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			clearStaging(d)
			unix.Unlinkat(int(in.Fd()), name, unix.AT_REMOVEDIR)
		}
		d.Close()
	}
	return nil
}
