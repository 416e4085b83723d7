package lock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A pull writes its own database, and holds its relatives while it changes the host. Two of them at once would each hold what the other
// needs. So a pull begins with a lock on this byte of the database that all the others are forks of.
const familyByte = leavingByte + 1

// TakeFamily waits until nobody else holds the family of a database that is no fork, and holds it until the file is closed. waiting, which
// may be nil, is told once, after [Grace]. The error is that of the context, or of opening the file for writing.
func TakeFamily(ctx context.Context, path string, waiting func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: familyByte, Len: 1})
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) { // either says that another has it (fcntl(2), F_SETLK)
			f.Close()
			return nil, err
		}
		if waiting != nil && time.Since(start) > Grace {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
