package decode

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// kinds are the kinds of argument by their names in package syscalls' table.
var kinds = map[string]kind{
	"int": printInt, "fd": printFd, "long": printLong, "off": printLong,
	"uint": printUint, "ulong": printUlong, "size": printUlong,
	"hex": printHex,
	"id":  printID, "id_p": printIDP, "id_list": printIDList, "id_array": printIDArray,
	"addr": printAddr, "mode": printMode, "filemode": printFileMode,
	"flags": printFlags, "enum": printEnum, "device": printDevice,
	"dirfd": printDirfd, "path": printPath, "buf": printBuf, "random": printRandom, "cstring": printCstring,
	"oflags": printOpenFlags, "openmode": printOpenMode, "open_how": printOpenHow,

	"int_p": printIntP, "off_p": printLongP, "fd_pair": printFdPair,
	"socklen":  printSocklen,
	"timespec": printTimespec, "timespec_rest": printTimespecRest, "timeval": printTimeval,
	"timevals": printTimevals, "utimens": printUtimens,
	"itimerspec": printItimerspec, "itimerval": printItimerval,
	"stat": printStat, "statx": printStatx, "statx_flags": printStatxFlags, "statfs": printStatfs,
	"rlimit": printRlimit, "rusage": printRusage, "utsname": printUtsname,
	"iovec": printIovec, "iovec_raw": printIovecRaw, "iovec_out": printIovecOut,
	"fcntl_arg": printFcntlArg, "flock": printFlock, "ioctl": printIoctl, "ioctl_arg": printIoctlArg,
	"dirents": printDirents, "pollfd": printPollfd, "fd_set": printFdSet,
	"epoll_event": printEpollEvent, "epoll_events": printEpollEvents,

	"argv": printArgv, "envp": printEnvp, "clone": printClone, "clone_ids": printCloneIDs, "clone_args": printCloneArgs,
	"wait_status": printWaitStatus, "mmap_flags": printMmapFlags, "mremap_to": printMremapTo,
	"futex_op": printFutexOp, "futex_arg": printFutexArg, "futex_waiters": printFutexWaiters,
	"cpuset": printCpuset, "cpuset_out": printCpusetOut, "restart": printRestart,

	"signal": printSignal, "sigset": printSigset, "sigset_ptr": printSigsetPtr, "sigaction": printSigaction,
	"siginfo": printSiginfo, "stack": printStack,
	"struct": printStructure, "lflags": printLongFlags, "text": printText, "buf_text": printBufText, "time": printTime,
	"sigevent": printSigevent, "sched_attr": printSchedAttr, "cap_data": printCapData, "ring": printRing, "prctl": printPrctl,
	"seccomp_flags": printSeccompFlags, "seccomp_arg": printSeccompArg, "mmsg": printMmsg, "timespec_before": printTimespecBefore,
	"offset": printOffset, "mount_flags": printMountFlags, "mount_type": printMountType, "mount_data": printMountData,
	"mount_attr": printMountAttr, "fsconfig_key": printFsconfigKey, "fsconfig_value": printFsconfigValue, "fsconfig_aux": printFsconfigAux,
	"landlock_ruleset": printLandlockRuleset, "landlock_rule": printLandlockRule, "ioprio": printIoprio, "sent": printSent,
	"hex32": printHex32, "mq_attr": printMqAttr, "syslog_arg": printSyslogArg, "keyring": printKeyring, "sembuf": printSembuf,
	"residency": printResidency, "termios": printTermios, "termios2": printTermios2, "termio": printTermio, "flags_p": printFlagsP,
	"ulong_p": printUlongP, "range_p": printRangeP, "buf_of": printBufOf, "entropy": printEntropy, "personality": printPersonality,
	"swap_flags": printSwapFlags, "reboot_arg": printRebootArg, "quota": printQuota, "quota_arg": printQuotaArg,
	"signal_frame": printSignalFrame, "key": printKey, "ipc_flags": printIPCFlags, "ipc_command": printIPCCommand,
	"ipc_arg": printIPCArg, "message": printMessage, "fan_init": printFanInit, "fan_dir": printFanDir, "io_events": printIOEvents,
	"mpol": printPolicy, "mpol_long": printLongPolicy, "mpol_p": printPolicyP, "nodes": printNodes, "addr_list": printAddrList,
	"int_list": printIntList, "page_status": printPageStatus, "size_p": printSizeP, "addr_p": printAddrP,
	"memfd_flags": printMemfdFlags, "hostname": printHostname, "buf_list": printBufList, "sigset_part": printSigsetPart,
	"device_number": printDeviceNumber, "syslog": printSyslog, "kcmp_arg": printKcmpArg,

	"sockaddr": printSockaddr, "sockaddr_out": printSockaddrOut, "socktype": printSocktype, "protocol": printProtocol,
	"msghdr": printMsghdr, "msghdr_out": printMsghdrOut, "sockopt": printSockopt,
	"optval": printOptval, "optval_out": printOptvalOut,
}

func printInt(p *printer, _ *argument, v uint64) bool { p.dec(int64(int32(v))); return true }

// printID prints the id of a user or group, which is unsigned; -1 stands for none.
func printID(p *printer, _ *argument, v uint64) bool { p.id(uint32(v)); return true }

func (p *printer) id(v uint32) {
	if v == ^uint32(0) {
		p.dec(-1)
	} else {
		p.udec(uint64(v))
	}
}

func (p *printer) idElement(b []byte) { p.id(u32(b, 0)) }

