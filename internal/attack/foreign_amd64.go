package attack

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// foreign are attempts with another architecture's calls, and with those that only this
// one has.
func foreign() []Attempt {
	return area("calls of the kernel", []Attempt{
		{Name: "make a call of another architecture", Needs: Host, try: func(*Target) error {
			return found(getpid32() == os.Getpid())
		}},
		{Name: "make a segment of memory for 16 bits", Needs: Host, try: func(*Target) error {
			segment := [4]uint32{0, 0, 0, 0} // the first, at address 0, of one byte
			return call(unix.SYS_MODIFY_LDT, 1, uintptr(unsafe.Pointer(&segment)), unsafe.Sizeof(segment))
		}},
		{Name: "reach the ports of devices", Needs: Host, try: func(*Target) error {
			return call(unix.SYS_IOPERM, 0x80, 1, 1) // for this process alone
		}},
		{Name: "make a program with the caller's rights by creat", Only: Direct, try: func(*Target) error {
			path := own(".")
			p, err := unix.BytePtrFromString(path)
			if err != nil {
				return err
			}
			fd, _, errno := unix.Syscall(unix.SYS_CREAT, uintptr(unsafe.Pointer(p)), unix.S_ISUID|0o700, 0)
			if errno != 0 {
				return errno
			}
			defer os.Remove(path)
			return setUserID(int(fd))
		}},
	})
}

// getpid32 makes the call getpid(2) as a 32-bit program does.
func getpid32() int
