package lock

import (
	"hash/fnv"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A command that makes scratch forks of a database holds a lock on a byte of it for each, which goes with the process, and which every PID
// namespace sees. Two forks may share a byte: the one then stays as long as the other.
const (
	scratchBytes = leavingByte + 1024
	scratchMost  = 1 << 20
)

func scratchByte(name string) int64 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return scratchBytes + int64(h.Sum32()%scratchMost)
}

// HoldScratch says that a scratch fork of a database, which has a name, is in use until the file is closed.
func HoldScratch(database, name string) (*os.File, error) {
	f, err := os.OpenFile(database, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: scratchByte(name), Len: 1})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ScratchHeld tells whether somebody has said so.
func ScratchHeld(database, name string) (bool, error) {
	f, err := os.OpenFile(database, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: scratchByte(name), Len: 1}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l)
	return err == nil && l.Type != unix.F_UNLCK, err
}
