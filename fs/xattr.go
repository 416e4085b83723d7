package fs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// RefuseXattrs makes the kernel learn that the file system mounted on dir has no extended
// attributes to set, so that it answers setxattr(2) by itself from then on. It must be called
// before anyone else may use the mount.
//
// One of these requests, with a name of one byte and no value, is one that the FUSE library cannot
// parse (OpSetxattr in its conversions.go) and so cannot be answered. Its caller would wait where
// not even SIGKILL reaches it (request_wait_answer in fs/fuse/dev.c), and keep its PID namespace,
// and with it the session, from ending. The kernel asks no more after one ENOSYS
// (fuse_setxattr in fs/fuse/xattr.c).
func RefuseXattrs(dir string) error {
	// Until the kernel has asked for its attributes, the root belongs to id 0 (fuse_get_root_inode in
	// fs/fuse/inode.c), which need not exist in the mount's user namespace; and nobody may set an
	// attribute where an owner does not exist.
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	// The permissions of dir do not count for the names of "system.", nor are capabilities asked for
	// (xattr_permission in fs/xattr.c).
	err := unix.Setxattr(dir, "system.art", []byte("?"), 0)
	if err == unix.EROFS {
		return nil // mounted read-only: such requests never come
	}
	if err != unix.EOPNOTSUPP {
		return fmt.Errorf("set an attribute on %s: %v, expected %w", dir, err, unix.EOPNOTSUPP)
	}
	return nil
}
