// Package fusemount mounts FUSE on a directory of the host and yields the descriptor to serve it on.
package fusemount

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/libexec"
)

// Options say how to mount. The kernel always checks the modes of files (default_permissions), and
// honours neither set-user-ID bits nor device files.
type Options struct {
	Source     string // shown in the list of mounts
	ReadOnly   bool
	AllowOther bool // let users in who did not mount
}

// Mount mounts on dir and returns a descriptor of /dev/fuse that nobody serves yet. Root mounts by
// itself; for others the setuid program fusermount3 does.
func Mount(dir string, opt Options) (fd int, err error) {
	if os.Geteuid() == 0 {
		return direct(dir, opt)
	}
	return byHelper(dir, opt)
}

// Unmount takes a mount away. Lazily means at once, even though files on it are open.
func Unmount(dir string, lazily bool) error {
	if os.Geteuid() == 0 {
		flags := 0
		if lazily {
			flags = unix.MNT_DETACH
		}
		return unix.Unmount(dir, flags)
	}
	args := []string{"-u", "--", dir}
	if lazily {
		args = []string{"-u", "-z", "--", dir}
	}
	return run(exec.Command("fusermount3", args...))
}

// direct is what fusermount3 does with its privilege (mount.fuse3(8) has the options).
func direct(dir string, opt Options) (int, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/fuse: %w", err)
	}
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions", fd, os.Getuid(), os.Getgid())
	if opt.AllowOther {
		data += ",allow_other"
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if opt.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount(opt.Source, dir, "fuse.art", flags, data); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// byHelper has fusermount3 mount, which sends the descriptor over the socket that _FUSE_COMMFD
// names (libfuse, lib/mount.c).
func byHelper(dir string, opt Options) (int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	defer ours.Close()
	// A comma would begin another option, a backslash make the next character one of the name.
	source := strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(opt.Source)
	options := "fsname=" + source + ",subtype=art,default_permissions,nosuid,nodev"
	if opt.ReadOnly {
		options += ",ro"
	}
	if opt.AllowOther {
		options += ",allow_other"
	}
	cmd := exec.Command("fusermount3", "-o", options, "--", dir)
	cmd.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	cmd.ExtraFiles = []*os.File{theirs}
	err = run(cmd)
	theirs.Close()
	if err != nil {
		return -1, err
	}
	fd, _, err := libexec.RecvFD(ours)
	if err != nil {
		return -1, err
	}
	if fd < 0 {
		return -1, errors.New("fusermount3 sent no descriptor")
	}
	return fd, nil
}

// run runs fusermount3; what it says on standard error is the error.
func run(cmd *exec.Cmd) error {
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		return errors.New(strings.TrimPrefix(text, "fusermount3: "))
	}
	return err
}
