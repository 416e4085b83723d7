package posix

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"
)

var large = flag.Int("posix.large", 10_000, "files in a large directory")

// rows counts the rows of tables after the session.
func (s *stage) rows(tables ...string) map[string]int {
	s.t.Helper()
	c, err := sqlite3.OpenFlags(s.data, sqlite3.OPEN_READONLY)
	s.must(err)
	defer c.Close()
	counts := map[string]int{}
	for _, table := range tables {
		q, _, err := c.Prepare("SELECT count(*) FROM " + table)
		s.must(err)
		if q.Step() {
			counts[table] = q.ColumnInt(0)
		}
		s.must(errors.Join(q.Err(), q.Close()))
	}
	return counts
}

func (s *stage) wantRows(want map[string]int) {
	s.t.Helper()
	for table, n := range want {
		if got := s.rows(table)[table]; got != n {
			s.t.Errorf("%s has %d rows, want %d", table, got, n)
		}
	}
}

// fill makes n files in a directory.
func (s *stage) fill(dir string, n int) {
	s.t.Helper()
	s.must(os.MkdirAll(dir, 0o755))
	for i := range n {
		s.must(unix.Mknod(filepath.Join(dir, fmt.Sprint(i)), unix.S_IFREG|0o644, 0))
	}
}

func (s *stage) wantEntries(dir string, n int) {
	s.t.Helper()
	list, err := readDir(dir, 0)
	s.must(err)
	for i := 1; i < len(list); i++ {
		if list[i].name == list[i-1].name {
			s.t.Fatalf("%s is listed twice", list[i].name)
		}
	}
	if len(list) != n {
		s.t.Errorf("%s has %d entries, want %d", dir, len(list), n)
	}
}

// A base directory is renamed by one row and one whiteout, however much it holds.
func TestRenameOfALargeBaseDirectoryIsAFewRows(t *testing.T) {
	var counts []map[string]int
	tables := []string{"fs_inode", "fs_dentry", "fs_data", "fs_origin", "art_origin", "art_whiteout"}
	for _, n := range []int{10, *large} {
		s := newStage(t, true)
		s.fill(filepath.Join(s.base, "d/sub"), n)
		s.enter()
		s.must(os.Rename(filepath.Join(s.tree(), "d"), filepath.Join(s.tree(), "e")))
		for range 2 {
			s.wantEntries(filepath.Join(s.tree(), "e/sub"), n)
			if _, err := os.Lstat(filepath.Join(s.tree(), "d")); !os.IsNotExist(err) {
				t.Errorf("the old name: %v", err)
			}
			s.must(os.Chmod(filepath.Join(s.tree(), "e/sub/7"), 0o644)) // the last one is still reached
			s.leave()
			counts = append(counts, s.rows(tables...))
			s.enter()
		}
		s.leave()
	}
	for i, c := range counts {
		if fmt.Sprint(c) != fmt.Sprint(counts[0]) || c["fs_inode"] > 6 || c["art_whiteout"] != 1 {
			t.Errorf("rows %d: %v, and with few files %v", i, c, counts[0])
		}
	}
}

// BenchmarkRenameBaseDirectory shows that the time does not depend on what the directory holds.
func BenchmarkRenameBaseDirectory(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			s := newStage(b, true)
			s.fill(filepath.Join(s.base, "d"), n)
			s.enter()
			names := []string{filepath.Join(s.tree(), "d"), filepath.Join(s.tree(), "e")}
			for i := 0; b.Loop(); i++ {
				s.must(os.Rename(names[i%2], names[(i+1)%2]))
			}
		})
	}
}

func TestChangedAttributesOfManyBaseFilesAddNoData(t *testing.T) {
	s := newStage(t, true)
	dir := filepath.Join(s.base, "d")
	s.must(os.Mkdir(dir, 0o755))
	for i := range *large {
		s.must(os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("content"), 0o644))
	}
	s.enter()
	for i := range *large {
		path := filepath.Join(s.tree(), "d", fmt.Sprint(i))
		s.must(errors.Join(unix.Chmod(path, 0o600), unix.Chown(path, 10001, 10001), unix.UtimesNanoAt(unix.AT_FDCWD, path, longAgo, 0)))
	}
	s.leave()
	s.wantRows(map[string]int{"fs_data": 0, "fs_inode": *large + 3}) // the root, the workspace, d
	s.enter()
	var st unix.Stat_t
	path := filepath.Join(s.tree(), "d", "7")
	s.must(unix.Lstat(path, &st))
	if got, want := describe(&st), "100600 10001:10001 nlink=1 size=7 rdev=0"; got != want || st.Mtim != longAgo[1] {
		t.Errorf("got %s, %v; want %s", got, st.Mtim, want)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	s.leave()
}

