package attack

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel are parts of the kernel that a guest has no use for. Each attempt asks for as
// little as the call can be asked for.
func kernel() []Attempt {
	return area("parts of the kernel", []Attempt{
		{Name: "turn the protection of memory off", try: func(*Target) error {
			return call(unix.SYS_PERSONALITY, 0x0400000) // READ_IMPLIES_EXEC
		}},
		{Name: "map memory at address zero", Needs: Host, try: func(*Target) error {
			return call(unix.SYS_PERSONALITY, 0x0100000) // MMAP_PAGE_ZERO, from the next execve on
		}},
		{Name: "watch all files by fanotify", Needs: Host, try: func(*Target) error {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID|unix.FAN_CLOEXEC, 0)
			return closed(fd, err)
		}},
		{Name: "have memory that the kernel does not see", Needs: Host, try: func(*Target) error {
			fd, err := unix.MemfdSecret(unix.O_CLOEXEC)
			return closed(fd, err)
		}},
		{Name: "compare what processes have in the kernel", Needs: Host, try: func(*Target) error {
			pid := uintptr(os.Getpid())
			return call(unix.SYS_KCMP, pid, pid, 1, 0, 0) // KCMP_VM
		}},
		{Name: "move pages between nodes", Needs: Host, try: func(*Target) error {
			page := uintptr(unsafe.Pointer(&pages[0]))
			status := int32(0)
			return call(unix.SYS_MOVE_PAGES, 0, 1, uintptr(unsafe.Pointer(&page)), 0, uintptr(unsafe.Pointer(&status)), 0)
		}},
		{Name: "move a process between nodes", Needs: Host, try: func(*Target) error {
			nodes := uint64(1)
			return call(unix.SYS_MIGRATE_PAGES, 0, 2, uintptr(unsafe.Pointer(&nodes)), uintptr(unsafe.Pointer(&nodes)))
		}},
		{Name: "say which node memory is from", Needs: Host, try: func(*Target) error {
			return call(unix.SYS_SET_MEMPOLICY, 0, 0, 0) // MPOL_DEFAULT
		}},
		{Name: "bind memory to a node", Needs: Host, try: func(*Target) error {
			at := uintptr(unsafe.Pointer(&pages[0])) &^ (pageSize - 1)
			return call(unix.SYS_MBIND, at, pageSize, 0, 0, 0, 0) // MPOL_DEFAULT
		}},
		{Name: "advise on another process's memory", Needs: Host, try: adviseProcess},
		{Name: "take a descriptor of another process", Needs: Host, try: takeDescriptor},
		{Name: "ask for quotas", Needs: Host, try: func(*Target) error {
			const sync = 0x800001 << 8 // Q_SYNC of all file systems
			return call(unix.SYS_QUOTACTL, sync, 0, 0, 0)
		}},
		{Name: "account for all processes", Needs: Root, try: func(*Target) error {
			path := []byte("/proc/self/art-attack\x00") // there is none
			return refusedOnly(call(unix.SYS_ACCT, uintptr(unsafe.Pointer(&path[0]))), unix.ENOENT)
		}},
		{Name: "start the machine again", Needs: Root, try: func(*Target) error {
			return refusedOnly(call(unix.SYS_REBOOT, 0, 0, 0, 0), unix.EINVAL) // without its magic numbers
		}},
		{Name: "start another kernel", Needs: Host, try: func(*Target) error {
			return refusedOnly(call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff), unix.EINVAL) // with flags that there are not
		}},
		{Name: "tune the clock", Needs: Root, try: tuneClock},
		{Name: "give a terminal a line discipline", try: lineDiscipline(unix.TIOCSETD)},
		// The kernel takes the lower half of the number alone.
		{Name: "give it one by another number", try: lineDiscipline(0xdead<<32 | unix.TIOCSETD)},
	})
}

const pageSize = 4096

// pages are memory to do something with.
var pages [2 * pageSize]byte

// lineDiscipline gives a terminal of this process's own the one that it has.
func lineDiscipline(command uintptr) func(*Target) error {
	return func(*Target) error {
		return withTerminal(func(fd uintptr) error {
			ordinary := int32(0) // N_TTY
			return call(unix.SYS_IOCTL, fd, command, uintptr(unsafe.Pointer(&ordinary)))
		})
	}
}

// adviseProcess advises on memory of this process as on another's.
func adviseProcess(*Target) error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	at := unix.Iovec{Base: &pages[0]}
	at.SetLen(0)
	return call(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&at)), 1, unix.MADV_COLD, 0)
}

// takeDescriptor takes one of this process as of another.
func takeDescriptor(*Target) error {
	pid, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	defer unix.Close(pid)
	fd, err := unix.PidfdGetfd(pid, 0, 0)
	return closed(fd, err)
}

// tuneClock sets the clock's tick to what it is.
func tuneClock(*Target) error {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return err
	}
	t.Modes = unix.ADJ_TICK // to what it is
	_, err := unix.Adjtimex(&t)
	return err
}
