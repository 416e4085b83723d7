package stage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sealSelf makes SelfFD art's executable as nobody can change it. The guest reaches its inode through
// /proc/PID/exe, as of a script that begins with #!/proc/self/exe, and whoever owns a file may change its
// mode, its times and, once it does not run, its contents (CVE-2019-5736). So what bubblewrap executes is
// opened through a clone of the file's mount that is read-only; as it is mounted nowhere, nobody can make it
// writable again.
func sealSelf() error {
	fd, err := readOnlySelf()
	if err == nil {
		err = unix.Dup3(fd, SelfFD, 0) // bubblewrap passes it on
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("make art's own program read-only: %w", err)
	}
	return nil
}

func readOnlySelf() (int, error) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return -1, err
	}
	// A clone can only be taken of this namespace's mounts (fs/namespace.c, __do_loopback), and SelfFD
	// was opened in another's. What the name leads to may be another file by now.
	here, err := openPath(path)
	if err != nil {
		return copySelf()
	}
	defer unix.Close(here)
	if same, err := sameFile(here, SelfFD); err != nil || !same {
		return copySelf()
	}
	// What root keeps to itself, a guest with another id could not execute.
	if kept, err := keptBack(here); err != nil || kept {
		return copySelf()
	}
	tree, err := unix.OpenTree(here, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, err
	}
	defer unix.Close(tree)
	if err := setattr(tree, "", 0, &unix.MountAttr{Attr_set: inert | unix.MOUNT_ATTR_RDONLY}); err != nil {
		return -1, err
	}
	return unix.Open(proc(tree), unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// keptBack says whether not everybody may read and execute a file.
func keptBack(fd int) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Mode&0o005 != 0o005, err
}

// copySelf returns a copy in memory, for an executable that was removed or replaced since it was started, or that
// is not for everybody.
func copySelf() (_ int, err error) {
	fd, err := unix.MemfdCreate("art", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	var offset int64
	for n := 1; n > 0; {
		if n, err = unix.Sendfile(fd, SelfFD, &offset, 1<<30); err != nil {
			return -1, err
		}
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	return fd, err
}

func sameFile(a, b int) (bool, error) {
	var first, second unix.Stat_t
	if err := unix.Fstat(a, &first); err != nil {
		return false, err
	}
	if err := unix.Fstat(b, &second); err != nil {
		return false, err
	}
	return first.Dev == second.Dev && first.Ino == second.Ino, nil
}
