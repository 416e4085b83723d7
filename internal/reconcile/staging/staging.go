// Package staging makes the hidden directory in which a pull gathers what it is about to put in place, and finds out in
// one what a file system can hold.
package staging

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/posixacl"
)

// Prefix begins the name of the directory. It is at the top of the workspace, because a rename cannot cross file
// systems. No session shows names that begin so, nor makes them.
const Prefix = hostfs.StagingPrefix

// Is reports whether a path below the workspace is such a directory. There is one elsewhere only
// for a moment, where another file system is mounted (Trial).
func Is(rel string) bool { return hostfs.IsStaging(path.Base(rel)) }

// Dir is a directory that this process alone works in. It holds a lock on it as long as it
// lives, so that another pull can tell it from one whose process was killed.
type Dir struct {
	*os.File
	Name string
	in   *os.File // the directory that it is in
	last int
	was  []unix.Timespec // times of the directory that it is in, before it was made there
}

// New makes one in a directory.
func New(in *os.File) (*Dir, error) {
	s := &Dir{in: in, Name: Prefix + rand.Text()}
	st, err := hostfs.Stat(in)
	if err != nil {
		return nil, err
	}
	s.was = timesOf(&st)
	if err := unix.Mkdirat(int(in.Fd()), s.Name, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", s.Name, err)
	}
	if s.File, err = open(in, s.Name); err == nil {
		// What is made here is to have the access control list of the place where it goes, see package posixacl.
		unix.Fremovexattr(int(s.File.Fd()), posixacl.Default)
		err = unix.Flock(int(s.File.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		unix.Unlinkat(int(in.Fd()), s.Name, unix.AT_REMOVEDIR)
		return nil, fmt.Errorf("open %s: %w", s.Name, err)
	}
	return s, nil
}

func open(in *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Reopen opens the directory of a pull that was killed.
func Reopen(in *os.File, name string) (*Dir, error) {
	dir, err := open(in, name)
	if err != nil {
		return nil, err
	}
	st, err := hostfs.Stat(in)
	if err == nil {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &Dir{File: dir, Name: name, in: in, was: timesOf(&st)}, nil
}

func timesOf(st *unix.Stat_t) []unix.Timespec { return []unix.Timespec{st.Atim, st.Mtim} }

// Next returns a name that is not in use.
func (s *Dir) Next() string {
	s.last++
	return strconv.Itoa(s.last)
}

// Parent opens the directory that holds a staged path, and returns the path's last name. Who shares
// the workspace may exchange what is in it for a link, which is not followed.
func (s *Dir) Parent(tmp string) (*os.File, string, error) {
	at, name := path.Split(tmp)
	if at == "" {
		return s.File, name, nil
	}
	d, err := hostfs.Open(s.File, at, unix.O_PATH|unix.O_DIRECTORY)
	return d, name, err
}

// Done closes what Parent has opened.
func (s *Dir) Done(d *os.File) {
	if d != s.File {
		d.Close()
	}
}

// Create makes an empty file that only its owner can open.
func (s *Dir) Create(name string) (*os.File, error) { return hostfs.Create(s.File, name, 0o600) }

// Discard removes what was staged under a name, if anything was.
func (s *Dir) Discard(tmp string) {
	d, name, err := s.Parent(tmp)
	if err != nil {
		return
	}
	defer s.Done(d)
	unix.Unlinkat(int(d.Fd()), name, 0)
}

// Remove ends the staging directory with whatever is still in it. The times of the one that it is in
// become again what they were before, or when KeepTimes was called.
func (s *Dir) Remove() {
	clear(s.File)
	unix.Unlinkat(int(s.in.Fd()), s.Name, unix.AT_REMOVEDIR)
	s.File.Close()
	hostfs.SetTimes(s.in, s.was)
}

// KeepTimes has the directory that it is in keep the times that it has now.
func (s *Dir) KeepTimes() {
	if st, err := hostfs.Stat(s.in); err == nil {
		s.was = timesOf(&st)
	}
}

// clear empties a staging directory, or one in it. No link is followed.
func clear(dir *os.File) {
	dir.Seek(0, 0)
	names, _ := hostfs.Names(dir)
	for _, n := range names {
		if unix.Unlinkat(int(dir.Fd()), n, 0) != unix.EISDIR {
			continue
		}
		if d, err := open(dir, n); err == nil {
			clear(d)
			d.Close()
		}
		unix.Unlinkat(int(dir.Fd()), n, unix.AT_REMOVEDIR)
	}
}

// ownerFile is in a directory that holds what rows of a database need. It says of which, and where that was.
const ownerFile = "owner"

// Own has nobody but its owner sweep the directory away.
func (s *Dir) Own(owner, where string) error {
	f, err := s.Create(ownerFile)
	if err != nil {
		return err
	}
	_, err = f.WriteString(owner + "\n" + where)
	return errors.Join(err, f.Close())
}

// Sweep removes what pulls that were killed left in a directory, unless somebody else owns it: left is called for those.
func Sweep(in *os.File, owner string, left func(name, where string)) error {
	in.Seek(0, 0)
	names, err := hostfs.Names(in)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !Is(name) {
			continue
		}
		d, err := open(in, name)
		if err != nil {
			continue // not a directory of ours, or not for us to open
		}
		switch whose, where, owned := ownerOf(d); {
		case unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil: // it is in use
		case owned && whose != owner:
			left(name, where)
		default:
			clear(d)
			unix.Unlinkat(int(in.Fd()), name, unix.AT_REMOVEDIR)
		}
		d.Close()
	}
	return nil
}

// ownerOf returns who owns a directory, if anybody does.
func ownerOf(d *os.File) (owner, where string, owned bool) {
	f, err := hostfs.Open(d, ownerFile, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return "", "", !errors.Is(err, unix.ENOENT)
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, unix.PathMax)) // what cannot be read is another's
	owner, where, _ = strings.Cut(string(text), "\n")
	return owner, where, true
}
