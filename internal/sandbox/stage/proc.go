package stage

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hint"
)

// proc mounts a /proc of this process namespace at target, and takes from the guest what it shall not have of it.
func (b *builder) proc(target string) error {
	if err := b.mount("proc", target, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return cli.WithHint(fmt.Errorf("mount proc: %w", err), hint.Proc())
	}
	covers, err := b.plan.View.ProcCovers(b.within(target))
	if err != nil {
		return err
	}
	guarded := -1
	if len(covers.Guarded) > 0 {
		if guarded, err = b.readOnlyProc(target); err != nil {
			return fmt.Errorf("guard /proc: %w", err)
		}
		defer unix.Close(guarded)
	}
	for _, path := range covers.Guarded {
		if err := b.overlay(proc(guarded)+strings.TrimPrefix(path, "/proc"), path); err != nil {
			return err
		}
	}
	for _, path := range covers.Files {
		if err := b.overlay(proc(b.covers.emptyFile), path); err != nil {
			return err
		}
	}
	for _, path := range covers.Dirs {
		if err := b.overlay(proc(b.covers.emptyDirectory), path); err != nil {
			return err
		}
	}
	return nil
}

// overlay binds source over a path in /proc, if that is there. Nothing on the way is a symbolic link. It is one
// call, as there are fifty such paths for root.
func (b *builder) overlay(source, path string) error {
	if err := unix.Mount(source, b.within(path), "", unix.MS_BIND, ""); err != nil && !absent(err) {
		return fmt.Errorf("guard %s: %w", path, err)
	}
	return nil
}

// readOnlyProc returns a second mount of the file system at target. It is read-only, as is then whatever is
// bound from it (fs/namespace.c, clone_mnt copies the flags), and lies where nobody gets.
func (b *builder) readOnlyProc(target string) (int, error) {
	fd, err := b.place(target, true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	tree, err := clone(fd, "")
	if err != nil {
		return -1, err
	}
	if err = restrict(tree, "", unix.MOUNT_ATTR_RDONLY); err == nil {
		err = attach(tree, b.covers.aside)
	}
	if err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
}
