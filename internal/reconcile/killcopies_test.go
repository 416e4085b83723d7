package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// asDying says before which change of the database's log, or of its names, a command is killed. What goes from the log into the database,
// which are many writes more, is in the log until all of it has.
const asDying = "ART_SYNC_TEST_DIES"

// dieAt has this process be killed before that change.
func dieAt(n string) {
	left, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		panic(err)
	}
	own := vfs.Find("art") // sqlvfs has its files through this one, which has them through the library's
	under := reflect.New(reflect.TypeOf(own)).Elem()
	under.Set(reflect.ValueOf(own))
	files := under.FieldByName("VFSFilename")
	mortal := &mortalFiles{VFSFilename: files.Interface().(vfs.VFSFilename)}
	mortal.left.Store(left)
	files.Set(reflect.ValueOf(mortal))
	vfs.Register("art", under.Interface().(vfs.VFS))
}

// mortalFiles are the host's, as long as there are changes left.
type mortalFiles struct {
	vfs.VFSFilename
	left atomic.Int64
}

func (m *mortalFiles) change() {
	if m.left.Add(-1) < 0 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m *mortalFiles) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := m.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, out, err
	}
	return &mortalFile{f, m, flags&vfs.OPEN_WAL != 0}, out, nil
}

func (m *mortalFiles) Delete(name string, sync bool) error {
	m.change()
	return m.VFSFilename.Delete(name, sync)
}

type mortalFile struct {
	vfs.File
	m     *mortalFiles
	isLog bool
}

func (f *mortalFile) WriteAt(p []byte, off int64) (int, error) {
	if f.isLog {
		f.m.change()
	}
	return f.File.WriteAt(p, off)
}

func (f *mortalFile) Truncate(size int64) error {
	if f.isLog {
		f.m.change()
	}
	return f.File.Truncate(size)
}

func (f *mortalFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

// diesAt runs a pull that is killed before its n-th change of the database's log. It returns false if it makes fewer.
func (b bench) diesAt(n int) bool {
	b.t.Helper()
	cmd := exec.Command(os.Args[0], b.ws, b.db)
	cmd.Env = append(os.Environ(), asCommand+"=pull", asDying+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	if cmd.ProcessState.Exited() && err != nil {
		b.t.Fatalf("pull: %v", err)
	}
	return !cmd.ProcessState.Exited()
}

// aboutToPull makes a workspace, two checkpoints, of each of which the host's share is about to be replaced in part, and a change of all
// kinds on top. It returns what they show; that of 0 is the present.
func (b bench) aboutToPull() map[int64]map[string]string {
	must(b.t, os.Mkdir(b.ws, 0o755))
	b.write("large", strings.Repeat("0123456789abcdef", 9<<20/16)) // more than is copied in one transaction
	b.write("cut", strings.Repeat("x", 200_000))
	b.write("patched", strings.Repeat("y", 300_000))
	b.write("dir/gone", "gone")
	b.write("dir/sub/deep", "deep")
	b.write("becomes", "a directory")
	b.write("twin", "twin")
	must(b.t, os.Link(b.path("twin"), b.path("twin2")))
	must(b.t, os.Symlink("cut", b.path("link")))
	b.write("stays", "stays")
	shown := map[int64]map[string]string{}
	check := func(g *guest) {
		c, err := g.store.Checkpoint(sqlvfs.ByUser, "")
		must(b.t, err)
		shown[c.ID] = g.portrait()
	}
	b.guest(func(g *guest) {
		g.write("early", "early")
		check(g)
		g.patch("patched", "z", 70_000)
		g.rename("dir", "moved")
		check(g)
		g.write("large", "small now")
		g.truncate("cut")
		g.patch("patched", "w", 250_000)
		g.remove("moved/gone")
		g.write("moved/new", "new")
		g.remove("becomes")
		g.mkdir("becomes")
		g.write("becomes/x", "x")
		g.remove("twin")
		g.remove("link")
		g.symlink("stays", "link")
		shown[0] = g.portrait()
	})
	return shown
}

// A pull that is killed at whatever write of the database leaves it sound, and all checkpoints show what they have shown. The next pull
// brings to the host what it was about to, and going back works as after a pull that came to its end: neither names a conflict, since
// nobody but the pull has changed the host.
func TestPullKilledAtAnyWriteOfItsCopies(t *testing.T) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	step := 1
	if testing.Short() {
		step = 4
	}
	undone := 0
	n := 0
	for ; ; n += step {
		b := bench{t, filepath.Join(dir, fmt.Sprint(n), "ws"), filepath.Join(dir, fmt.Sprint(n), "ws.db")}
		must(t, os.Mkdir(filepath.Dir(b.ws), 0o755))
		shown := b.aboutToPull()
		died := b.diesAt(n)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("killed before change %d: %s", n, fmt.Sprintf(format, args...))
		}
		asShown := func(when string) {
			t.Helper()
			if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
				fail("%s, the database is damaged: %v %v", when, found, err)
			}
			for _, id := range slices.Sorted(maps.Keys(shown)) {
				if id == 0 {
					continue
				}
				b.at(id, func(g *guest) {
					if now := g.portrait(); !maps.Equal(now, shown[id]) {
						fail("%s, checkpoint %d differs: %s", when, id, differences(now, shown[id]))
					}
				})
			}
		}
		pull := func(want map[string]string) {
			t.Helper()
			if _, told, err := b.run(Pull, b.ws, allow); err != nil {
				fail("pull: %v\n%s", err, told)
			}
			if now := b.hostPortrait(); !maps.Equal(now, want) {
				fail("the host differs: %s", differences(now, want))
			}
			b.guest(func(g *guest) {
				if now := g.portrait(); !maps.Equal(now, want) {
					fail("the guest differs: %s", differences(now, want))
				}
			})
		}
		back := func() (err error) {
			b.guest(func(g *guest) { _, err = g.store.GoBack(sqlvfs.To("1"), nil) })
			return err
		}
		asShown("at once")
		err := errors.New("not tried")
		if n/step%2 == 0 {
			err = back()
		}
		if err != nil {
			pull(shown[0])
			asShown("after the next pull")
			err = back()
		} else {
			undone++
		}
		if err != nil {
			fail("go back: %v", err)
		}
		pull(shown[1])
		asShown("after going back and a pull")
		must(t, os.RemoveAll(filepath.Dir(b.ws)))
		if !died {
			break
		}
	}
	t.Logf("%d writes; went back before the next pull %d times", n, undone)
	if n < 20 {
		t.Error("these are too few")
	}
}
