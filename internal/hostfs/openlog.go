package hostfs

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/paths"
)

// OpenLog opens a log for writing, with more flags, as a trace's and that of events. In the workspace no symbolic link is followed: a guest
// may have made it, and what it leads to would be overwritten. A pipe has to have a reader: nobody waits for one.
func OpenLog(log, workspace string, flags int) (*os.File, error) {
	path, err := filepath.Abs(log)
	if err != nil {
		return nil, err
	}
	named, err := filepath.Abs(workspace)
	if err != nil {
		return nil, err
	}
	root, dir := paths.Resolve(named), paths.Resolve(filepath.Dir(path))
	var rules uint64
	switch inside := paths.Within(dir, root); {
	case path == named:
		return nil, unix.EISDIR
	case inside:
		rules, path = NoSymlinks, filepath.Join(dir, filepath.Base(path))
	case paths.Within(path, named):
		return nil, unix.ELOOP
	}
	fd, err := OpenAt(unix.AT_FDCWD, path, unix.O_WRONLY|unix.O_CREAT|unix.O_NONBLOCK|flags, rules)
	if errors.Is(err, unix.ENXIO) { // fifo(7)
		return nil, cli.WithHint(errors.New("nobody reads this pipe"), "start what reads it first")
	}
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), log), nil
}
