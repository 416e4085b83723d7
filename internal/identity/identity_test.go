package identity

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a database and two directories of one name.
type bench struct{ db, a, b string }

func newBench(t testing.TB) bench {
	dir := t.TempDir()
	w := bench{filepath.Join(dir, "ws.db"), filepath.Join(dir, "a/ws"), filepath.Join(dir, "b/ws")}
	for _, d := range []string{w.a, w.b} {
		must(t, os.MkdirAll(d, 0o755))
	}
	return w
}

func (w bench) open(t testing.TB, readOnly bool) *sqlvfs.Store {
	s, err := sqlvfs.Open(w.db, sqlvfs.Options{Create: !readOnly, ReadOnly: readOnly, Root: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}})
	must(t, err)
	return s
}

func claimAt(t testing.TB, s *sqlvfs.Store, path string, opt Options) error {
	d, err := os.Open(path)
	must(t, err)
	defer d.Close()
	return Claim(context.Background(), s, d, path, "ws", opt)
}

func here(t testing.TB, path string) sqlvfs.Workspace {
	d, err := os.Open(path)
	must(t, err)
	defer d.Close()
	w, err := sqlvfs.WorkspaceAt(int(d.Fd()), path, "ws")
	must(t, err)
	return w
}

func fingerprint(t testing.TB, path string) sqlvfs.Fingerprint {
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	return sqlvfs.Fingerprint{Dev: st.Dev, Ino: st.Ino, Size: st.Size,
		Mtime: sqlvfs.Timespec{Sec: st.Mtim.Sec, Nsec: int32(st.Mtim.Nsec)}, Ctime: sqlvfs.Timespec{Sec: st.Ctim.Sec, Nsec: int32(st.Ctim.Nsec)}}
}

// learn has the database know the first directory, with a baseline of each file that is in it.
func (w bench) learn(t testing.TB, hash []byte, files ...string) {
	s := w.open(t, false)
	must(t, claimAt(t, s, w.a, Options{Learn: true}))
	must(t, s.View(func(tx *sqlvfs.Tx) error {
		for _, name := range files {
			tx.SetBaseline(here(t, w.a).Tree, name, &sqlvfs.Baseline{Mode: unix.S_IFREG | 0o644, Fingerprint: fingerprint(t, filepath.Join(w.a, name)), Hash: hash})
		}
		return nil
	}))
	must(t, s.Close())
}

func baselines(t testing.TB, s *sqlvfs.Store, path string) map[string]*sqlvfs.Baseline {
	list, err := sqlvfs.Query(s, func(tx *sqlvfs.Tx) (map[string]*sqlvfs.Baseline, error) { return tx.Baselines(here(t, path).Tree) })
	must(t, err)
	return list
}

// A workspace is not new by chance in a database that was brought from elsewhere, or whose workspaces are all gone.
func TestBeside(t *testing.T) {
	w := newBench(t)
	w.learn(t, nil)
	claimNew := func(name string, when Beside) error {
		s := w.open(t, false)
		defer s.Close()
		d, err := os.Open(w.b)
		must(t, err)
		defer d.Close()
		return Claim(context.Background(), s, d, w.b, name, Options{Beside: when})
	}
	refused := func(err error) bool {
		var hinted cli.Hinted
		return err != nil && strings.Contains(err.Error(), "it has no workspace new: it has ws") &&
			errors.As(err, &hinted) && hinted.Hint() == "if this directory is ws, --name ws --adopt; for a new workspace beside it, --name new"
	}
	must(t, claimNew("new", Always))
	must(t, claimNew("new", WithOthers))
	if err := claimNew("new", Never); !refused(err) {
		t.Errorf("beside another one: %v", err)
	}
	must(t, os.Remove(w.a))
	must(t, claimNew("new", Always))
	if err := claimNew("new", WithOthers); !refused(err) {
		t.Errorf("beside one that is gone: %v", err)
	}
	if err := claimNew("ws", WithOthers); err == nil || !strings.Contains(err.Error(), "its workspace ws is") {
		t.Errorf("one that was moved: %v", err)
	}
	w.db += "2"
	must(t, claimNew("new", Never))
}

