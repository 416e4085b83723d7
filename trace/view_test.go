package trace

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
)

// What was read of a thread that waits no more may be another's, and is not returned.
func TestViewOfNobody(t *testing.T) {
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0) // no listener, so that nobody waits
	if err != nil {
		t.Fatal(err)
	}
	listener := seccomp.NewListener(fd)
	defer listener.Close()
	v := &view{process(os.Getpid()), listener, &seccomp.Notification{}}
	text := []byte("readable")
	buf := make([]byte, len(text))
	if n := v.of.Read(uint64(uintptr(unsafe.Pointer(&text[0]))), buf); n != len(text) {
		t.Fatalf("%d bytes are readable", n)
	}
	if n := v.Read(uint64(uintptr(unsafe.Pointer(&text[0]))), buf); n != 0 {
		t.Errorf("%d bytes were read", n)
	}
	if path, dir := v.Path(fd), v.Dir(); path != "" || dir != "" {
		t.Errorf("%q, %q", path, dir)
	}
}
