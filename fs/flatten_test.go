package fs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// flattenAll brings everything in and returns what failed.
func (s *session) flattenAll(progress func()) (failed []string) {
	s.t.Helper()
	s.forget()
	s.must(s.overlay.Flatten(context.Background(), FlattenOptions{
		Progress: func(int, int64) { progress() },
		Failed:   func(path string, err error) { failed = append(failed, fmt.Sprintf("%s: %v", path, err)) },
	}))
	s.remount(s.t)
	return failed
}

func (s *session) flattens() {
	s.t.Helper()
	if failed := s.flattenAll(func() {}); failed != nil {
		s.t.Fatal(failed)
	}
	s.wantRows(map[string]int{"art_origin": 0, "fs_origin": 0})
}

// loses removes the base: what is read from now on is in the database.
func (s *session) loses() {
	s.t.Helper()
	s.must(os.RemoveAll(s.base))
	s.must(os.Mkdir(s.base, 0o755))
	s.remount(s.t)
}

func TestFlattenKeepsHolesAndStoresZeros(t *testing.T) {
	s := newSession(t)
	const chunk = sqlvfs.DefaultChunkSize
	dense := make([]byte, 3*chunk)
	s.plant("dense", dense)
	s.plant("sparse", nil)
	s.must(os.Truncate(filepath.Join(s.base, "sparse"), 1<<30))
	s.plant("partly", bytes.Repeat([]byte("old"), 2*chunk))
	s.write("ws/partly", []byte("new"), 3*chunk)
	s.flattens()
	s.wantRows(map[string]int{"fs_data": 3 + 6})
	s.loses()
	s.reads("ws/dense", dense)
	want := bytes.Repeat([]byte("old"), 2*chunk)
	copy(want[3*chunk:], "new")
	s.reads("ws/partly", want)
	if got := s.stat("ws/sparse").Attr.Size; got != 1<<30 {
		t.Errorf("sparse has %d bytes", got)
	}
}

// Names of one file stay names of one file: those of the base, one that a session has added, and
// also if the work ends between the one and the other. What has no name any more is gone.
func TestFlattenOfHardLinks(t *testing.T) {
	s := newSession(t)
	for _, file := range []string{"one/twin", "gone/twin"} {
		s.plant(file, []byte(file))
	}
	s.must(os.Mkdir(filepath.Join(s.base, "two"), 0o755))
	for _, link := range []string{"one/twin two/twin", "one/twin two/third", "gone/twin gone/other"} {
		old, name, _ := strings.Cut(link, " ")
		s.must(os.Link(filepath.Join(s.base, old), filepath.Join(s.base, name)))
	}
	s.must(unix.Mkfifo(filepath.Join(s.base, "fifo"), 0o600))
	s.must(os.Link(filepath.Join(s.base, "fifo"), filepath.Join(s.base, "fifo2")))
	s.must(s.link("ws/two/third", "added"))
	s.must(s.unlink("ws/two/third"))
	s.must(s.unlink("ws/gone/twin"))
	s.must(s.unlink("ws/gone/other"))

	for stop := 1; ; stop++ {
		s.forget()
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		err := s.overlay.Flatten(ctx, FlattenOptions{
			Progress: func(objects int, _ int64) {
				if done += objects; done == stop {
					cancel()
				}
			},
			Failed: func(path string, err error) { t.Errorf("%s: %v", path, err) },
		})
		cancel()
		s.remount(t)
		if err == nil {
			break
		}
		if s.stat("ws/one/twin").Ino != s.stat("ws/two/twin").Ino {
			t.Fatalf("after %d objects, the names are of different files", stop)
		}
	}
	s.wantRows(map[string]int{"art_origin": 0, "fs_origin": 0})
	s.loses()
	want := s.stat("added")
	if want.Attr.Nlink != 3 {
		t.Errorf("%d links, want 3", want.Attr.Nlink)
	}
	for _, name := range []string{"ws/one/twin", "ws/two/twin"} {
		if got := s.stat(name).Ino; got != want.Ino {
			t.Errorf("%s is inode %d, want %d", name, got, want.Ino)
		}
	}
	if a, b := s.stat("ws/fifo"), s.stat("ws/fifo2"); a.Ino != b.Ino || a.Attr.Nlink != 2 || a.Attr.Mode != syscall.S_IFIFO|0o600 {
		t.Errorf("the fifo is %+v and %+v", a, b)
	}
	s.reads("ws/one/twin", []byte("one/twin"))
	if got := s.names("ws/gone"); got != "" {
		t.Errorf("gone holds %q", got)
	}
}

