package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/fusemount"
)

// The kernel lets go of what nobody uses when there are too many nodes, of the oldest first, and of nothing that is
// open.
func TestKernelLetsGo(t *testing.T) {
	var overlay *Overlay
	dir, mounted := serveWith(t, func(fsys FileSystem) FileSystem {
		overlay = fsys.(*Overlay)
		overlay.ages.limit = 400
		return fsys
	})
	at := func(path string) string { return filepath.Join(dir, path) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("in"), 0o755))
	must(os.WriteFile(at("in/open"), noise[:200_000], 0o644))
	must(os.WriteFile(at("gone"), noise[:1000], 0o644))
	open, err := os.OpenFile(at("in/open"), os.O_RDWR, 0)
	must(err)
	defer open.Close()
	gone, err := os.OpenFile(at("gone"), os.O_RDWR, 0)
	must(err)
	defer gone.Close()
	must(os.Remove(at("gone")))
	within, err := os.Open(at("in"))
	must(err)
	defer within.Close()

	const files = 3000
	for i := range files {
		must(os.WriteFile(at(fmt.Sprint("f", i)), fmt.Append(nil, i), 0o644))
	}
	live := func() (n int) {
		overlay.view(func(t *tx) error { n = len(t.nodes); return nil })
		return n
	}
	soon(t, 10*time.Second, func() string {
		must(os.WriteFile(at("one more"), nil, 0o644)) // too many are seen when one comes
		must(os.Remove(at("one more")))
		if n := live(); n > 400+400/generations {
			return fmt.Sprintf("%d nodes are live", n)
		}
		return ""
	})
	got := make([]byte, 200_000)
	if _, err := open.ReadAt(got, 0); err != nil || string(got) != string(noise[:200_000]) {
		t.Errorf("the open file: %v, %s", err, difference(got, noise[:200_000]))
	}
	if link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", open.Fd())); err != nil || link != at("in/open") {
		t.Errorf("the open file is %s, %v", link, err)
	}
	if _, err := gone.WriteAt([]byte("x"), 999); err != nil {
		t.Errorf("the open file without a name: %v", err)
	}
	if _, err := within.Readdirnames(-1); err != nil {
		t.Errorf("the open directory: %v", err)
	}
	for i := range files {
		if got, err := os.ReadFile(at(fmt.Sprint("f", i))); err != nil || string(got) != fmt.Sprint(i) {
			t.Fatalf("file %d: %q, %v", i, got, err)
		}
	}
	if n := live(); n > 2*400 {
		t.Errorf("%d nodes are live after all were read", n)
	}
	open.Close()
	gone.Close()
	within.Close()
	must(fusemount.Unmount(dir, false))
	must(mounted.Join(t.Context()))
}
