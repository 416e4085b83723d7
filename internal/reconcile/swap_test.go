package reconcile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// swapping exchanges two names again and again until it is told to end; there are both at any moment.
func swapping(t *testing.T, a, b string) (end func()) {
	t.Helper()
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		for even := true; !stop.Load() || !even; even = !even {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return func() {
		stop.Store(true)
		must(t, <-done)
	}
}

// Another process of the host exchanges a directory of the workspace for a link that leads out of it,
// and back, all the time that a pull runs. Whatever the pull meets, it does not follow the link.
func TestLinkIsSwappedInDuringPull(t *testing.T) {
	dir, err := fastDir()
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	outside := filepath.Join(dir, "outside")
	const files = 12
	fill := func(root, content string) {
		for i := range files {
			for _, rel := range []string{"f%d", "gone%d", "sub/f%d", "kind%d/x"} {
				at := filepath.Join(root, fmt.Sprintf(rel, i))
				must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				must(t, os.WriteFile(at, []byte(content), 0o644))
			}
		}
	}
	fill(outside, "secret")
	fill(b.path("d/e"), "of the host")
	must(t, os.Symlink(outside, b.path("link"))) // absolute: it leads there from anywhere
	b.push()
	before := tree(t, outside)
	met, whole := 0, 0
	for round := 0; met < 10 || whole < 1; round++ {
		if round == 500 {
			t.Fatalf("of %d pulls, %d met the link and %d came to their end", round, met, whole)
		}
		b.guest(func(g *guest) {
			for i := range files {
				g.write(fmt.Sprintf("d/e/f%d", i), fmt.Sprint("of the guest, ", round))
				g.write(fmt.Sprintf("d/e/sub/f%d", i), fmt.Sprint("of the guest, ", round))
				g.write(fmt.Sprintf("d/e/new%d-%d", round, i), "new")
				for _, rel := range []string{"d/e/gone%d", "d/e/kind%d/x", "d/e/kind%d"} {
					if _, err := g.find(fmt.Sprintf(rel, i)); err == nil {
						g.remove(fmt.Sprintf(rel, i))
					}
				}
				g.write(fmt.Sprintf("d/e/kind%d", i), "a file now")
			}
			g.mkdir(fmt.Sprint("d/e/dir", round))
			g.write(fmt.Sprintf("d/e/dir%d/x", round), "deep")
		})
		// The directory that is worked in, or one above.
		at := []string{"d", "d/e", "d/e/sub"}[round%3]
		end := swapping(t, b.path(at), b.path("link"))
		_, told, err := b.run(Pull, b.ws, force, allow)
		end()
		if err != nil {
			met++
		} else {
			whole++
		}
		if got := tree(t, outside); got != before {
			t.Fatalf("round %d: outside there is\n%s\nwas\n%s\n%s", round, got, before, told)
		}
		must(t, filepath.WalkDir(b.ws, func(at string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				var data []byte
				if data, err = os.ReadFile(at); strings.Contains(string(data), "secret") {
					t.Errorf("round %d: %s holds what is outside", round, at)
				}
			}
			return err
		}))
		if round%10 == 9 {
			b.pull(b.ws, force, allow) // undisturbed, it comes to an end
			whole++
		}
	}
	t.Logf("%d pulls met the link", met)
}
