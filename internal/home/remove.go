package home

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// Remove removes a home, with all that guests have put there.
func Remove(name string, o *Options) error {
	fail := func(err error) error { return fmt.Errorf("remove the home %s: %w", name, err) }
	trash := "..gone." + name
	homes, err := find(name, name, trash)
	if err != nil {
		return fail(err)
	}
	defer homes.Close()
	own, err := lock(homes, name, unix.LOCK_EX)
	if errors.Is(err, errInUse) {
		return cli.WithHint(fail(err), "end its sessions first; `art home ls` shows which homes have some")
	}
	if err != nil {
		return fail(err)
	}
	defer own.Close()
	if !o.Force {
		if err := o.confirm(name); err != nil {
			return fail(err)
		}
	}
	// At once it is no home any more. What is left of one whose removal was broken off goes with it.
	dir := int(homes.Fd())
	if err := unix.Mkdirat(dir, trash, 0o700); err != nil && err != unix.EEXIST {
		return fail(err)
	}
	err = unix.Renameat2(dir, name, dir, trash+"/"+strconv.Itoa(os.Getpid()), unix.RENAME_NOREPLACE)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fail(err)
	}
	err = unix.Renameat2(dir, "..files."+name, dir, trash+"/files."+strconv.Itoa(os.Getpid()), unix.RENAME_NOREPLACE)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fail(err)
	}
	if err := empty(homes, trash); err != nil {
		return fail(err)
	}
	for _, file := range []string{"..seeded." + name, "..names." + name, "." + name} { // the lock last
		if err := unix.Unlinkat(dir, file, 0); err != nil && err != unix.ENOENT {
			return fail(err)
		}
	}
	if !o.Quiet {
		fmt.Fprintf(o.Stderr, "art: removed the home %s\n", name)
	}
	return nil
}

// find opens the directory of the homes, if one of some directories of a home is in it.
func find(name string, directories ...string) (*os.File, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	path, err := Directory()
	if err != nil {
		return nil, err
	}
	homes, err := openHomes(path)
	if err == nil {
		for _, dir := range directories {
			var st unix.Stat_t
			if st, err = hostfs.StatAt(homes, dir); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
				err = unix.ENOTDIR
			}
			if !errors.Is(err, os.ErrNotExist) {
				break
			}
		}
		if err != nil {
			homes.Close()
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		err = cli.WithHint(errors.New("there is no home of that name"), "`art home ls` shows all")
	}
	return homes, err
}

// confirm asks whether a home is to go.
func (o *Options) confirm(name string) error {
	if o.Answer == nil {
		return cli.WithHint(errors.New("what guests keep there would be lost"), "--force removes it")
	}
	if cli.Confirm(o.Stderr, o.Answer, fmt.Sprintf("art: remove the home %s, and all that guests keep there?", name)) {
		return nil
	}
	return errors.New("nothing was removed")
}

// empty removes the directory trash of homes. Guests have made what is in it: trees deeper than anybody can have open
// or give a path to, and directories that nobody may read. So each directory that is found comes to the top first, and
// is removed there.
func empty(homes *os.File, trash string) error {
	top, err := openAll(homes, trash)
	if err != nil {
		return err
	}
	defer top.Close()
	count := 0
	for {
		_, err := top.Seek(0, io.SeekStart)
		if err != nil {
			return err
		}
		names, err := top.Readdirnames(1000)
		if errors.Is(err, io.EOF) {
			return unix.Unlinkat(int(homes.Fd()), trash, unix.AT_REMOVEDIR)
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			err := unix.Unlinkat(int(top.Fd()), name, 0)
			if errors.Is(err, unix.EISDIR) {
				err = emptyOne(top, name, &count)
			}
			if err != nil {
				return err
			}
		}
	}
}

// RemoveTree removes a directory, if it is there, with all that guests have put in it.
func RemoveTree(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	parent, err := os.Open(filepath.Dir(path))
	if err == nil {
		defer parent.Close()
		err = empty(parent, filepath.Base(path))
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, hostfs.Unwrap(err))
	}
	return nil
}

// emptyOne removes the directory name of top, and brings the directories in it there.
func emptyOne(top *os.File, name string, count *int) error {
	d, err := openAll(top, name)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := hostfs.Names(d)
	if err != nil {
		return err
	}
	for _, sub := range names {
		err := unix.Unlinkat(int(d.Fd()), sub, 0)
		for errors.Is(err, unix.EISDIR) || err == unix.EEXIST {
			if err == unix.EISDIR {
				if err := unlock(d, sub); err != nil {
					return err
				}
			}
			*count++
			err = unix.Renameat2(int(d.Fd()), sub, int(top.Fd()), fmt.Sprintf("%d.%d", os.Getpid(), *count), unix.RENAME_NOREPLACE)
		}
		if err != nil {
			return err
		}
	}
	return unix.Unlinkat(int(top.Fd()), name, unix.AT_REMOVEDIR)
}

// openAll opens a directory whatever its mode is.
func openAll(parent *os.File, name string) (*os.File, error) {
	if err := unlock(parent, name); err != nil {
		return nil, err
	}
	return hostfs.Open(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
}

// unlock gives its owner all rights over a directory: without that to write it, it cannot change its place either.
func unlock(parent *os.File, name string) error {
	d, err := hostfs.Open(parent, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer d.Close()
	return hostfs.Chmod(d, 0o700)
}
