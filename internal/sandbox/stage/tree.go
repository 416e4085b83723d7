package stage

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// clone returns a copy of what path leads to from dir, or of what dir itself refers to if path is
// empty, with what is mounted below it. It is mounted nowhere yet, and each mount in it has the flags
// that the original has now (open_tree(2)).
func clone(dir int, path string) (int, error) {
	return unix.OpenTree(dir, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
}

// attach mounts a clone over what target refers to.
func attach(tree, target int) error {
	return unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// restrict sets flags (MOUNT_ATTR_*) of the mount at path, or of the clone dir if path is empty, and of
// all mounts below it.
func restrict(dir int, path string, set uint64) error {
	return setattr(dir, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: set})
}

// setattr is mount_setattr(2).
func setattr(dir int, path string, flags uint, attr *unix.MountAttr) error {
	err := unix.MountSetattr(dir, path, flags|unix.AT_EMPTY_PATH, attr)
	if errors.Is(err, unix.ENOSYS) {
		err = cli.WithHint(fmt.Errorf("mount_setattr: %w", err), "art needs Linux 5.12 or later")
	}
	return err
}

const inert = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// readOnly makes all that is mounted here read-only, and nothing of it a device or setuid. It
// takes none of what other namespaces may do with the same file systems.
//
// But /proc stays as it is. bubblewrap's namespace would inherit it as read-only for good, and the
// kernel then refuses it a new one that is not (fs/namespace.c, mnt_already_visible).
func readOnly() error {
	if err := restrict(unix.AT_FDCWD, "/", inert|unix.MOUNT_ATTR_RDONLY); err != nil {
		return fmt.Errorf("make the host read-only: %w", err)
	}
	if err := setattr(unix.AT_FDCWD, "/proc", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("make the host read-only: /proc: %w", err)
	}
	return nil
}
