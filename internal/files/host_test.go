package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/libexec"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, path, want string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && string(data) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %q, %v, want %q", path, data, err, want)
		}
	}
}

// A server that has gone astray can write nothing that the guest may not.
func TestHostRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "host")
	host, err := Open([]HostFile{{path, false}})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	host.Serve(ours)
	fd, err := unix.MemfdCreate("file", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	unix.Write(fd, []byte("astray"))
	for _, text := range []string{"wrote 0", "file 0", "wrote 1", "wrote -1"} {
		libexec.SendFD(theirs, fd, []byte(text)) // the last ends it
	}
	theirs.Close()
	if told := host.Told(); told != nil {
		t.Error(told)
	}
	is(t, path, "host")
}

func FuzzMessage(f *testing.F) {
	for _, text := range []string{"file 0", "wrote 99999999999999999999", "done -1", "", "x", "failed 1 2"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := parseMessage(-1, text, 2)
		if m.Err == nil && (m.File < 0 || m.File > 1 || slices.Contains([]byte(m.Kind), ' ')) {
			t.Errorf("%q is %+v", text, m)
		}
	})
}