func TestLargeBaseFile(t *testing.T) {
	const size = 1 << 30
	s := newStage(t, true)
	s.must(os.WriteFile(filepath.Join(s.base, "f"), []byte("begin"), 0o644))
	s.must(os.Truncate(filepath.Join(s.base, "f"), size))
	s.enter()
	f, err := os.OpenFile(filepath.Join(s.tree(), "f"), os.O_RDWR, 0)
	s.must(err)
	if n, err := io.Copy(io.Discard, f); n != size || err != nil {
		t.Errorf("read %d bytes: %v", n, err)
	}
	s.must(f.Close())
	s.leave()
	s.wantRows(map[string]int{"fs_data": 0, "fs_inode": 1})
	s.enter()
	f, err = os.OpenFile(filepath.Join(s.tree(), "f"), os.O_RDWR, 0)
	s.must(err)
	_, err = f.WriteAt([]byte("x"), size/2)
	s.must(errors.Join(err, f.Close()))
	s.leave()
	s.wantRows(map[string]int{"fs_data": 1, "fs_inode": 3})
}

func TestLargeDirectory(t *testing.T) {
	s := newStage(t, true)
	s.fill(filepath.Join(s.base, "d"), *large/2)
	s.enter()
	dir := filepath.Join(s.tree(), "d")
	for i := range *large / 2 {
		s.must(unix.Mknod(filepath.Join(dir, fmt.Sprint("new", i)), unix.S_IFREG|0o644, 0))
	}
	for range 2 {
		s.wantEntries(dir, *large)
		s.leave()
		s.enter()
	}
	s.must(os.RemoveAll(dir))
	s.leave()
	s.wantRows(map[string]int{"fs_inode": 2, "art_whiteout": 1})
}

// Every byte but the two that end names may be in one.
func TestNamesOfAnyBytes(t *testing.T) {
	for _, base := range []bool{false, true} {
		s := newStage(t, base)
		s.enter()
		dir := s.tree()
		if base {
			dir = s.base
		}
		want := 0
		for b := 1; b < 256; b++ {
			if b == '/' {
				continue
			}
			for _, name := range []string{string([]byte{'n', byte(b)}), string([]byte{byte(b), 'n'}), strings.Repeat(string([]byte{byte(b)}), 255)} {
				if err := unix.Mknod(filepath.Join(dir, name), unix.S_IFREG|0o644, 0); err != nil && (err != syscall.EEXIST || name != "nn") {
					t.Fatalf("%q: %v", name, err)
				} else if err == nil {
					want++
				}
			}
		}
		for range 2 {
			s.wantEntries(s.tree(), want)
			s.leave()
			s.enter()
		}
		list, err := readDir(s.tree(), 0)
		s.must(err)
		for _, e := range list {
			s.must(unix.Rename(filepath.Join(s.tree(), e.name), filepath.Join(s.tree(), e.name[1:]+e.name[:1])))
		}
		s.leave()
	}
}

// descend goes down a path of n directories of one name, from an open one, by a function that opens
// each.
func descend(top string, n int, open func(at int) (int, error)) (int, error) {
	fd, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; i < n && err == nil; i++ {
		var next int
		if next, err = open(fd); err != nil {
			err = fmt.Errorf("level %d: %w", i, err)
			break
		}
		unix.Close(fd)
		fd = next
	}
	return fd, err
}

// Paths may be longer than any call takes: programs go there step by step.
func TestDeepTree(t *testing.T) {
	const levels = 1200
	name := strings.Repeat("d", 30)
	step := func(at int) (int, error) {
		return unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	build := func(at int) (int, error) {
		if err := unix.Mkdirat(at, name, 0o755); err != nil {
			return -1, err
		}
		return step(at)
	}
	for _, base := range []bool{false, true} {
		s := newStage(t, base)
		s.enter()
		dir := s.tree()
		if base {
			dir = s.base
		}
		fd, err := descend(dir, levels, build)
		s.must(err)
		s.must(unix.Mknodat(fd, "f", unix.S_IFREG|0o644, 0))
		unix.Close(fd)
		for _, want := range []uint32{0o644, 0o600, 0o600} {
			fd, err := descend(s.tree(), levels, step)
			s.must(err)
			var st unix.Stat_t
			s.must(unix.Fstatat(fd, "f", &st, 0))
			if st.Mode != unix.S_IFREG|want {
				t.Errorf("mode %o, want %o", st.Mode, want)
			}
			s.must(unix.Fchmodat(fd, "f", 0o600, 0))
			unix.Close(fd)
			s.leave()
			s.enter()
		}
		s.must(os.Rename(filepath.Join(s.tree(), name), filepath.Join(s.tree(), "moved")))
		s.must(os.RemoveAll(filepath.Join(s.tree(), "moved")))
		s.leave()
	}
}