func printLong(p *printer, _ *argument, v uint64) bool  { p.dec(int64(v)); return true }
func printUint(p *printer, _ *argument, v uint64) bool  { p.udec(uint64(uint32(v))); return true }
func printUlong(p *printer, _ *argument, v uint64) bool { p.udec(v); return true }
func printHex(p *printer, _ *argument, v uint64) bool   { p.hex(v); return true }
func printHex32(p *printer, _ *argument, v uint64) bool { p.hex(uint64(uint32(v))); return true }
func printAddr(p *printer, _ *argument, v uint64) bool  { p.addr(v); return true }

func printFd(p *printer, _ *argument, v uint64) bool { p.fd(int32(v)); return true }

func printMode(p *printer, _ *argument, v uint64) bool {
	p.mode(uint32(v) & 0xffff)
	return true
}

// longMode is mode for a member of 64 bits.
func (p *printer) longMode(m uint64) {
	if m <= 0xffffffff {
		p.mode(uint32(m))
		return
	}
	p.str("0")
	p.buf = strconv.AppendUint(p.buf, m, 8)
}

// mode prints permission bits in octal, with at least three digits.
func (p *printer) mode(m uint32) {
	p.str("0")
	if m < 0o10 {
		p.str("0")
	}
	p.buf = strconv.AppendUint(p.buf, uint64(m), 8)
}

func printFileMode(p *printer, _ *argument, v uint64) bool {
	p.fileMode(uint32(v) & 0xffff)
	return true
}

// fileMode prints a file's type and permissions.
func (p *printer) fileMode(m uint32) {
	if kind := m & unix.S_IFMT; fileFlags["filetype"].has(kind) {
		p.name(fileFlags["filetype"], uint64(kind), "")
		for _, bit := range []struct {
			value uint32
			name  string
		}{{unix.S_ISUID, "|S_ISUID"}, {unix.S_ISGID, "|S_ISGID"}, {unix.S_ISVTX, "|S_ISVTX"}} {
			if m&bit.value != 0 {
				p.str(bit.name)
				m &^= bit.value
			}
		}
		p.str("|")
		m &= 0o777
	}
	p.mode(m)
}

// printDevice prints the device of a mknod that makes one.
func printDevice(p *printer, a *argument, v uint64) bool {
	if kind := p.call.Args[a.number] & unix.S_IFMT; kind != unix.S_IFCHR && kind != unix.S_IFBLK {
		return false
	}
	p.device(uint64(uint32(v))) // the kernel's are 32 bits
	return true
}

// printText prints a string that is no path, up to the limit of strings.
func printText(p *printer, a *argument, v uint64) bool {
	limit := p.stringLimit()
	if a.number > 0 {
		limit = a.number
	}
	p.cstring(v, limit)
	return true
}

// printHostname prints a name of the system, which is longer in no call that succeeds.
func printHostname(p *printer, a *argument, v uint64) bool {
	const most = 64 // __NEW_UTS_LEN
	if uint32(p.call.Args[a.number]) > most {
		p.addr(v)
		return true
	}
	return printBuf(p, a, v)
}

// printBufList is printBuf for a list, which nothing is written of where there is no room.
func printBufList(p *printer, a *argument, v uint64) bool {
	if p.call.Args[a.register+1] == 0 {
		p.addr(v)
		return true
	}
	return printBuf(p, a, v)
}

// maxAttribute is XATTR_SIZE_MAX (include/uapi/linux/limits.h).
const maxAttribute = 1 << 16

// printBufText is printBuf for a value that may be a string: a NUL at its end is left out.
func printBufText(p *printer, a *argument, v uint64) bool {
	n := p.call.Args[a.number]
	if a.output {
		if p.call.Failed || p.call.Args[a.register+1] == 0 {
			p.addr(v)
			return true
		}
		n = uint64(p.call.Ret)
	}
	if n > maxAttribute {
		p.addr(v)
		return true
	}
	if b := p.peek(v+n-1, 1); n > 0 && n <= uint64(p.stringLimit())+1 && b != nil && b[0] == 0 {
		n--
	}
	p.bytes(v, n)
	return true
}

func printDirfd(p *printer, _ *argument, v uint64) bool {
	if int32(v) == unix.AT_FDCWD {
		p.str("AT_FDCWD")
		if p.call.Show&PathDescriptors != 0 {
			p.file(p.call.Files.Dir())
		}
	} else {
		p.fd(int32(v))
	}
	return true
}

func printPath(p *printer, _ *argument, v uint64) bool {
	p.cstring(v, maxPath)
	return true
}

// printCstring prints a string that the kernel has written.
func printCstring(p *printer, _ *argument, v uint64) bool {
	if p.call.Failed {
		p.addr(v)
	} else {
		p.cstring(v, maxPath)
	}
	return true
}

// printRandom prints a buffer of random bytes, all of them as numbers.
func printRandom(p *printer, a *argument, v uint64) bool {
	n := min(max(p.call.Ret, 0), int64(p.stringLimit()))
	if b := p.read(a, v, int(n)); b != nil {
		p.hexString(b)
		if p.call.Ret > n {
			p.str("...")
		}
	}
	return true
}

const digits = "0123456789abcdef"

// printBuf prints a buffer: one that the kernel has filled is as long as the
// result, any other as long as the argument that the table names.
func printBuf(p *printer, a *argument, v uint64) bool {
	n := p.call.Args[a.number]
	if a.output {
		if p.call.Failed {
			p.addr(v)
			return true
		}
		n = min(uint64(p.call.Ret), p.call.Args[a.register+1])
	}
	p.bytes(v, n)
	return true
}
