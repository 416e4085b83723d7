package seccomp

import "golang.org/x/sys/unix"

// rule refuses calls: always, or depending on one argument.
type rule struct {
	// option lifts the rule; "" is none.
	option string
	// written says that the rule is only for guests whose files are the host's.
	written bool
	calls   []string
	// errno is what the calls fail with: ENOSYS where programs are prepared for a
	// kernel without them.
	errno unix.Errno

	arg    int      // the argument to look at, from 0
	values []uint32 // refused
	bits   uint32   // refused if any is set
	only   []uint32 // all others are refused
	// where, if it has bits, is about another argument, without one of whose bits
	// the first is not looked at.
	where argument
}

type argument struct {
	number int // from 0
	bits   uint32
}

// makes are the flags of open(2) with one of which it takes a mode; without, the
// register may hold anything.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// newNamespace are the flags that make namespaces (namespaces(7)). CLONE_NEWTIME
// is not among them for clone(2), which takes that bit for a signal's number.
const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// setID are the mode bits that make a program run as its owner or its group.
const setID = unix.S_ISUID | unix.S_ISGID

// rules come in the order of the filter: the kernel walks it from the front for each
// call that depends on an argument, so those that programs make all the time come
// first.
var rules = []rule{
	// A program with the caller's rights for everyone on the host. The mode that
	// openat2 is given is in memory.
	{written: true, calls: []string{"openat"}, arg: 3, bits: setID, errno: unix.EPERM, where: argument{2, makes}},
	{written: true, calls: []string{"open"}, arg: 2, bits: setID, errno: unix.EPERM, where: argument{1, makes}},
	{written: true, calls: []string{"chmod", "fchmod", "creat", "mknod"}, arg: 1, bits: setID, errno: unix.EPERM},
	{written: true, calls: []string{"fchmodat", "fchmodat2", "mknodat"}, arg: 2, bits: setID, errno: unix.EPERM},
	{written: true, calls: []string{"openat2"}, errno: unix.ENOSYS},

	// Input forged for whoever reads from the terminal next (CVE-2017-5226).
	{calls: []string{"ioctl"}, arg: 1, values: []uint32{unix.TIOCSTI, tiocLinux}, errno: unix.EPERM},

	// In a user namespace of its own the guest has every capability, and with them
	// reaches much of the kernel that was written for root alone. The flags of
	// clone3 are in memory, which a filter cannot read.
	{option: "namespaces", calls: []string{"clone"}, arg: 0, bits: newNamespace, errno: unix.EPERM},
	{option: "namespaces", calls: []string{"clone3"}, errno: unix.ENOSYS},
	{option: "namespaces", calls: []string{"unshare"}, arg: 0, bits: newNamespace | unix.CLONE_NEWTIME, errno: unix.EPERM},
	{option: "namespaces", errno: unix.EPERM, calls: []string{
		"setns", "chroot", "pivot_root", "mount", "umount2", "mount_setattr", "move_mount",
		"open_tree", "open_tree_attr", "fsopen", "fspick", "fsconfig", "fsmount",
	}},

	// Its requests are no calls, so neither a filter nor a trace sees them.
	{option: "io_uring", calls: []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}, errno: unix.ENOSYS},
	// Keyrings know no user namespace's bounds for what the caller's session holds
	// (keyrings(7)).
	{option: "keys", calls: []string{"add_key", "request_key", "keyctl"}, errno: unix.ENOSYS},
	{option: "perf", calls: []string{"perf_event_open"}, errno: unix.EPERM},
	// It stops the kernel in the middle of reading a program's memory.
	{option: "userfaultfd", calls: []string{"userfaultfd"}, errno: unix.EPERM},

	// Every other family is the caller's machine's or obsolete: virtual machines'
	// (AF_VSOCK) leads around a network namespace.
	{option: "sockets", calls: []string{"socket", "socketpair"}, arg: 0, errno: unix.EAFNOSUPPORT,
		only: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}},

	// The whole machine's, and root's. The guest has no capability for them; what
	// is refused here does not depend on every one of them asking for it.
	{errno: unix.EPERM, calls: []string{
		"acct", "bpf", "clock_settime", "delete_module", "finit_module", "init_module", "ioperm", "iopl",
		"kexec_file_load", "kexec_load", "open_by_handle_at", "quotactl", "quotactl_fd", "reboot",
		"settimeofday", "swapoff", "swapon", "syslog", "vhangup",
	}},
	// Left over from other times.
	{errno: unix.ENOSYS, calls: []string{
		"_sysctl", "lookup_dcookie", "nfsservctl", "sysfs", "uselib", "ustat",
	}},
}

// tiocLinux is TIOCLINUX (ioctl_console(2)), which is not in package unix.
const tiocLinux = 0x541c
