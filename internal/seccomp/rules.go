package seccomp

import (
	"golang.org/x/sys/unix"
)

// rule refuses calls: always, or depending on arguments. Where it does not hold, the
// calls are allowed.
type rule struct {
	// option lifts the rule; "" is none.
	option string
	// when, if set, says in which sessions the rule holds.
	when  func(*Session) bool
	calls []string
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
	// code, if set, decides in the place of all these.
	code func() []unix.SockFilter
	// notify says that whoever makes the calls gets no further without them, and that the user is told which option
	// permits them. Of ENOSYS nobody is: programs do without what older kernels do not have.
	notify bool
}

type argument struct {
	number int // from 0
	bits   uint32
}

// holds says whether the rule is one of a session's filter.
func (r *rule) holds(s *Session) bool {
	return !s.allows(r.option) && (r.when == nil || r.when(s))
}

// namespaces is an option that rules depend on otherwise, too.
const namespaces = "namespaces"

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
	// openat2 is given is in memory. No other call leaves one: mkdir drops the bits, and of
	// those of its directory only the group's is handed on, to directories (vfs_mkdir and
	// mode_strip_sgid in fs); link and rename take along what has them already; chown
	// takes them away; capabilities need CAP_SETFCAP, see convertsCapabilities; and to make
	// a file immutable, by ioctl or file_setattr, takes the host's CAP_LINUX_IMMUTABLE.
	{when: written, calls: []string{"openat"}, arg: 3, bits: setID, errno: unix.EPERM, where: argument{2, makes}},
	{when: written, calls: []string{"open"}, arg: 2, bits: setID, errno: unix.EPERM, where: argument{1, makes}},

	// Of a terminal: TIOCSTI and TIOCLINUX forge input for whoever reads from it next
	// (CVE-2017-5226), TIOCCONS takes what the kernel writes on the console. TIOCSETD
	// gives it a line discipline, for modems, buses and radios, and loads the module for it
	// (CVE-2017-2636, CVE-2020-14416).
	{calls: []string{"ioctl"}, arg: 1, values: []uint32{unix.TIOCSTI, tiocLinux, unix.TIOCSETD, unix.TIOCCONS}, errno: unix.EPERM},

	// In a user namespace of its own the guest has every capability, and with them
	// reaches much of the kernel that was written for root alone. The flags of
	// clone3 are in memory, which a filter cannot read.
	{option: namespaces, calls: []string{"clone"}, arg: 0, bits: newNamespace, errno: unix.EPERM, notify: true},

	{option: "sockets", calls: []string{"setsockopt"}, code: optionCode},
	{option: "sockets", calls: []string{"socket", "socketpair"}, code: socketCode},

	{when: written, calls: []string{"chmod", "fchmod", "creat", "mknod"}, arg: 1, bits: setID, errno: unix.EPERM},
	{when: written, calls: []string{"fchmodat", "fchmodat2", "mknodat"}, arg: 2, bits: setID, errno: unix.EPERM},
	{when: written, calls: []string{"openat2"}, errno: unix.ENOSYS},
	{when: convertsCapabilities, errno: unix.EOPNOTSUPP, calls: []string{"setxattr", "lsetxattr", "fsetxattr", "setxattrat"}},

	// A hard limit of one byte keeps a core dump from the program that the host starts
	// for each, where one of zero does not (do_coredump in fs/coredump.c). So zero is
	// not to be had, and no program is to fail for that: agents for keys refuse to start
	// where they cannot set it.
	{calls: []string{"prlimit64"}, code: prlimitCode},
	{calls: []string{"setrlimit"}, arg: 0, values: []uint32{unix.RLIMIT_CORE}, errno: 0},

	// Emulations of other systems, some of which turn the protection of memory off
	// (READ_IMPLIES_EXEC, MMAP_PAGE_ZERO). What only asks, Linux with another machine's or
	// version's name, and debuggers' fixed addresses are let through.
	{calls: []string{"personality"}, arg: 0, errno: unix.EPERM,
		only: []uint32{0, per32, unameOld, per32 | unameOld, addrFixed, 0xffffffff}},

	// Memory that RLIMIT_DATA does not count (is_data_mapping in mm/internal.h): shared without
	// a file, or in one without a name. In /dev/shm it has, and a size.
	{when: counted, calls: []string{"mmap"}, code: sharedCode},
	{when: counted, calls: []string{"memfd_create", "msgget", "shmget"}, errno: unix.ENOSYS},

	{option: namespaces, calls: []string{"clone3"}, errno: unix.ENOSYS},
	{option: namespaces, calls: []string{"unshare"}, arg: 0, bits: newNamespace | unix.CLONE_NEWTIME, errno: unix.EPERM, notify: true},
	{option: namespaces, errno: unix.EPERM, notify: true, calls: []string{
		"setns", "chroot", "pivot_root", "umount2", "mount_setattr", "move_mount",
		"open_tree", "open_tree_attr", "fspick", "fsconfig", "fsmount", "sethostname", "setdomainname",
	}},
	{when: mountsNothing, calls: []string{"mount", "fsopen"}, errno: unix.EPERM},

	// Its requests are no calls, so neither a filter nor a trace sees them.
	{option: "io_uring", calls: []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}, errno: unix.ENOSYS},
	// Keyrings know no user namespace's bounds for what the caller's session holds
	// (keyrings(7)).
	{option: "keys", calls: []string{"add_key", "request_key", "keyctl"}, errno: unix.ENOSYS},
	{option: "perf", calls: []string{"perf_event_open"}, errno: unix.EPERM, notify: true},
	// It stops the kernel in the middle of reading a program's memory.
	{option: "userfaultfd", calls: []string{"userfaultfd"}, errno: unix.EPERM, notify: true},

	// The whole machine's, and root's. The guest has no capability for them; what
	// is refused here does not depend on every one of them asking for it. Programs
	// expect that of these; every call that is not named anywhere fails with ENOSYS.
	{errno: unix.EPERM, calls: []string{
		"acct", "bpf", "clock_settime", "delete_module", "fanotify_init", "fanotify_mark", "finit_module",
		"init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "open_by_handle_at", "quotactl",
		"quotactl_fd", "reboot", "settimeofday", "swapoff", "swapon", "syslog", "vhangup",
	}},
}

