package decode

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// image is a memory with one readable piece.
type image struct {
	base  uint64
	bytes []byte
}

func (m image) Read(addr uint64, buf []byte) int {
	if addr < m.base || addr-m.base > uint64(len(m.bytes)) {
		return 0
	}
	return copy(buf, m.bytes[addr-m.base:])
}

func native(name string) *Call {
	nr, _ := syscalls.Native.Number(name)
	return &Call{Pid: 1, Arch: syscalls.Native.Audit, Nr: uint64(nr), Name: name}
}

// routes are files whose sockets ask for routes.
type routes struct{ named }

func (routes) Protocol(int) int       { return unix.NETLINK_ROUTE }
func (routes) Family(int) (int, bool) { return unix.AF_NETLINK, true }

func words(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// netlinkRequest is what getaddrinfo(3) asks the kernel for, and padding.
func netlinkRequest() []byte {
	return words(20|unix.RTM_GETADDR<<32|(unix.NLM_F_REQUEST|unix.NLM_F_DUMP)<<48, 9, 0)
}

func TestText(t *testing.T) {
	const at = 0x10000
	sockaddr := []byte("\x02\x00\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, tc := range []struct {
		name   string
		args   [6]uint64
		memory []byte
		ret    int64
		errno  unix.Errno
		want   string
	}{
		{"openat", [6]uint64{1<<64 - 100, at, unix.O_RDONLY | unix.O_CLOEXEC}, []byte("/etc/passwd\x00"), 3, 0,
			`openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3`},
		{"openat", [6]uint64{5, at, unix.O_WRONLY | unix.O_CREAT, 0o644}, []byte("a\"\n\x00"), -1, unix.ENOENT,
			`openat(5, "a\"\n", O_WRONLY|O_CREAT, 0644) = -1 ENOENT (No such file or directory)`},
		{"openat", [6]uint64{5, 8, 0}, nil, -1, unix.EFAULT, `openat(5, 0x8, O_RDONLY) = -1 EFAULT (Bad address)`},
		{"read", [6]uint64{3, at, 100}, []byte(strings.Repeat("x", 40)), 40, 0,
			`read(3, "` + strings.Repeat("x", 32) + `"..., 100) = 40`},
		{"read", [6]uint64{3, at, 100}, nil, -1, errRestartSys,
			`read(3, 0x10000, 100) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)`},
		{"read", [6]uint64{3, at, 0}, nil, 0, 0, `read(3, "", 0) = 0`},
		{"setuid", [6]uint64{0xfffffffe}, nil, 0, 0, `setuid(4294967294) = 0`},
		{"setresuid", [6]uint64{1<<32 - 1, 1<<64 - 1, 5}, nil, 0, 0, `setresuid(-1, -1, 5) = 0`},
		{"setgroups", [6]uint64{1, at}, words(0xfffffff0), 0, 0, `setgroups(1, [4294967280]) = 0`},
		{"connect", [6]uint64{3, at, 16}, sockaddr, 0, 0,
			`connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0`},
		{"nanosleep", [6]uint64{at, at}, words(1, 500), 0, 0, `nanosleep({tv_sec=1, tv_nsec=500}, 0x10000) = 0`},
		{"nanosleep", [6]uint64{at, at}, words(1, 500), -1, unix.EINTR,
			`nanosleep({tv_sec=1, tv_nsec=500}, {tv_sec=1, tv_nsec=500}) = -1 EINTR (Interrupted system call)`},
		{"wait4", [6]uint64{1<<64 - 1, at, unix.WNOHANG, 0}, words(0x0300), 7, 0,
			`wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], WNOHANG, NULL) = 7`},
		{"wait4", [6]uint64{1<<64 - 1, at, 0, 0}, words(uint64(unix.SIGSEGV) | 0x80), 7, 0,
			`wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGSEGV && WCOREDUMP(s)}], 0, NULL) = 7`},
		{"rt_sigprocmask", [6]uint64{unix.SIG_BLOCK, at, 0, 8}, words(1<<1 | 1<<16), 0, 0,
			`rt_sigprocmask(SIG_BLOCK, [INT CHLD], NULL, 8) = 0`},
		{"rt_sigprocmask", [6]uint64{unix.SIG_SETMASK, at, 0, 8}, words(^uint64(1 << 8)), 0, 0,
			`rt_sigprocmask(SIG_SETMASK, ~[KILL], NULL, 8) = 0`},
		{"writev", [6]uint64{1, at, 2}, append(words(at+32, 2, at+34, 1), "abc"...), 3, 0,
			`writev(1, [{iov_base="ab", iov_len=2}, {iov_base="c", iov_len=1}], 2) = 3`},
		{"prlimit64", [6]uint64{0, unix.RLIMIT_STACK, 0, at}, words(8<<20, unix.RLIM_INFINITY), 0, 0,
			`prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0`},
		{"futex", [6]uint64{at, 128, 2, 0}, nil, 0, 0, `futex(0x10000, FUTEX_WAIT_PRIVATE, 2, NULL) = 0`},
		{"futex", [6]uint64{at, 129, 1, 99}, nil, 1, 0, `futex(0x10000, FUTEX_WAKE_PRIVATE, 1) = 1`},
		{"futex", [6]uint64{at, 1 << 63, 1, 99}, nil, 1, 0, `futex(0x10000, FUTEX_WAIT, 1, 0x63) = 1`},
		{"fcntl", [6]uint64{1, unix.F_GETFL, 99}, nil, 2, 0, `fcntl(1, F_GETFL) = 0x2 (flags O_RDWR)`},
		{"fcntl", [6]uint64{1, unix.F_DUPFD_CLOEXEC, 10}, nil, 10, 0, `fcntl(1, F_DUPFD_CLOEXEC, 10) = 10`},
		{"mmap", [6]uint64{0, 4096, 0, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, 1<<32 - 1, 0}, nil, 0x7f0000000000, 0,
			`mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000`},
		{"umask", [6]uint64{0o22}, nil, 0, 0, `umask(022) = 000`},
		{"epoll_wait", [6]uint64{3, at, 4, 1<<32 - 1}, nil, 0, 0, `epoll_wait(3, [], 4, -1) = 0`},
		{"ppoll", [6]uint64{at, 1, at + 8, 0, 8}, words(3|unix.POLLIN<<32|unix.POLLIN<<48, 1, 500), 1, 0,
			`ppoll([{fd=3, events=POLLIN}], 1, {tv_sec=1, tv_nsec=500}, NULL, 8) = 1 ([{fd=3, revents=POLLIN}], left {tv_sec=1, tv_nsec=500})`},
		{"clone", [6]uint64{uint64(unix.SIGCHLD)}, nil, 7, 0, `clone(child_stack=NULL, flags=SIGCHLD) = 7`},
		{"exit_group", [6]uint64{7}, nil, 0, 0, `exit_group(7) = 0`},

		{"getsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.SO_PEERCRED, at, at + 16}, words(7, 1000, 12), 0, 0,
			`getsockopt(3, SOL_SOCKET, SO_PEERCRED, {pid=7, uid=0, gid=1000}, [12]) = 0`},
		{"setsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.SO_LINGER, at, 8}, words(1 | 5<<32), 0, 0,
			`setsockopt(3, SOL_SOCKET, SO_LINGER, {l_onoff=1, l_linger=5}, 8) = 0`},
		{"getsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.SO_ERROR, at, at + 8}, words(uint64(unix.ECONNREFUSED), 4), 0, 0,
			`getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0`},
		{"setsockopt", [6]uint64{3, unix.SOL_SOCKET, 20, at, 16}, words(2, 5), 0, 0,
			`setsockopt(3, SOL_SOCKET, SO_RCVTIMEO_OLD, {tv_sec=2, tv_usec=5}, 16) = 0`},
		{"sendto", [6]uint64{3, at, 20, 0, at + 24, 12}, append(netlinkRequest(), words(unix.AF_NETLINK, 0)...), 20, 0,
			`sendto(3, [{nlmsg_len=20, nlmsg_type=RTM_GETADDR, nlmsg_flags=NLM_F_REQUEST|NLM_F_DUMP, nlmsg_seq=9, nlmsg_pid=0}, {ifa_family=AF_UNSPEC, ...}], 20, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20`},
		{"sendto", [6]uint64{3, at, 20, 0, 0, 0}, netlinkRequest(), 20, 0,
			`sendto(3, [{nlmsg_len=20, nlmsg_type=RTM_GETADDR, nlmsg_flags=NLM_F_REQUEST|NLM_F_DUMP, nlmsg_seq=9, nlmsg_pid=0}, {ifa_family=AF_UNSPEC, ...}], 20, 0, NULL, 0) = 20`},
		{"sendto", [6]uint64{3, at, 17, 0, 0, 0}, append(words(17|105<<32|(1|0x100)<<48, 9), 2), 17, 0,
			`sendto(3, [{nlmsg_len=17, nlmsg_type=RTM_DELNEXTHOP, nlmsg_flags=NLM_F_REQUEST|NLM_F_NONREC, nlmsg_seq=9, nlmsg_pid=0}, {family=AF_INET}], 17, 0, NULL, 0) = 17`},
		{"sendto", [6]uint64{3, at, 4, 0, 0, 0}, []byte("\x14\x00\x00\x00"), 4, 0, `sendto(3, "\24\0\0\0", 4, 0, NULL, 0) = 4`},
		{"sendmmsg", [6]uint64{3, at, 2, 0}, append(words(0, 0, at+128, 1, 0, 0, 0, 2, 0, 0, at+128, 1, 0, 0, 0, 0, at+144, 2), "ab"...), 1, 0,
			`sendmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="ab", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=2}, {msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="ab", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}}], 2, 0) = 1`},
		{"recvmmsg", [6]uint64{3, at, 2, 0, at + 64}, words(0, 0, 0, 0, 0, 0, 0, 0, 1, 2), 0, 0,
			`recvmmsg(3, [], 2, 0, {tv_sec=1, tv_nsec=2}) = 0 (Timeout)`},
		{"capset", [6]uint64{at, at + 8}, words(0x20080522, 1<<21|2<<32, 0, 1), 0, 0,
			`capset({version=_LINUX_CAPABILITY_VERSION_3, pid=0}, {effective=1<<CAP_SYS_ADMIN, permitted=1<<CAP_DAC_OVERRIDE|1<<CAP_MAC_OVERRIDE, inheritable=0}) = 0`},
		{"seccomp", [6]uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, at}, words(3, 0x5000), 0, 0,
			`seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, {len=3, filter=0x5000}) = 0`},
		{"prctl", [6]uint64{unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, at}, words(3, 0x5000), 0, 0,
			`prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, {len=3, filter=0x5000}) = 0`},
		{"prctl", [6]uint64{unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_RAW}, nil, 0, 0,
			`prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) = 0`},
		{"timer_create", [6]uint64{unix.CLOCK_MONOTONIC, at, at + 64}, append(words(5, uint64(unix.SIGALRM)|4<<32, 99, 0, 0, 0, 0, 0), words(3)...), 0, 0,
			`timer_create(CLOCK_MONOTONIC, {sigev_value={sival_int=5, sival_ptr=0x5}, sigev_signo=SIGALRM, sigev_notify=SIGEV_THREAD_ID, sigev_notify_thread_id=99}, [3]) = 0`},
		{"sched_getattr", [6]uint64{0, at, 56, 0}, words(48|1<<32, 0, 5<<32, 1, 2, 3, 0), 0, 0,
			`sched_getattr(0, {size=48, sched_policy=SCHED_FIFO, sched_flags=0, sched_nice=0, sched_priority=5, sched_runtime=1, sched_deadline=2, sched_period=3}, 56, 0) = 0`},
		{"io_uring_setup", [6]uint64{8, at}, append(words(0, 1<<1, 1000), make([]byte, 96)...), -1, unix.EPERM,
			`io_uring_setup(8, {flags=IORING_SETUP_SQPOLL, sq_thread_cpu=0, sq_thread_idle=1000}) = -1 EPERM (Operation not permitted)`},
		{"mount", [6]uint64{at, at, at, unix.MS_RDONLY, at}, []byte("tmpfs\x00"), 0, 0, `mount("tmpfs", "tmpfs", "tmpfs", MS_RDONLY, "tmpfs") = 0`},
		{"mount", [6]uint64{at, at, at, unix.MS_BIND, at}, []byte("/a\x00"), 0, 0, `mount("/a", "/a", 0x10000, MS_BIND, 0x10000) = 0`},
		{"fcntl", [6]uint64{0, 1<<32 | unix.F_GETOWN_EX, at}, words(1 | 77<<32), 0, 0, `fcntl(0, F_GETOWN_EX, {type=F_OWNER_PID, pid=77}) = 0`},
		{"writev", [6]uint64{1, at, 2}, append(words(at+32, ^uint64(0), at+32, 1), strings.Repeat("x", 40)...), -1, unix.EINVAL,
			`writev(1, [{iov_base="` + strings.Repeat("x", 32) + `"..., iov_len=18446744073709551615}, {iov_base="x", iov_len=1}], 2) = -1 EINVAL (Invalid argument)`},
		{"futex", [6]uint64{at, 9 | 128 | 256, 2, 0, 99, 1<<32 - 1}, nil, -1, unix.EAGAIN,
			`futex(0x10000, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 2, NULL, FUTEX_BITSET_MATCH_ANY) = -1 EAGAIN (Resource temporarily unavailable)`},
		{"futex", [6]uint64{at, 5, 2, 3, at, 1<<28 | 4<<24 | 5<<12 | 6}, nil, 1, 0,
			`futex(0x10000, FUTEX_WAKE_OP, 2, 3, 0x10000, FUTEX_OP_ADD<<28|0x5<<12|FUTEX_OP_CMP_GT<<24|0x6) = 1`},
		{"futex", [6]uint64{at, 6, 2, 0}, nil, 0, 0, `futex(0x10000, FUTEX_LOCK_PI, NULL) = 0`},
		{"futex_waitv", [6]uint64{at, 1, 0, 0, 1}, words(7, 0x40, 130), 0, 0,
			`futex_waitv([{val=0x7, uaddr=0x40, flags=FUTEX_32|FUTEX_PRIVATE_FLAG}], 1, 0, NULL, CLOCK_MONOTONIC) = 0`},
		{"prctl", [6]uint64{unix.PR_GET_NAME, at}, []byte("worker\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0, 0, `prctl(PR_GET_NAME, "worker") = 0`},
		{"prctl", [6]uint64{unix.PR_SET_NAME, at}, []byte("a name that is long"), 0, 0, `prctl(PR_SET_NAME, "a name that is "...) = 0`},
		{"prctl", [6]uint64{unix.PR_GET_PDEATHSIG, at}, words(15), 0, 0, `prctl(PR_GET_PDEATHSIG, [SIGTERM]) = 0`},
		{"prctl", [6]uint64{unix.PR_MCE_KILL, 1, 1}, nil, 0, 0, `prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0) = 0`},
		{"prctl", [6]uint64{unix.PR_MCE_KILL, 0, 1}, nil, 0, 0, `prctl(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 0x1, 0, 0) = 0`},
		{"prctl", [6]uint64{unix.PR_SET_DUMPABLE, 1<<32 | 1}, nil, -1, unix.EINVAL,
			`prctl(PR_SET_DUMPABLE, 0x100000001 /* SUID_DUMP_??? */) = -1 EINVAL (Invalid argument)`},
		{"prctl", [6]uint64{unix.PR_SET_SECCOMP, 1, 5}, nil, 0, 0, `prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) = 0`},
		{"prctl", [6]uint64{unix.PR_SET_TAGGED_ADDR_CTRL, 1 | 2}, nil, 0, 0,
			`prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE|PR_MTE_TCF_SYNC, 0, 0, 0) = 0`},
		{"prctl", [6]uint64{unix.PR_SVE_GET_VL}, nil, 0x20010, 0, `prctl(PR_SVE_GET_VL) = 0x20010 (PR_SVE_VL_INHERIT|0x10)`},
		{"prctl", [6]uint64{unix.PR_SCHED_CORE, 0, 7, 1, at}, words(0xabc), 0, 0,
			`prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 7, 0x1 /* PIDTYPE_TGID */, [0xabc]) = 0`},
		{"openat", [6]uint64{5, at, 1 << 31}, []byte("a\x00"), -1, unix.EINVAL, `openat(5, "a", O_RDONLY|0x80000000) = -1 EINVAL (Invalid argument)`},
		{"openat2", [6]uint64{5, at, at + 8, 32}, words('a', 0, 0, 0, 3), -1, unix.E2BIG,
			`openat2(5, "a", {flags=O_RDONLY, resolve=0, /* bytes 24..31 */ "\x03\x00\x00\x00\x00\x00\x00\x00"}, 32) = -1 E2BIG (Argument list too long)`},
		{"openat2", [6]uint64{5, at, at + 8, 40}, words('a', 0, 0, 0), -1, unix.EFAULT,
			`openat2(5, "a", {flags=O_RDONLY, resolve=0, ???}, 40) = -1 EFAULT (Bad address)`},
		{"set_mempolicy", [6]uint64{0x8002, at, 66}, words(3, 0), 0, 0,
			`set_mempolicy(MPOL_BIND|MPOL_F_STATIC_NODES, [0000000000000003, 0000000000000000], 66) = 0`},
		{"move_pages", [6]uint64{0, 2, at, 0, at + 16, 2}, append(words(0x5000, 0x6000), words(1|uint64(0xfffffff2)<<32)...), 0, 0,
			`move_pages(0, 2, [0x5000, 0x6000], NULL, [1, -EFAULT], MPOL_MF_MOVE) = 0`},
		{"fcntl", [6]uint64{1, unix.F_GETSIG}, nil, 1, 0, `fcntl(1, F_GETSIG) = 1 (SIGHUP)`},
		{"getsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.SO_TYPE, at, at + 8}, words(2, 3), 0, 0, `getsockopt(3, SOL_SOCKET, SO_TYPE, "\2\0\0", [3]) = 0`},
		{"sendmmsg", [6]uint64{3, at, 2, 0}, append(words(0, 0, at+128, 1, 0, 0, 0, 2, 0, 0, at+128, 1, 0, 0, 0, 0, at+144, 2), "ab"...), -1, unix.EPERM,
			`sendmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="ab", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}}, {msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="ab", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}}], 2, 0) = -1 EPERM (Operation not permitted)`},
		{"ioctl", [6]uint64{0, unix.TCGETS, at}, append(words(unix.ICRNL|unix.IXON|(unix.OPOST|unix.ONLCR)<<32, unix.B38400|unix.CS8|unix.CREAD|(unix.ISIG|unix.ICANON)<<32), make([]byte, 20)...), 0, 0,
			`ioctl(0, TCGETS, {c_iflag=ICRNL|IXON, c_oflag=NL0|CR0|TAB0|BS0|VT0|FF0|OPOST|ONLCR, c_cflag=B38400|CS8|CREAD, c_lflag=ISIG|ICANON, ...}) = 0`},
		{"ioctl", [6]uint64{0, unix.TIOCGWINSZ, at}, words(24 | 80<<16), 0, 0,
			`ioctl(0, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}) = 0`},
		{"ioctl", [6]uint64{0, unix.TIOCMBIS, at}, words(unix.TIOCM_DTR | unix.TIOCM_RTS), -1, unix.ENOTTY,
			`ioctl(0, TIOCMBIS, [TIOCM_DTR|TIOCM_RTS]) = -1 ENOTTY (Inappropriate ioctl for device)`},
		{"ioctl", [6]uint64{0, unix.FS_IOC_GETFLAGS, at}, words(0x10), 0, 0, `ioctl(0, FS_IOC_GETFLAGS, [FS_IMMUTABLE_FL]) = 0`},
		{"ioctl", [6]uint64{0, 0xb703}, nil, unix.CLONE_NEWUSER, 0, `ioctl(0, NS_GET_NSTYPE) = 268435456 (CLONE_NEWUSER)`},
		{"ioctl", [6]uint64{0, 0x40081234, at}, nil, 0, 0, `ioctl(0, _IOC(_IOC_WRITE, 0x12, 0x34, 0x8), 0x10000) = 0`},
		{"personality", [6]uint64{0x40000}, nil, 8, 0, `personality(PER_LINUX|ADDR_NO_RANDOMIZE) = 0x8 (PER_LINUX32)`},
		{"swapon", [6]uint64{at, 0x8000 | 42}, []byte("/s\x00"), 0, 0, `swapon("/s", SWAP_FLAG_PREFER|42) = 0`},
		{"reboot", [6]uint64{0xfee1dead, 672274793, 0xa1b2c3d4, at}, []byte("now\x00"), 0, 0,
			`reboot(LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART2, "now") = 0`},
		{"quotactl_fd", [6]uint64{3, 0x800005<<8 | 1, 7, at}, nil, 0, 0, `quotactl_fd(3, QCMD(Q_GETINFO, GRPQUOTA), 0x10000) = 0`},
		{"clone3", [6]uint64{at, 88}, words(unix.CLONE_INTO_CGROUP, 0, 0, 0, uint64(unix.SIGCHLD), 0, 0, 0, at, 1, 9), 7, 0,
			`clone3({flags=CLONE_INTO_CGROUP, exit_signal=SIGCHLD, stack=NULL, stack_size=0, set_tid=[0], set_tid_size=1, cgroup=9}, 88) = 7`},
		{"shmget", [6]uint64{0, 4096, 0o1600}, nil, 7, 0, `shmget(IPC_PRIVATE, 4096, IPC_CREAT|0600) = 7`},
		{"shmget", [6]uint64{5, 4096, 21<<26 | 0o4000}, nil, 7, 0, `shmget(0x5, 4096, SHM_HUGETLB|21<<SHM_HUGE_SHIFT|000) = 7`},
		{"shmctl", [6]uint64{7, 2, at}, append(words(1000<<32, 1000, 0o600<<32, 0, 0, 0, 4096, 1, 2, 3, 8|9<<32, 4), make([]byte, 16)...), 0, 0,
			`shmctl(7, IPC_STAT, {shm_perm={uid=1000, gid=1000, mode=0600, key=0, cuid=0, cgid=0}, shm_segsz=4096, shm_cpid=8, shm_lpid=9, shm_nattch=4, shm_atime=1, shm_dtime=2, shm_ctime=3}) = 0`},
		{"semctl", [6]uint64{7, 0, 0x100, 0}, nil, 0, 0, `semctl(7, 0, IPC_64|IPC_RMID, NULL) = 0`},
		{"msgsnd", [6]uint64{7, at, 2, 0o4000}, append(words(3), "ab"...), 0, 0, `msgsnd(7, {mtype=3, mtext="ab"}, 2, IPC_NOWAIT) = 0`},
		{"msgrcv", [6]uint64{7, at, 8, 3, 0}, append(words(3), "ab"...), 2, 0, `msgrcv(7, {mtype=3, mtext="ab"}, 8, 3, 0) = 2`},
		{"fanotify_init", [6]uint64{4 | 1, 0}, nil, 3, 0, `fanotify_init(FAN_CLASS_CONTENT|FAN_CLOEXEC, O_RDONLY) = 3`},
		{"fanotify_mark", [6]uint64{3, 1, 0x40000020, 1<<32 - 1, at}, []byte("/a\x00"), 0, 0, `fanotify_mark(3, FAN_MARK_ADD, FAN_OPEN|FAN_ONDIR, FAN_NOFD, "/a") = 0`},
		{"io_getevents", [6]uint64{5, 1, 2, at, 0}, words(7, 8, 4096, 0), 1, 0, `io_getevents(0x5, 1, 2, [{data=0x7, obj=0x8, res=4096, res2=0}], NULL) = 1`},
		{"sched_setattr", [6]uint64{0, at, 0}, words(48|1<<32, 0x10, 5<<32, 1, 2, 3, 0), 0, 0, `sched_setattr(0, {size=48, sched_flags=SCHED_FLAG_KEEP_PARAMS}, 0) = 0`},
		{"ioctl", [6]uint64{0, unix.TIOCINQ, at}, words(12), 0, 0, `ioctl(0, FIONREAD, [12]) = 0`},
		{"chdir", [6]uint64{at + 0xffd}, append(make([]byte, 0xffd), "/a\x00"...), 0, 0, `chdir("/a") = 0`}, // the page's last bytes
		{"sysinfo", [6]uint64{at}, append(words(7), make([]byte, 104)...), 0, 0,
			`sysinfo({uptime=7, loads=[0, 0, 0], totalram=0, freeram=0, sharedram=0, bufferram=0, totalswap=0, freeswap=0, procs=0, totalhigh=0, freehigh=0, mem_unit=0}) = 0`},
	} {
		if _, ok := syscalls.Native.Number(tc.name); !ok {
			continue // e.g. epoll_wait on arm64
		}
		c := native(tc.name)
		c.Args, c.Mem, c.Ret, c.Files = tc.args, image{at, tc.memory}, tc.ret, routes{}
		if tc.errno != 0 {
			c.Ret, c.Failed = -int64(tc.errno), true
		}
		line, result := text(c)
		if got := line + " = " + result; got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// The kernel fills in a thread's id where the parent wants it: what it finds there
// before the call is not shown.
func TestParentTid(t *testing.T) {
	const at = 0x10000
	c := native("clone")
	c.Args[0], c.Args[2], c.Mem = unix.CLONE_PARENT_SETTID|unix.CLONE_VM, at, image{at, words(0)}
	args, complete := Enter(c)
	if got := strings.Join(args, ", "); got != "child_stack=NULL, flags=CLONE_VM|CLONE_PARENT_SETTID" || complete {
		t.Errorf("at the entry %s, complete %v", got, complete)
	}
	c.Mem, c.Ret = image{at, words(7)}, 7
	if got := strings.Join(Exit(c), ", "); got != "parent_tid=[7]" {
		t.Errorf("at the exit %s", got)
	}
	c = native("clone")
	if _, complete := Enter(c); !complete {
		t.Error("clone without flags is not complete at the entry")
	}
}

// A call of another architecture, or one without a name, is six registers.
func TestForeign(t *testing.T) {
	for _, c := range []*Call{
		{Arch: 0x40000003, Nr: 5, Name: "syscall_0x5"},
		{Arch: syscalls.Native.Audit, Nr: syscalls.X32Bit | 1, Name: "syscall_0x40000001"},
		{Arch: syscalls.Native.Audit, Nr: 400, Name: "syscall_0x190"},
	} {
		c.Args, c.Mem = [6]uint64{1, 2, 3, 4, 5, 6}, nothing{}
		args, complete := Enter(c)
		if got := strings.Join(args, " "); got != "0x1 0x2 0x3 0x4 0x5 0x6" || !complete {
			t.Errorf("%s: %s, complete %v", c.Name, got, complete)
		}
		if foreign := c.Nr != 400; c.Foreign() != foreign {
			t.Errorf("%s: Foreign() = %v", c.Name, c.Foreign())
		}
	}
}

// The arguments of every call of both architectures can be read.
func TestTable(t *testing.T) {
	for _, arch := range []*syscalls.Arch{&syscalls.AMD64, &syscalls.ARM64} {
		for _, c := range arch.All() {
			if _, err := parseSignature(c.Args); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

func TestTableErrors(t *testing.T) {
	for _, bad := range []string{
		"nokind", "flags/noflags", "int = noresult", "9@int", "int int int int int int int",
	} {
		if _, err := parseSignature(bad); err == nil {
			t.Errorf("%q is a signature", bad)
		}
	}
}

func TestSiginfo(t *testing.T) {
	info := func(sig, code int, union ...uint64) *Siginfo {
		var s Siginfo
		binary.LittleEndian.PutUint32(s[0:], uint32(sig))
		binary.LittleEndian.PutUint32(s[8:], uint32(code))
		copy(s[16:], words(union...))
		return &s
	}
	for _, tc := range []struct {
		info *Siginfo
		want string
	}{
		{info(int(unix.SIGTERM), 0, 7|1000<<32), "{si_signo=SIGTERM, si_code=SI_USER, si_pid=7, si_uid=1000}"},
		{info(int(unix.SIGCHLD), 1, 7|1000<<32, 3, 4, 5),
			"{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7, si_uid=1000, si_status=3, si_utime=4 /* 0.04 s */, si_stime=5 /* 0.05 s */}"},
		{info(int(unix.SIGCHLD), 2, 7, 9),
			"{si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=7, si_uid=0, si_status=SIGKILL, si_utime=0, si_stime=0}"},
		{info(int(unix.SIGSEGV), 1, 0), "{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}"},
		{info(40, -1, 7, 9), "{si_signo=SIGRT_8, si_code=SI_QUEUE, si_pid=7, si_uid=0, si_int=9, si_ptr=0x9}"},
		{info(int(unix.SIGALRM), 0x80), "{si_signo=SIGALRM, si_code=SI_KERNEL}"},
		{info(99, 77), "{si_signo=99, si_code=0x4d, si_pid=0, si_uid=0, si_int=0, si_ptr=NULL}"},
	} {
		if got := tc.info.String(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// A quoted string is printable ASCII and reads back as what it was. Go's own
// reader needs octal escapes of three digits.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x00", "\x001", "\x018", "\x7f\xff", "a\"b\\c\n\t\r\v\f", "é"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q := Quote(b)
		var full strings.Builder
		for i := 0; i < len(q); i++ {
			if q[i] < ' ' || q[i] > '~' {
				t.Fatalf("%q contains byte %#x", q, q[i])
			}
			full.WriteByte(q[i])
			if q[i] != '\\' {
				continue
			}
			i++
			digits := 0
			for digits < 3 && i+digits < len(q) && q[i+digits] >= '0' && q[i+digits] <= '7' {
				digits++
			}
			if digits == 0 {
				full.WriteByte(q[i])
				continue
			}
			full.WriteString(strings.Repeat("0", 3-digits) + q[i:i+digits])
			i += digits - 1
		}
		back, err := strconv.Unquote(full.String())
		if err != nil || back != string(b) {
			t.Fatalf("%q reads back as %q, %v", q, back, err)
		}
	})
}

// everywhere is a memory that repeats its bytes at all addresses.
type everywhere []byte

func (m everywhere) Read(addr uint64, buf []byte) int {
	if len(m) == 0 {
		return 0
	}
	for i := range buf {
		buf[i] = m[(addr+uint64(i))%uint64(len(m))]
	}
	return len(buf)
}

// named is files that all have the same name.
type named string

func (n named) Path(int) string { return string(n) }
func (n named) Dir() string     { return string(n) }

// maxText is more than any call's text: four paths whose every byte is an escape
// of four, and arrays of strings.
const maxText = 5 * 4 * maxPath

// Whatever the registers and the memory hold, the text is printable and bounded,
// and the same in one piece as argument by argument.
func FuzzDecode(f *testing.F) {
	for nr := range len(syscalls.Native.Names()) {
		f.Add(uint(nr), uint64(0x1000), uint64(0x1008), uint64(0x1010), uint64(3), int64(1), false, []byte("\x01\x10\x00\x00\x00\x00\x00\x00abc"))
		f.Add(uint(nr), uint64(3), uint64(0x1000), ^uint64(0), uint64(0x1000), int64(-5), false, []byte(strings.Repeat("\xff\x10", 300)))
		f.Add(uint(nr), uint64(2), uint64(0x1000), uint64(0x2000), uint64(0x3000), int64(1<<40), true, []byte("\xff\x10\x01\x02"))
	}
	names := syscalls.Native.Names()
	f.Fuzz(func(t *testing.T, call uint, a, b, c, d uint64, ret int64, full bool, memory []byte) {
		x := native(names[call%uint(len(names))])
		x.Args = [6]uint64{a, b, c, d, b, c}
		x.Mem, x.Ret, x.Failed = image{0x1000, memory}, ret, ret < 0 && ret > -4096
		if full {
			x.Mem, x.Show, x.Files = everywhere(memory), AllDescriptors, named(memory[:min(len(memory), 100)])
		}
		line, result := text(x)
		enter, complete := AppendEnter(nil, x)
		if exit := AppendExit(nil, x); len(exit) > 0 {
			if complete {
				t.Fatalf("%s: complete, but %s follows %s", x.Name, exit, enter)
			}
			if len(enter) > 0 {
				enter = append(enter, ", "...)
			}
			enter = append(enter, exit...)
		}
		if whole := x.Name + "(" + string(enter) + ")"; whole != line {
			t.Fatalf("in one piece %s\nby argument  %s", whole, line)
		}
		var info Siginfo
		copy(info[:], memory)
		all := line + result + info.String()
		if len(all) > maxText {
			t.Fatalf("%s: %d bytes of text", x.Name, len(all))
		}
		for _, r := range all {
			if r < ' ' || r > '~' {
				t.Fatalf("%s: %q is not printable", x.Name, all)
			}
		}
		// What a report reads is bounded too; it quotes by itself.
		if s, ok := String(x.Mem, a); ok && len(s) > maxPath {
			t.Fatalf("a path of %d bytes", len(s))
		}
		if all, _ := Strings(x.Mem, b, 4, 10); len(all) > 4 {
			t.Fatalf("%d strings instead of 4", len(all))
		}
		if s := Address(x.Mem, a, b) + MessageAddress(x.Mem, c); len(s) > 2*maxSockaddr {
			t.Fatalf("an address of %d bytes", len(s))
		}
	})
}

// Of an address that the kernel had to cut off, no more is read than there was room for.
func TestAddressLength(t *testing.T) {
	const at, length = 0x10000, 0x10020
	memory := make([]byte, 0x24)
	copy(memory, "\x01\x00/run/a and what was there")
	memory[0x20] = 8 // the caller's room: the family and six bytes
	c := native("getsockname")
	c.Args, c.Mem = [6]uint64{3, at, length}, image{at, memory}
	Enter(c)
	memory[0x20] = 30 // what the kernel stores
	if got := strings.Join(Exit(c), ", "); got != `{sa_family=AF_UNIX, sun_path="/run/a"}, [8 => 30]` {
		t.Error(got)
	}
}

// Lists of strings are shown as far as there is memory, and environments whole if structures are to be.
func TestStringLists(t *testing.T) {
	const at = 0x10000
	memory := append(words(at+32, at+34, 8), make([]byte, 8)...)
	memory = append(memory, "a\x00b\x00"...)
	c := native("execve")
	c.Args, c.Mem, c.Failed, c.Ret = [6]uint64{at + 32, at, at}, image{at, memory}, true, -int64(unix.EFAULT)
	if got, _ := text(c); got != `execve("a", ["a", "b", 0x8], 0x10000 /* 3 vars */)` {
		t.Error(got)
	}
	c.Whole = true
	if got, _ := text(c); got != `execve("a", ["a", "b", 0x8], ["a", "b", 0x8])` {
		t.Error(got)
	}
	c.Mem, c.Whole = image{at, memory[:24]}, false
	if got, _ := text(c); got != `execve(0x10020, [0x10020, 0x10022, 0x8, ... /* 0x10018 */], 0x10000 /* 3 vars, unterminated */)` {
		t.Error(got)
	}
}

// A struct stat is shown whole if it is asked for.
func TestWhole(t *testing.T) {
	const at = 0x10000
	memory := make([]byte, statSize)
	binary.LittleEndian.PutUint32(memory[statMode:], unix.S_IFREG|0o644)
	binary.LittleEndian.PutUint64(memory[statBytes:], 7)
	c := native("fstat")
	c.Args, c.Mem, c.Whole = [6]uint64{3, at}, image{at, memory}, true
	want := "fstat(3, {st_dev=makedev(0, 0), st_ino=0, st_mode=S_IFREG|0644, st_nlink=0, st_uid=0, st_gid=0, st_blksize=0, st_blocks=0, st_size=7, st_atime=0, st_mtime=0, st_ctime=0})"
	if got, _ := text(c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What the table of ioctl says is read when the first request is decoded: all of it must be right.
func TestRequests(t *testing.T) {
	if got := len(knownRequests()); got != len(requests) {
		t.Errorf("%d requests have %d numbers", len(requests), got)
	}
}

// A handler of signals returns to the mask that the kernel has put on the stack.
func TestSignalFrame(t *testing.T) {
	c := native("rt_sigreturn")
	c.SP, c.Mem = 0x1000, image{0x1000 + signalMaskAt, words(1 << (unix.SIGINT - 1))}
	if args, _ := Enter(c); len(args) != 1 || args[0] != "{mask=[INT]}" {
		t.Errorf("got %q", args)
	}
	c.Mem = nothing{}
	if args, _ := Enter(c); len(args) != 0 {
		t.Errorf("without memory %q", args)
	}
}
