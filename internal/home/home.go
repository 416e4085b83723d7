// Package home keeps the homes that guests share across workspaces: directories of the host, of the user's alone, each
// with a name. What is in them guests have written, several at a time; nothing of it is followed or believed here.
//
//	homes/NAME          the home, which the guest has at /home/agent
//	homes/.NAME         the sessions that use it have a lock on this file; in it are the mount points that art made in
//	                    the home, and its time is when it was last used
//	homes/..seeded.NAME the paths that were copied from the user's own home
//	homes/..files.NAME  what sessions have single files of the host's in the home for (package files)
//	homes/..names.NAME  what the directories of workspaces are called in the home
//	homes/..gone.NAME   what is being removed
package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/hostfs"
)

// lockWait is how long to wait for a home that is being removed, or of which mount points are.
const lockWait = 2 * time.Second

// Home is one that is in use, until it is closed.
type Home struct {
	Name string
	// Path leads through no symbolic link.
	Path string
	// Made says that there was none before.
	Made bool

	dir     *os.File
	lock    *os.File
	records *os.File // of single files; nil until they are asked for
}

// Check returns an error if name cannot be the name of a home.
func Check(name string) error {
	if !config.IsPresetName(name) {
		return cli.WithHint(fmt.Errorf("%q cannot be the name of a home", name), "use small letters, digits, dots, and - and _")
	}
	return nil
}

// Directory returns the directory of the homes.
func Directory() (string, error) {
	dir := config.HomesDir(os.Getenv)
	if dir == "" {
		return "", cli.WithHint(errors.New("find the homes: neither XDG_DATA_HOME nor HOME is set"), "set HOME")
	}
	return dir, nil
}

// Use opens a home for a session, and makes it if there is none.
func Use(name string) (*Home, error) {
	h, err := use(name)
	if err != nil {
		return nil, withRoom(fmt.Errorf("open the home %s: %w", name, err))
	}
	return h, nil
}

func use(name string) (*Home, error) {
	homes, err := Directory()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(homes, 0o700); err != nil {
		return nil, err
	}
	parent, err := openHomes(homes)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return open(parent, name, true)
}

// openHomes opens the directory of the homes. Its name has no symbolic link.
func openHomes(homes string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(homes)
	if err != nil {
		return nil, err
	}
	return openOwn(unix.AT_FDCWD, real, real, unix.O_DIRECTORY)
}

// open opens a home to use it, and makes it if it is to.
func open(homes *os.File, name string, make bool) (_ *Home, err error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	h := &Home{Name: name, Path: filepath.Join(homes.Name(), name)}
	defer func() {
		if err != nil {
			h.end(make)
		}
	}()
	if h.lock, err = lock(homes, name, unix.LOCK_SH); err != nil {
		return nil, err
	}
	if make {
		err := unix.Mkdirat(int(homes.Fd()), name, 0o700)
		if h.Made = err == nil; err != nil && err != unix.EEXIST {
			return nil, fmt.Errorf("make %s: %w", h.Path, err)
		}
		_ = hostfs.SetTimes(h.lock, nil) // now; who cannot write it still has the lock
	}
	h.dir, err = openOwn(int(homes.Fd()), name, h.Path, unix.O_DIRECTORY|unix.O_NOFOLLOW)
	return h, err
}

// openOwn opens what nobody but the caller may own, and keeps others out of it.
func openOwn(dir int, name, path string, flags int) (*os.File, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%s is not a directory", path)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	st, err := hostfs.Stat(f)
	switch {
	case err != nil:
	case int(st.Uid) != os.Getuid():
		err = cli.WithHint(fmt.Errorf("%s belongs to another user (%d)", path, st.Uid), "a home is the caller's own: choose another name, or another XDG_DATA_HOME")
	case st.Mode&0o7777 != 0o700:
		if err = hostfs.Chmod(f, 0o700); err != nil {
			err = fmt.Errorf("keep others out of %s: %w", path, err)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lock takes a lock on a home: a shared one to use it, one of its own to remove it.
func lock(homes *os.File, name string, how int) (*os.File, error) {
	path := filepath.Join(homes.Name(), "."+name)
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		fd, err := unix.Openat(int(homes.Fd()), "."+name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		f := os.NewFile(uintptr(fd), path)
		err = unix.Flock(fd, how|unix.LOCK_NB)
		if err == nil {
			st, err := hostfs.Stat(f)
			if err == nil && st.Nlink > 0 {
				return f, nil
			}
		}
		f.Close() // in the last case, whoever had the lock has removed the home
		switch {
		case err == nil, err == unix.EINTR:
		case err != unix.EWOULDBLOCK:
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case how == unix.LOCK_EX:
			return nil, errInUse
		case time.Now().After(end):
			return nil, cli.WithHint(errors.New("it is being removed"), "wait for that, or name another home")
		}
	}
}

var errInUse = errors.New("it is in use")

// Dir is the home's directory, which is open to be found alone (O_PATH).
func (h *Home) Dir() *os.File { return h.dir }

// Records opens the directory for the records of single files in the home. It returns nil if there is none, and it is not
// to be made.
func (h *Home) Records(make bool) (*os.File, error) {
	if h.records != nil {
		return h.records, nil
	}
	path := h.recordsPath()
	if make {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	var err error
	h.records, err = openOwn(unix.AT_FDCWD, path, path, unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) && !make {
		return nil, nil
	}
	return h.records, err
}

func (h *Home) recordsPath() string { return filepath.Join(filepath.Dir(h.Path), "..files."+h.Name) }

// Close ends the use of a home. The last session to use it takes the mount points away.
func (h *Home) Close() { h.end(false) }

// Abandon is Close for a use that has come to nothing: a home that was made for it goes, too, if it is empty.
func (h *Home) Abandon() { h.end(true) }

func (h *Home) end(failed bool) {
	if h.lock != nil && unix.Flock(int(h.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		if h.dir != nil {
			h.removePlaces()
			_ = unix.Rmdir(h.recordsPath()) // what could not be ended is still in there
		}
		if failed {
			h.unmake()
		}
	}
	for _, f := range []*os.File{h.records, h.dir, h.lock} {
		if f != nil {
			f.Close()
		}
	}
	h.records, h.dir, h.lock = nil, nil, nil
}

// unmake removes an empty home that was made for this use, and where there is no home, what is beside it. Nobody else
// uses it.
func (h *Home) unmake() {
	if h.Made {
		_ = unix.Rmdir(h.Path) // fails where something is in it
	}
	var st unix.Stat_t
	if unix.Lstat(h.Path, &st) == unix.ENOENT {
		_ = unix.Unlink(h.namesPath())
		_ = unix.Unlink(h.lock.Name())
	}
}

// withRoom adds to an error that says that a disk is full what to do about it.
func withRoom(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return cli.WithHint(err, "make room there: `art home ls` shows how much each home has, and `art home rm` removes one")
	}
	return err
}
