package stage

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// same shows at target the directory that the guest has at source, with all that is mounted there by now: a second
// path of one tree has the same covers as the first. Where a guest has put something else in its place, there is
// nothing to be shown; the stub says so.
func (b *builder) same(source, target string) error {
	tree, err := b.shown(source)
	if absent(err) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.way(tree, target)
}

// shown returns a clone of the directory that the guest has at path, with all that is mounted there by now.
func (b *builder) shown(path string) (int, error) {
	fd, err := hostfs.OpenAt(b.root, path, unix.O_PATH|unix.O_DIRECTORY, hostfs.InRoot)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return clone(fd, "")
}

// around mounts a clone at target, and in it what the guest had until then at the directory from, now at keep. Without
// that there would be an empty directory in its place.
func (b *builder) around(tree int, target, keep, from string) error {
	kept, err := b.shown(from)
	if absent(err) || errors.Is(err, unix.ELOOP) {
		err = cli.WithHint(fmt.Errorf("open %s: %w", from, err), "an earlier session has removed, moved or replaced it: art reset brings it back")
	}
	if err != nil {
		unix.Close(tree)
		return err
	}
	if err := b.bind(tree, target); err != nil {
		unix.Close(kept)
		return err
	}
	return b.bind(kept, keep)
}

// way mounts a clone at target, closes it, and sees to it that the guest can get there.
func (b *builder) way(tree int, target string) error {
	opened, err := b.open(filepath.Dir(target))
	if err != nil {
		unix.Close(tree)
		return err
	}
	if err := b.bind(tree, target); err != nil {
		return err
	}
	for _, dir := range opened {
		if err := b.seal(dir); err != nil {
			return err
		}
	}
	return nil
}

// open sees to it that the guest can pass through a directory and those above it. It puts an empty one in the place of
// the first that shows nothing, or lets nobody pass who is not somebody else, and returns that to be sealed.
func (b *builder) open(dir string) (opened []string, err error) {
	if dir == "/" {
		return nil, nil
	}
	if opened, err = b.open(filepath.Dir(dir)); err != nil || opened != nil {
		return opened, err
	}
	fd, err := hostfs.OpenAt(b.root, dir, unix.O_PATH, hostfs.InRoot)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil // it is going to be made
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	covered, err := sameFile(fd, b.covers.emptyDirectory)
	if err != nil {
		return nil, err
	}
	if passes, err := b.passes(fd); err != nil || passes && !covered {
		return nil, err
	}
	return []string{dir}, b.tmpfs(dir, 0o755)
}

// passes says whether the guest may pass through a directory. An ordinary caller's may where the caller may, who has
// found the workspace behind it; of root's it has the ids at most, and no capability.
func (b *builder) passes(fd int) (bool, error) {
	if !b.plan.Drop && !b.plan.View.CallerIsRoot {
		return true, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	uid, gid := b.plan.ids()
	bit := uint32(0o001)
	switch {
	case st.Uid == uint32(uid):
		bit = 0o100
	case st.Gid == uint32(gid):
		bit = 0o010
	}
	return st.Mode&bit != 0, nil
}
