package wire

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What has the number of a closed descriptor by then gets no notification.
func TestNoNotificationAfterClose(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd, err := unix.FcntlInt(w.Fd(), unix.F_DUPFD_CLOEXEC, 100)
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{dev: fd}
	if err := c.InvalidateInode(1, 0); err != nil {
		t.Errorf("before: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.InvalidateInode(1, 0); !errors.Is(err, syscall.ENOTCONN) {
		t.Errorf("after: %v", err)
	}
}
