package history

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
)

// inEach is how many files a directory has, of which a fork changes one, renames one and removes one in twenty.
const inEach = 100

// BenchmarkMerge merges a fork that has changed as many files as it has renamed, and as it has removed, of twenty times as many; the
// database that it is of has changed as many others. The files are the host's, or are all in the database. Four times as much takes four
// times as long.
func BenchmarkMerge(b *testing.B) {
	for _, kind := range []string{"host", "guest"} {
		for _, n := range []int{1000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) { benchmarkMerge(b, kind == "host", n) })
		}
	}
}

func benchmarkMerge(b *testing.B, host bool, n int) {
	dir := b.TempDir()
	ws, db, fork := filepath.Join(dir, "ws"), filepath.Join(dir, "a.db"), filepath.Join(dir, "a+f.db")
	succeed(b, os.Mkdir(ws, 0o755))
	if host {
		for f := range 20 * n {
			path := filepath.Join(ws, pathOf(f))
			if f%inEach == 0 {
				succeed(b, os.Mkdir(filepath.Dir(path), 0o755))
			}
			succeed(b, os.WriteFile(path, []byte("of the host"), 0o644))
		}
	}
	inSession(b, ws, db, func(u *user) {
		u.make("made", syscall.S_IFDIR)
		for f := range 20 * n {
			switch {
			case host: // it is there
			case f%inEach == 0:
				u.make(filepath.Dir(pathOf(f)), syscall.S_IFDIR)
				fallthrough
			default:
				u.write(u.make(pathOf(f), syscall.S_IFREG))
			}
		}
	})
	s, err := sqlvfs.Open(db, sqlvfs.Options{})
	succeed(b, err)
	secret := sqlvfs.NewSecret()
	c, err := s.AddFork(fork, secret, "")
	succeed(b, err)
	succeed(b, sqlvfs.MakeFork(db, fork, secret, c))
	succeed(b, s.Close())
	inSession(b, ws, fork, func(u *user) {
		for f := range 20 * n {
			switch from, name := u.split(pathOf(f)); f % 20 {
			case 0:
				u.write(u.find(pathOf(f)))
			case 1: // every other one to another directory
				to, as := from, name+"-renamed"
				if f%40 == 1 {
					to, as = u.split(fmt.Sprint("made/", f))
				}
				succeed(b, u.overlay.Rename(u.who, from, name, to, as, 0))
			case 2:
				succeed(b, u.overlay.Unlink(u.who, from, name))
			}
		}
	})
	inSession(b, ws, db, func(u *user) {
		for f := 3; f < 20*n; f += 20 {
			u.write(u.find(pathOf(f)))
		}
	})
	before, err := os.ReadFile(db)
	succeed(b, err)
	forked, err := os.ReadFile(fork)
	succeed(b, err)
	o := MergeOptions{Options: Options{DB: db, Prog: "art", Quiet: true}, Fork: fork}
	o.Session = func(context.Context) (*os.File, error) { return nil, live.ErrNone }
	o.Other = func(string) func(context.Context) (*os.File, error) { return o.Session }
	o.Report = report.Options{Stdout: io.Discard, Stderr: os.Stderr}
	var took, used time.Duration
	merges := 0
	for b.Loop() {
		b.StopTimer()
		succeed(b, os.WriteFile(db, before, 0o600))
		succeed(b, os.WriteFile(fork, forked, 0o600))
		b.StartTimer()
		begun, idle := time.Now(), processorTime(b)
		if err := Merge(b.Context(), o); err != nil {
			b.Fatal(err)
		}
		took, used = took+time.Since(begun), used+processorTime(b)-idle
		merges++
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(merges), "ms")
	b.ReportMetric(float64(used.Microseconds())/1000/float64(merges), "cpu-ms")
	b.ReportMetric(0, "ns/op")
	inSession(b, ws, db, func(u *user) {
		made, err := u.overlay.Lookup(u.find("made").Ino, "1")
		if gone, gerr := u.overlay.Lookup(u.find("0").Ino, "2"); err != nil || made.Ino == 0 || gerr != nil || gone.Ino != 0 {
			b.Errorf("what was moved: %d, %v; what was removed: %d, %v", made.Ino, err, gone.Ino, gerr)
		}
	})
}

// processorTime is how long processors have worked for this process.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	succeed(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pathOf is where a file is in the workspace.
func pathOf(f int) string { return fmt.Sprintf("%d/%d", f/inEach, f%inEach) }

// user is a session's guest.
type user struct {
	testing.TB
	overlay *fs.Overlay
	who     fs.Caller
}

// inSession changes what a database shows of a workspace.
func inSession(t testing.TB, ws, db string, do func(u *user)) {
	s, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot(), Bulk: true})
	succeed(t, err)
	base, err := fs.OpenHost(ws)
	succeed(t, err)
	defer base.Close()
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: s, Base: base, Name: "ws"})
	succeed(t, err)
	do(&user{t, overlay, fs.Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}})
	succeed(t, s.Close())
}

// find returns what is at a path of the workspace.
func (u *user) find(path string) fs.Entry {
	dir, name := u.split(path)
	e, err := u.overlay.Lookup(dir, name)
	if succeed(u, err); e.Ino == 0 {
		u.Fatalf("%s is not there", path)
	}
	return e
}

// split returns the directory of a path of the workspace, and the name in it.
func (u *user) split(path string) (dir fs.Ino, name string) {
	e, err := u.overlay.Lookup(fs.RootIno, "ws")
	succeed(u, err)
	if parent := filepath.Dir(path); parent != "." {
		e = u.find(parent)
	}
	return e.Ino, filepath.Base(path)
}

func (u *user) make(path string, kind uint32) (e fs.Entry) {
	dir, name := u.split(path)
	var err error
	if kind == syscall.S_IFDIR {
		e, err = u.overlay.Mkdir(u.who, dir, name, 0o755)
	} else {
		e, err = u.overlay.Mknod(u.who, dir, name, kind|0o644, 0)
	}
	succeed(u, err)
	return e
}

func (u *user) write(e fs.Entry) {
	succeed(u, u.overlay.Write(u.who, e.Ino, []byte("written"), 0))
}

func succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
