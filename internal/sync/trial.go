package sync

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// nameRules tells directories apart that may treat names differently.
type nameRules struct {
	dev  uint64
	fold bool
}

// foldFlag is a directory's attribute that upper and lower case are one in it (linux/fs.h,
// FS_CASEFOLD_FL). What is made in the directory inherits it.
const foldFlag = 0x40000000

func rulesOf(d *os.File) (nameRules, error) {
	st, err := fstat(d)
	if err != nil {
		return nameRules{}, err
	}
	flags, err := unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	return nameRules{st.Dev, err == nil && flags&foldFlag != 0}, nil // not every file system has flags
}

// trial is a hidden directory in which things are made and removed to see whether they can be.
type trial struct {
	*staging
	anyName                  bool // any two names are two, and none is refused
	modes, symlink, hardLink bool // there are such, as was seen
}

// newTrial begins a trial in a directory, which is closed at its end.
func newTrial(d *os.File) (*trial, error) {
	if err := sweepStaging(d); err != nil {
		return nil, err
	}
	s, err := newStaging(d)
	if err != nil {
		return nil, err
	}
	t := &trial{staging: s}
	t.anyName = t.takesAnyName()
	return t, nil
}

func (t *trial) end() {
	t.remove()
	t.in.Close()
}

var (
	errNoModes     = errors.New("its file system does not keep modes of files")
	errNoSymlinks  = errors.New("its file system has no symbolic links")
	errNoHardLinks = errors.New("its file system has no hard links")
)

// holds finds out whether the file system has modes of files, and the links that are wanted.
func (t *trial) holds(w *want) error {
	if t.modes && (t.symlink || !w.symlink) && (t.hardLink || !w.hardLink) {
		return nil
	}
	defer clearStaging(t.dir)
	dir := int(t.dir.Fd())
	f, err := t.create("file")
	if err != nil {
		return err
	}
	defer f.Close()
	const mode = 0o751
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
		return fmt.Errorf("%w: %w", errNoModes, err)
	}
	if st, err := fstat(f); err != nil || st.Mode&0o7777 != mode {
		return errors.Join(errNoModes, err)
	}
	t.modes = true
	if w.symlink {
		if err := unix.Symlinkat("file", dir, "symlink"); err != nil {
			return fmt.Errorf("%w: %w", errNoSymlinks, err)
		}
		t.symlink = true
	}
	if w.hardLink {
		if err := unix.Linkat(dir, "file", dir, "link", 0); err != nil {
			return fmt.Errorf("%w: %w", errNoHardLinks, err)
		}
		t.hardLink = true
	}
	return nil
}

// takesAnyName tries two names that only a file system takes which leaves names alone. One is
// text, with letters that have a case, and one that Unicode writes in two ways; folding leaves names
// alone that are no text.
func (t *trial) takesAnyName() bool {
	const letters, folded, composed = "aR\u00e9", "Ar\u00e9", "aRe\u0301"
	const odd = "\xff\x01:*?\"<>|\\ . ."
	for _, name := range []string{letters, odd} {
		long := strings.Repeat("-", sqlvfs.NameMax-len(name)) + name
		f, err := t.create(long)
		if err != nil {
			return false
		}
		f.Close()
		t.dir.Seek(0, 0)
		names, err := entries(t.dir)
		t.discard(long)
		if err != nil || len(names) != 1 || names[0] != long {
			return false
		}
	}
	_, err := t.names([]string{letters, folded, composed})
	return err == nil
}

// oneNameError says that a name is another one to the file system.
type oneNameError struct{ other string }

func (e *oneNameError) Error() string { return "it is one name with " + e.other }

// names makes files of all these names. The error is about the one that is returned.
func (t *trial) names(list []string) (string, error) {
	defer clearStaging(t.dir)
	made := map[uint64]string{} // by inode number
	for _, name := range list {
		f, err := t.create(name)
		if err == unix.EEXIST {
			if st, err := statAt(t.dir, name); err == nil {
				return name, &oneNameError{made[st.Ino]}
			}
		}
		if err != nil {
			return name, err
		}
		st, err := fstat(f)
		f.Close()
		if err != nil {
			return name, err
		}
		made[st.Ino] = name
	}
	return "", nil
}
