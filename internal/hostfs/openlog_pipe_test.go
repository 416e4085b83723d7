package hostfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe that nobody reads is refused at once, and one that somebody reads is written as any pipe.
func TestOpenLogPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "events")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(pipe, dir, unix.O_APPEND); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("a pipe without a reader: %v", err)
	}
	r, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := OpenLog(pipe, dir, unix.O_APPEND)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("it is open with %#x: %v", flags, err)
	}
	if _, err := f.WriteString("one\n"); err != nil {
		t.Error(err)
	}
}
