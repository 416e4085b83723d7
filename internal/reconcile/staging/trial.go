package staging

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// Rules tell directories apart that may treat names differently.
type Rules struct {
	dev  uint64
	fold bool
}

// foldFlag is a directory's attribute that upper and lower case are one in it (linux/fs.h,
// FS_CASEFOLD_FL). What is made in the directory inherits it.
const foldFlag = 0x40000000

// RulesOf returns those of a directory.
func RulesOf(d *os.File) (Rules, error) {
	st, err := hostfs.Stat(d)
	if err != nil {
		return Rules{}, err
	}
	flags, err := unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	return Rules{st.Dev, err == nil && flags&foldFlag != 0}, nil // not every file system has flags
}

// Trial is a hidden directory in which things are made and removed to see whether they can be.
type Trial struct {
	*Dir
	AnyName                  bool // any two names are two, and none is refused
	modes, symlink, hardLink bool // there are such, as was seen
}

// NewTrial begins a trial in a directory, which is closed at its end.
func NewTrial(d *os.File) (*Trial, error) {
	if err := Sweep(d, "", func(string, string) {}); err != nil {
		return nil, err
	}
	s, err := New(d)
	if err != nil {
		return nil, err
	}
	t := &Trial{Dir: s}
	t.AnyName = t.takesAnyName()
	return t, nil
}

// End ends it.
func (t *Trial) End() {
	t.Remove()
	t.in.Close()
}

// What a file system may lack.
var (
	ErrNoModes     = errors.New("its file system does not keep modes of files")
	ErrNoSymlinks  = errors.New("its file system has no symbolic links")
	ErrNoHardLinks = errors.New("its file system has no hard links")
)

// Holds finds out whether the file system has modes of files, and the links that are wanted.
func (t *Trial) Holds(symlink, hardLink bool) error {
	if t.modes && (t.symlink || !symlink) && (t.hardLink || !hardLink) {
		return nil
	}
	defer clear(t.File)
	dir := int(t.File.Fd())
	f, err := t.Create("file")
	if err != nil {
		return err
	}
	defer f.Close()
	const mode = 0o751
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
		return fmt.Errorf("%w: %w", ErrNoModes, err)
	}
	if st, err := hostfs.Stat(f); err != nil || st.Mode&0o7777 != mode {
		return errors.Join(ErrNoModes, err)
	}
	t.modes = true
	if symlink {
		if err := unix.Symlinkat("file", dir, "symlink"); err != nil {
			return fmt.Errorf("%w: %w", ErrNoSymlinks, err)
		}
		t.symlink = true
	}
	if hardLink {
		if err := unix.Linkat(dir, "file", dir, "link", 0); err != nil {
			return fmt.Errorf("%w: %w", ErrNoHardLinks, err)
		}
		t.hardLink = true
	}
	return nil
}

// takesAnyName tries two names that only a file system takes which leaves names alone. One is
// text, with letters that have a case, and one that Unicode writes in two ways; folding leaves names
// alone that are no text.
func (t *Trial) takesAnyName() bool {
	const letters, folded, composed = "aR\u00e9", "Ar\u00e9", "aRe\u0301"
	const odd = "\xff\x01:*?\"<>|\\ . ."
	for _, name := range []string{letters, odd} {
		long := strings.Repeat("-", sqlvfs.NameMax-len(name)) + name
		f, err := t.Create(long)
		if err != nil {
			return false
		}
		f.Close()
		t.File.Seek(0, 0)
		names, err := hostfs.Names(t.File)
		t.Discard(long)
		if err != nil || len(names) != 1 || names[0] != long {
			return false
		}
	}
	_, err := t.Names([]string{letters, folded, composed})
	return err == nil
}

// OneNameError says that a name is another one to the file system.
type OneNameError struct{ Other string }

func (e *OneNameError) Error() string { return "it is one name with " + e.Other }

// Names makes files of all these names. The error is about the one that is returned.
func (t *Trial) Names(list []string) (string, error) {
	defer clear(t.File)
	made := map[uint64]string{} // by inode number
	for _, name := range list {
		f, err := t.Create(name)
		if errors.Is(err, unix.EEXIST) {
			if st, err := hostfs.StatAt(t.File, name); err == nil {
				return name, &OneNameError{made[st.Ino]}
			}
		}
		if err != nil {
			return name, err
		}
		st, err := hostfs.Stat(f)
		f.Close()
		if err != nil {
			return name, err
		}
		made[st.Ino] = name
	}
	return "", nil
}

// Trials are those of a tree: one for all directories that have the same rules.
type Trials struct {
	open   func(rel string) (*os.File, error)
	begun  map[Rules]*Trial
	places map[string]place
}

// place is a directory that is there.
type place struct {
	path  string
	rules Rules
}

// NewTrials begins trials in a tree, of which open opens directories.
func NewTrials(open func(rel string) (*os.File, error)) *Trials {
	return &Trials{open, map[Rules]*Trial{}, map[string]place{}}
}

// End ends them.
func (t *Trials) End() {
	for _, each := range t.begun {
		each.End()
	}
}

// In returns the trial for a directory, and that one's path, or the path of the one above it that is there.
func (t *Trials) In(dir string) (*Trial, string, error) {
	at, err := t.place(dir)
	if err != nil || t.begun[at.rules] != nil {
		return t.begun[at.rules], at.path, err
	}
	d, err := t.open(at.path)
	if err != nil {
		return nil, "", err
	}
	if t.begun[at.rules], err = NewTrial(d); err != nil {
		delete(t.begun, at.rules)
		d.Close()
	}
	return t.begun[at.rules], at.path, err
}

func (t *Trials) place(dir string) (place, error) {
	if at, ok := t.places[dir]; ok {
		return at, nil
	}
	d, err := t.open(dir)
	at := place{path: dir}
	switch {
	case err == nil:
		at.rules, err = RulesOf(d)
		d.Close()
	case dir != "." && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)):
		at, err = t.place(path.Dir(dir))
	}
	if err == nil {
		t.places[dir] = at
	}
	return at, err
}
