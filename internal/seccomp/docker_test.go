package seccomp

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// withCapability are the calls that Docker's default profile allows only to containers with
// some capability, and never are those that it does not allow to any
// (profiles/seccomp/default.json of github.com/moby/moby, of 2025).
var (
	withCapability = strings.Fields(`acct bpf chroot clock_settime clone3 delete_module fanotify_init finit_module
		fsconfig fsmount fsopen fspick get_mempolicy init_module ioperm iopl kcmp lookup_dcookie mbind mount
		mount_setattr move_mount open_by_handle_at open_tree perf_event_open pidfd_getfd process_madvise quotactl
		quotactl_fd reboot set_mempolicy set_mempolicy_home_node setdomainname sethostname setns settimeofday syslog
		umount2 unshare vhangup`)
	never = strings.Fields(`_sysctl add_key afs_syscall create_module get_kernel_syms getpmsg kexec_file_load
		kexec_load keyctl migrate_pages move_pages nfsservctl open_tree_attr pivot_root putpmsg query_module request_key
		security swapoff swapon sysfs tuxcall userfaultfd uselib ustat vserver`)
)

// What Docker refuses a container without capabilities is refused here.
func TestDocker(t *testing.T) {
	// unshare without a new namespace is a matter of the process alone: it stops sharing
	// its descriptors or its directory with its own threads.
	because := []string{"unshare"}
	for _, arch := range arches {
		p := program(arch, Session{})
		for _, name := range slices.Concat(withCapability, never) {
			nr, ok := arch.Number(name)
			if !ok || slices.Contains(because, name) {
				continue
			}
			if decide(t, p, call{arch: arch.Audit, nr: uint32(nr)}) == unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: %s is allowed", arch.GOARCH, name)
			}
		}
	}
}
