package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
)

// Whatever art-net tells, art's memory has room for it.
func TestReportIsBounded(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcd": "abcd", "abcde": "", "abcdefghijk": ""} {
		b := &bounded{most: 4}
		n, err := io.Copy(struct{ io.Writer }{b}, iotest.OneByteReader(strings.NewReader(text)))
		if int(n) != len(text) || err != nil || b.String() != want {
			t.Errorf("of %q %q is kept, %d, %v", text, b.String(), n, err)
		}
	}
}

// Of an art-net that cannot be started nothing is left.
func TestNetThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ART_LIBEXEC_DIR", dir)
	if err := os.WriteFile(filepath.Join(dir, "art-net"), []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	start := func() {
		device, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{prepared: &prepared{net: &control.Net{}}}
		s.network.owners = netledger.NewOwners(os.Getpid(), -1)
		if err := s.startNet(device); err == nil {
			t.Error("it was started")
		}
		if n := &s.network; n.life != nil || n.ledger != nil || n.owners != nil {
			t.Errorf("left is %+v", n)
		}
	}
	start()
	before := open()
	for range 10 {
		start()
	}
	for until := time.Now().Add(10 * time.Second); open() > before && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors are open, and before it were %d", after, before)
	}
}
