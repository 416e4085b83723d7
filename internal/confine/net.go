package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"github.com/riverlytech/art/internal/seccomp"
)

// resolving are the files that say how names are found.
var resolving = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"}

// Net leaves who carries connections for a guest with the network, and the files that say how names are found there: no other file,
// no capability, no other program, no signal to and no abstract socket of anyone outside, no look at another's memory. There is no way
// back. A kernel without Landlock leaves it the files.
func Net() error {
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	var files []string
	var dirs []string
	for _, path := range resolving {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("give up rights: %w", err)
		}
		// What makes such a file, as systemd-resolved does, puts another in its place.
		if dir := filepath.Dir(real); dir != "/etc" {
			dirs = append(dirs, dir)
		}
		files = append(files, real)
	}
	rules := []landlock.Rule{landlock.ROFiles(files...).IgnoreIfMissing()}
	if len(dirs) > 0 {
		rules = append(rules, landlock.RODirs(dirs...).IgnoreIfMissing())
	}
	config := landlock.V8.BestEffort()
	if err := errors.Join(config.RestrictPaths(rules...), config.RestrictScoped()); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if err := seccomp.InstallForAll(seccomp.Without(notForNet...)); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}

// Agent leaves who signs for a guest nothing but the descriptors that it has, as Net does, and no network either.
func Agent() error {
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	config := landlock.V8.BestEffort()
	if err := errors.Join(config.RestrictPaths(), config.RestrictNet(), config.RestrictScoped()); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if err := seccomp.InstallForAll(seccomp.Without(slices.Concat(notForNet, []string{"socket", "socketpair", "connect", "bind", "listen"})...)); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}

// Ports leaves who connects published ports the network that it is in and the sockets that it has, and no file.
func Ports() error {
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	config := landlock.V8.BestEffort()
	if err := errors.Join(config.RestrictPaths(), config.RestrictScoped()); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if err := seccomp.InstallForAll(seccomp.Without(slices.Concat(notForNet, []string{"bind", "listen"})...)); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}

// notForNet are calls that would be of use only to who has found a flaw.
var notForNet = []string{
	"execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "mount", "umount2", "move_mount",
	"open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "pivot_root", "chroot", "unshare", "setns", "bpf",
	"perf_event_open", "userfaultfd", "io_uring_setup", "keyctl", "add_key", "request_key", "kexec_load", "kexec_file_load",
	"init_module", "finit_module", "delete_module", "personality", "memfd_create", "memfd_secret",
}

// dropCapabilities gives up those of all threads: root's, of which none is needed.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
