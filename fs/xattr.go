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
	err := unix.Setxattr(dir, "user.art", []byte("?"), 0)
	if err == unix.EROFS {
		return nil // mounted read-only: such requests never come
	}
	if err != unix.EOPNOTSUPP {
		return fmt.Errorf("set an attribute on %s: %v, expected %w", dir, err, unix.EOPNOTSUPP)
	}
	return nil
}
