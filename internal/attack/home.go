package attack

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A session begins in the workspace, which an overlay has in a home that persists: who can close
// either for good ends them all.
func home() []Attempt {
	return area("later sessions", []Attempt{
		{Name: "lock later sessions out of the workspace", Only: Overlay, try: func(*Target) error { return lockOut(".", 0) }},
		{Name: "lock later sessions out of the home", Only: Overlay, try: elsewhere(func(*Target) error { return lockOutOfHome() })},
	})
}

// lockOutOfHome is lockOut of the home, where that is in the database: one that art keeps on the host it opens again for
// each session.
func lockOutOfHome() error {
	var fs unix.Statfs_t
	if err := unix.Statfs("..", &fs); err != nil {
		return err
	}
	if os.Getenv("ART_SANDBOX") != "" && fs.Type != unix.FUSE_SUPER_MAGIC {
		return errors.New("each session opens it again")
	}
	return lockOut("..", 0)
}

// lockOut takes a directory's owner the permission to enter it, and gives it back. Both by a
// descriptor: there would be no way to it by its path.
func lockOut(dir string, mode uint32) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return err
	}
	err = unix.Fstat(fd, &after)
	if cerr := unix.Fchmod(fd, before.Mode&0o7777); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return found(after.Mode&unix.S_IXUSR == 0)
}
