package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
)

// configDir is the workspace's configuration. In direct mode the guest can write
// the workspace, and the next session reads this directory as configuration:
// what a guest writes there would decide what the next one may do.
const configDir = config.Dir

// ownMode, less the umask, is the mode of a configuration directory that a session
// made only to have something to mount over. An empty directory that nobody may
// write has no other use.
const ownMode = 0o555

// protectConfig sees to it that there is a configuration directory, for the stage to
// cover, and returns what ends that. Where there is none, an empty one exists as long as
// a session needs it. Sessions share a lock on it, so that the last one removes it; if
// that is killed, the next one does.
//
// There is none where the caller may not make the directory: the guest has the caller's
// permissions, so it may not either.
func protectConfig(root *os.File) (release func(), err error) {
	release = func() {}
	fail := func(err error) (func(), error) {
		return release, fmt.Errorf("protect the configuration %s/%s: %w", root.Name(), configDir, err)
	}
	for {
		err := unix.Mkdirat(int(root.Fd()), configDir, ownMode)
		switch {
		case err == nil, errors.Is(err, unix.EEXIST):
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
			return release, nil
		default:
			return fail(err)
		}
		// A link or a file there could be replaced by the guest of another session.
		fd, err := unix.Openat(int(root.Fd()), configDir,
			unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.ENOENT):
			continue // another session has just removed it
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			return fail(errors.New("it is not a directory"))
		case err != nil:
			return fail(err)
		}
		if err := unix.Flock(fd, unix.LOCK_SH); err != nil {
			unix.Close(fd)
			return fail(err)
		}
		same, err := isEntry(root, fd)
		if err != nil {
			unix.Close(fd)
			return fail(err)
		}
		if !same {
			unix.Close(fd)
			continue
		}
		// A descriptor of its own: the caller closes root before that.
		parent, err := unix.FcntlInt(root.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			unix.Close(fd)
			return fail(err)
		}
		return func() { releaseConfig(parent, fd) }, nil
	}
}

func isEntry(root *os.File, fd int) (bool, error) {
	var opened, entry unix.Stat_t
	if err := unix.Fstat(fd, &opened); err != nil {
		return false, err
	}
	err := unix.Fstatat(int(root.Fd()), configDir, &entry, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil && opened.Ino == entry.Ino && opened.Dev == entry.Dev, err
}

func releaseConfig(parent, fd int) {
	defer unix.Close(parent)
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil || unix.Fstat(fd, &st) != nil {
		return // in use by another session, which removes it
	}
	if st.Mode&0o222 == 0 {
		// Fails, as it should, if something is in it.
		_ = unix.Unlinkat(parent, configDir, unix.AT_REMOVEDIR)
	}
}