// notifies says whether the rule's calls are left to the second filter.
func (r *rule) notifies(s *Session) bool { return s.Notified && r.notify && r.holds(s) }

// written is for what could leave a program on the host that runs with somebody else's
// rights.
func written(s *Session) bool { return s.Written || s.Home }

// counted is for memory that would not count.
func counted(s *Session) bool { return s.Counted }

// convertsCapabilities is for file capabilities. Who is root in a user namespace may set them,
// and the kernel notes for which root they count (cap_convert_nscap in
// security/commoncap.c): if that is the host's, they count for everyone there. Refused are
// all extended attributes, as the name is in memory: programs know file systems without.
func convertsCapabilities(s *Session) bool {
	return written(s) && s.Root && s.allows(namespaces)
}

// mountsNothing is for file systems in namespaces, of which the filter does not see what they
// are. One is overlayfs, which copies a set-user-ID file of its lower layer to the upper with
// its mode (ovl_set_attr in fs/overlayfs/copy_up.c) and no call of chmod; and writing
// to that through a mapping leaves the mode alone, where write(2) does not
// (file_remove_privs in fs/inode.c). The lower layer needs such a file of the guest's own
// id: a guest of root's has the system's, and one with a database those that it made in
// an earlier session. In a home alone, it could be run by its owner only, who gains nothing by it unless that is root.
func mountsNothing(s *Session) bool {
	return !s.allows(namespaces) || s.Written && s.Kept || written(s) && s.Root
}

// Of package unix's omissions: TIOCLINUX (ioctl_console(2)), and from personality(2)
// PER_LINUX32, UNAME26 and ADDR_NO_RANDOMIZE.
const (
	tiocLinux = 0x541c
	per32     = 0x0008
	unameOld  = 0x0020000
	addrFixed = 0x0040000
)