// What has the same size and time, and is the same kind of thing, is the same; the rest stays as it was. A
// read-only store shows what another would write.
func TestCarry(t *testing.T) {
	w := newBench(t)
	for _, name := range []string{"same", "longer", "later", "mode", "gone"} {
		must(t, os.WriteFile(filepath.Join(w.a, name), []byte(name), 0o644))
		var st unix.Stat_t
		must(t, unix.Lstat(filepath.Join(w.a, name), &st))
		if name == "gone" {
			continue
		}
		must(t, os.WriteFile(filepath.Join(w.b, name), []byte(name), 0o644))
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(w.b, name), []unix.Timespec{st.Atim, st.Mtim}, 0))
	}
	w.learn(t, nil, "same", "longer", "later", "mode", "gone")
	must(t, os.WriteFile(filepath.Join(w.b, "longer"), []byte("much longer"), 0o644))
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(w.b, "later"), []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0))
	must(t, os.Chmod(filepath.Join(w.b, "mode"), 0o600))

	for _, readOnly := range []bool{true, false} {
		s := w.open(t, readOnly)
		if err := claimAt(t, s, w.b, Options{}); err == nil || !strings.Contains(err.Error(), w.a) || !strings.Contains(err.Error(), w.b) {
			t.Fatalf("refused with %v", err)
		}
		must(t, claimAt(t, s, w.b, Options{Adopt: true}))
		list := baselines(t, s, w.b)
		for _, name := range []string{"same", "longer", "later", "mode", "gone"} {
			want := filepath.Join(w.a, name)
			if name == "same" {
				want = filepath.Join(w.b, name)
			}
			if b := list[name]; b == nil || b.Fingerprint != fingerprint(t, want) {
				t.Errorf("read-only %v: %s: %+v", readOnly, name, b)
			}
		}
		must(t, s.Close())
	}
	// It is the other one's now, and can be the first one's again.
	s := w.open(t, false)
	must(t, claimAt(t, s, w.b, Options{}))
	if claimAt(t, s, w.a, Options{}) == nil {
		t.Error("it belongs to both")
	}
	must(t, claimAt(t, s, w.a, Options{Adopt: true}))
	if b := baselines(t, s, w.a)["same"]; b == nil || b.Fingerprint != fingerprint(t, filepath.Join(w.a, "same")) {
		t.Errorf("back: %+v", b)
	}
	must(t, s.Close())
}

// An interrupted adoption has changed nothing: it is one transaction.
func TestInterruptedAdoption(t *testing.T) {
	w := newBench(t)
	must(t, os.WriteFile(filepath.Join(w.a, "f"), []byte("f"), 0o644))
	must(t, os.WriteFile(filepath.Join(w.b, "f"), []byte("g"), 0o644))
	w.learn(t, nil, "f")
	s := w.open(t, false)
	d, err := os.Open(w.b)
	must(t, err)
	defer d.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Claim(ctx, s, d, w.b, "ws", Options{Adopt: true}); err == nil {
		t.Fatal("it was not interrupted")
	}
	must(t, claimAt(t, s, w.a, Options{}))
	if list := baselines(t, s, w.b); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
	must(t, s.Close())
}

// What a hostile database says of a path is shown so that it does no harm, and never followed.
func FuzzHostilePath(f *testing.F) {
	for _, path := range []string{"/etc", "relative", "", "/a/../b", "/x\x1b]0;owned\x07", "/\x00", "/a\nart: all is well", "//", "/proc/self/fd/1"} {
		f.Add([]byte(path), "f")
	}
	f.Add([]byte("/elsewhere"), "../../outside")
	f.Fuzz(func(t *testing.T, path []byte, at string) {
		w := newBench(t)
		must(t, os.WriteFile(filepath.Join(w.a, "f"), []byte("f"), 0o644))
		outside := filepath.Join(filepath.Dir(w.a), "outside")
		must(t, os.WriteFile(outside, []byte("f"), 0o644))
		must(t, os.Symlink(outside, filepath.Join(w.a, "link")))
		w.learn(t, nil, "f")
		c, err := sqlite3.Open(w.db)
		must(t, err)
		for query, value := range map[string][]byte{"UPDATE art_workspace SET path=?, ino=7": path, "UPDATE OR IGNORE art_baseline SET path=?": []byte(at)} {
			q, _, err := c.Prepare(query)
			must(t, err)
			must(t, q.BindBlob(1, value))
			must(t, q.Exec())
			q.Close()
		}
		must(t, c.Close())
		for _, opt := range []Options{{}, {Adopt: true}} {
			s := w.open(t, true)
			if err := claimAt(t, s, w.a, opt); err != nil && strings.ContainsAny(err.Error(), "\x1b\n\x00\x07") {
				t.Errorf("%q", err)
			}
			for at, b := range baselines(t, s, w.a) {
				if b.Fingerprint == fingerprint(t, outside) {
					t.Errorf("%s led outside", at)
				}
			}
			must(t, s.Close())
		}
	})
}