// A partly copied file whose base has changed is named; the rest is brought in.
func TestFlattenNamesWhatTheHostHasChanged(t *testing.T) {
	s := newSession(t)
	s.plant("dir/partly", bytes.Repeat([]byte("old"), 100_000))
	s.plant("dir/rest", []byte("rest"))
	s.plant("other", []byte("other"))
	s.write("ws/dir/partly", []byte("new"), 0)
	s.must(os.WriteFile(filepath.Join(s.base, "dir/partly"), []byte("changed"), 0o644))
	failed := s.flattenAll(func() {})
	if len(failed) != 1 || !strings.HasPrefix(failed[0], "/ws/dir/partly: host file changed") {
		t.Errorf("failed: %q", failed)
	}
	s.wantRows(map[string]int{"art_origin": 1})
	s.loses()
	s.reads("ws/dir/rest", []byte("rest"))
	s.reads("ws/other", []byte("other"))

	s.must(s.unlink("ws/dir/partly"))
	s.flattens()
}

// A file that the host changes while it is read is read again. If that does not end, it stays the
// base's, and so does the place it shows in.
func TestFlattenOfAFileThatChanges(t *testing.T) {
	for _, c := range []struct {
		changes int
		failed  string
	}{{1, ""}, {100, "/ws/dir/file: it changes while it is read"}} {
		t.Run(fmt.Sprint(c.changes), func(t *testing.T) {
			s := newSession(t)
			s.plant("dir/file", bytes.Repeat([]byte("a"), 3<<20))
			path, want := filepath.Join(s.base, "dir/file"), []byte(nil)
			changes := c.changes
			failed := s.flattenAll(func() {
				if changes > 0 {
					changes--
					want = bytes.Repeat([]byte{byte(changes)}, 3<<20-changes)
					s.must(os.WriteFile(path, want, 0o644))
				}
			})
			if got := strings.Join(failed, " "); got != c.failed {
				t.Errorf("failed: %q, want %q", got, c.failed)
			}
			s.reads("ws/dir/file", want)
			if c.failed != "" {
				s.plant("dir/late", nil) // the directory is still the base's too
				if got := s.names("ws/dir"); got != "file late" {
					t.Errorf("dir holds %q", got)
				}
				s.flattens()
			}
			s.loses()
			s.reads("ws/dir/file", want)
		})
	}
}

// What the host adds after the work is not shown: the workspace in the database is all there is.
func TestFlattenedWorkspaceIsOpaque(t *testing.T) {
	s := newSession(t)
	s.plant("kept", nil)
	s.plant("dir/deleted", nil)
	s.must(s.unlink("ws/dir/deleted"))
	s.must(s.rename("ws/dir", "moved"))
	s.flattens()
	s.plant("late", nil)
	s.plant("dir/late", nil)
	s.forget()
	if got := s.names("ws") + "|" + s.names("moved"); got != "kept|" {
		t.Errorf("the trees hold %q", got)
	}
	s.wantRows(map[string]int{"art_whiteout": 1})
}

// Origins in another workspace are not this one's to bring in.
func TestFlattenLeavesOtherWorkspaces(t *testing.T) {
	s := newSession(t)
	s.plant("file", []byte("other"))
	s.must(s.setattr("ws/file", SetAttr{Mode: new(uint32)}))
	s.must(s.rename("ws/file", "file"))
	s.must(s.store.Sync())
	s.forget()
	base := s.base
	s.store.Close()
	s.host.Close()
	alterDatabase(t, s.db, "UPDATE art_base SET name='elsewhere'")
	s.base = t.TempDir()
	s.begin(t)
	if failed := s.flattenAll(func() {}); failed != nil {
		t.Fatal(failed)
	}
	s.forget()
	s.store.Close()
	s.host.Close()
	alterDatabase(t, s.db, "DELETE FROM art_base WHERE name='ws'; UPDATE art_base SET name='ws'")
	s.base = base
	s.begin(t)
	s.reads("file", []byte("other"))
}

func alterDatabase(t *testing.T, db, sql string) {
	t.Helper()
	c, err := sqlite3.Open(db)
	if err == nil {
		defer c.Close()
		err = c.Exec(sql)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Extended attributes come along, as a session has left them.
func TestFlattenOfExtendedAttributes(t *testing.T) {
	s := newSession(t)
	s.plant("dir/changed", nil)
	s.plant("large", make([]byte, 20<<20)) // stored before it has a name
	for _, file := range []string{"dir", "dir/changed", "large"} {
		s.must(unix.Setxattr(filepath.Join(s.base, file), "user.base", []byte(file), 0))
	}
	ino := s.stat("ws/dir/changed").Ino
	s.must(s.overlay.Setxattr(Caller{}, ino, "user.own", []byte("mine"), 0))
	s.must(s.overlay.Removexattr(Caller{}, ino, "user.base"))
	s.flattens()
	s.loses()
	for file, want := range map[string]string{"dir": "user.base=dir", "dir/changed": "user.own=mine", "large": "user.base=large"} {
		ino := s.stat("ws/" + file).Ino
		list, err := s.overlay.Listxattr(s.caller, ino)
		s.must(err)
		got := strings.Join(list, " ")
		if len(list) == 1 {
			value, err := s.overlay.Getxattr(ino, list[0])
			s.must(err)
			got += "=" + string(value)
		}
		if got != want {
			t.Errorf("%s has %q, want %q", file, got, want)
		}
	}
}
