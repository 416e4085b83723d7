// Package calls names the system calls that a report is made of, for who only has to
// select them.
package calls

import "strings"

// Told are the calls that a report tells of.
const Told = `
	chmod chown connect creat execve execveat fchmodat fchmodat2 fchownat lchown link linkat
	lremovexattr lsetxattr mkdir mkdirat mknod mknodat open openat openat2 removexattr rename
	renameat renameat2 rmdir sendmsg sendto setxattr symlink symlinkat truncate unlink unlinkat`

// Privileged are calls that a report has nothing to say about unless they are
// refused.
const Privileged = `
	add_key bind bpf capset chroot delete_module finit_module init_module iopl ioperm
	kexec_file_load kexec_load keyctl kill mount move_mount open_by_handle_at open_tree perf_event_open
	pidfd_getfd pivot_root process_vm_readv process_vm_writev ptrace reboot request_key setdomainname
	sethostname setgid setgroups setns setpriority setregid setresgid setresuid setreuid setrlimit settimeofday
	setuid swapoff swapon syslog umount2 unshare userfaultfd`

// List returns all of them, as callset.Parse reads it.
func List() string {
	return strings.Join(strings.Fields(Told+" "+Privileged), ",")
}
