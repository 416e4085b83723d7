package commands

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ids asks the kernel for the ids of processes. To look up a process in /proc that has just begun takes ten times as long, and takes as long
// again when it ends.
type ids struct {
	own, guest int // the process namespaces of this process and of FUSE; -1 where the kernel cannot be asked
	last       int // /proc/sys/kernel/ns_last_pid, or -1
}

// newIDs is for a process in the namespace that FUSE knows.
func newIDs(fuse int) ids {
	i := ids{openNamespace("self"), openNamespace(strconv.Itoa(fuse)), -1}
	if fd, err := unix.Open("/proc/sys/kernel/ns_last_pid", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		i.last = fd
	}
	return i
}

func openNamespace(process string) int {
	fd, err := unix.Open(fmt.Sprintf("/proc/%s/ns/pid", process), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	if leader(fd, os.Getpid()) == 0 && process == "self" { // before 6.12
		unix.Close(fd)
		return -1
	}
	return fd
}

// leader returns the id that a thread's leader has in a namespace; 0 if there is none.
func leader(namespace, tid int) int {
	id, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(namespace), unix.NS_GET_TGID_IN_PIDNS, uintptr(tid))
	if errno != 0 {
		return 0
	}
	return int(id)
}

// leader returns what there is of a thread's status without its parent, and false if the kernel cannot be asked.
func (i *ids) leader(tid int) (status, bool) {
	if i.own < 0 || i.guest < 0 {
		return status{}, false
	}
	return status{tgid: leader(i.own, tid), guest: leader(i.guest, tid)}, true
}

// parentOf returns the parent of a process by its descriptor; 0 if the kernel cannot be asked (before 6.13), or it is in no namespace of this
// process's.
func parentOf(pidfd int) int {
	info, ok := pidfdInfo(pidfd, 0)
	if !ok {
		return 0
	}
	return int(info.Ppid)
}

func pidfdInfo(pidfd int, mask uint64) (info unix.PidfdInfo, ok bool) {
	info.Mask = mask
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(pidfd), unix.PIDFD_GET_INFO, uintptr(unsafe.Pointer(&info)))
	return info, errno == 0
}

// childless says that nothing has begun, anywhere, since a process has.
func (i *ids) childless(host int) bool {
	var buf [16]byte
	n, err := unix.Pread(i.last, buf[:], 0)
	if err != nil {
		return false
	}
	last, err := strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
	return err == nil && last == host
}
