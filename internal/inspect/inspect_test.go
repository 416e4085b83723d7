package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile"
	"github.com/riverlytech/art/sqlvfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample makes a workspace and a database that holds it, with sql run on it, and opens that.
func sample(t *testing.T, sql string) (s *sqlvfs.Store, ws string) {
	t.Helper()
	dir := t.TempDir()
	ws, db := filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")
	must(t, os.MkdirAll(filepath.Join(ws, "sub/deep"), 0o755))
	must(t, os.WriteFile(filepath.Join(ws, "file"), []byte("content\x00\xff"), 0o640))
	must(t, os.WriteFile(filepath.Join(ws, "sub/deep/x"), bytes.Repeat([]byte("y"), 100_000), 0o4755))
	must(t, os.Chmod(filepath.Join(ws, "sub/deep/x"), 0o755|os.ModeSetuid))
	must(t, os.WriteFile(filepath.Join(ws, "esc\x1b[2J"), nil, 0o600))
	for link, target := range map[string]string{
		"to-file": "file", "to-sub": "sub", "up": "../ws/sub/./deep", "guest": "/home/agent/ws/sub",
		"out": "../../etc", "absolute": "/etc/passwd", "loop": "loop", "dangling": "none", "sub/back": "..",
	} {
		must(t, os.Symlink(target, filepath.Join(ws, link)))
	}
	must(t, reconcile.Push(t.Context(), reconcile.Options{Dir: ws, DB: db, Quiet: true, Stdout: io.Discard, Stderr: os.Stderr}))
	if sql != "" {
		c, err := sqlite3.Open(db)
		must(t, err)
		must(t, c.Exec(sql))
		must(t, c.Close())
	}
	s, err := sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s, ws
}

func TestPathsStayInTheTree(t *testing.T) {
	s, _ := sample(t, "")
	const text = "content\x00\xff"
	y := strings.Repeat("y", 100_000)
	for path, want := range map[string]string{
		"/ws/file": text, "ws/file": text, "//ws/./file": text, "/ws/to-file": text, "/ws/sub/../file": text,
		"/ws/to-sub/deep/x": y, "/ws/up/x": y, "/ws/guest/deep/x": y, "/ws/sub/back/file": text,
		"/ws/to-sub/../file": text, "/ws/up/../deep/x": y,
	} {
		var out bytes.Buffer
		if err := Cat(&out, s, path, Options{}); err != nil || out.String() != want {
			t.Errorf("cat %s: %v, %d bytes", path, err, out.Len())
		}
	}
	for path, want := range map[string]string{
		"/ws/out/passwd": errOutside.Error(), "/ws/absolute": errOutside.Error(), "/..": errOutside.Error(),
		"/ws/loop": "too many levels of symbolic links", "/ws/dangling": errNoEntry.Error(), "/nothing": errNoEntry.Error(),
		"/ws/file/x": "not a directory", "/ws/file/..": "not a directory", "/ws/sub": "is a directory", "/": "is a directory",
	} {
		var out bytes.Buffer
		err := Cat(&out, s, path, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("cat %s: %v, want %s", path, err, want)
		}
	}
}

func TestLs(t *testing.T) {
	s, _ := sample(t, "UPDATE fs_inode SET uid=1000, gid=7, mtime=1000000000 WHERE mode=33184")
	var out bytes.Buffer
	must(t, Ls(&out, s, "/ws", Options{}))
	if want := "absolute\ndangling\n$'esc\\033[2J'\nfile\nguest\nloop\nout\nsub\nto-file\nto-sub\nup\n"; out.String() != want {
		t.Errorf("ls:\n%swant:\n%s", out.String(), want)
	}
	out.Reset()
	must(t, Ls(&out, s, "/ws", Options{Long: true}))
	for _, want := range []string{
		`(?m)^-rw-r----- 1 1000 +7 +9 2001-09-0\d \d\d:\d\d file$`, `(?m)^lrwxrwxrwx 1 .* to-sub -> sub$`, `(?m)^drwxr-xr-x 3 .* sub$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("ls -l shows no %s:\n%s", want, out.String())
		}
	}
	out.Reset()
	must(t, Ls(&out, s, "/ws/sub", Options{Slash: true}))
	if want := "back\ndeep/\n"; out.String() != want {
		t.Errorf("ls -p: %q, want %q", out.String(), want)
	}
	out.Reset()
	must(t, Ls(&out, s, "/ws/sub/deep/x", Options{Long: true, Slash: true}))
	if !strings.HasPrefix(out.String(), "-rwsr-xr-x 1 ") || !strings.HasSuffix(out.String(), " /ws/sub/deep/x\n") {
		t.Errorf("ls -l of a file: %s", out.String())
	}
}

func TestModeText(t *testing.T) {
	for mode, want := range map[uint32]string{
		0o100644: "-rw-r--r--", 0o41777: "drwxrwxrwt", 0o41776: "drwxrwxrwT", 0o106755: "-rwsr-sr-x",
		0o106644: "-rwSr-Sr--", 0o120777: "lrwxrwxrwx", 0o10600: "prw-------", 0o140755: "srwxr-xr-x",
		0o20666: "crw-rw-rw-", 0o60660: "brw-rw----", 0: "?---------",
	} {
		if got := modeText(mode); got != want {
			t.Errorf("%o: %s, want %s", mode, got, want)
		}
	}
}

func TestStat(t *testing.T) {
	s, _ := sample(t, `UPDATE fs_inode SET mtime=1000000000, mtime_nsec=5 WHERE mode=33184;
		INSERT INTO art_whiteout (parent_ino, name) SELECT ino, 'gone' FROM fs_dentry WHERE name='sub'`)
	for path, want := range map[string][]string{
		"/ws/sub/deep/x": {"Path: /ws/sub/deep/x\n", "Mode: 4755 -rwsr-xr-x\n", "Size: 100000\n", "Content: 100000 bytes in 2 chunks in the database\n"},
		"/ws/file":       {"Mode: 0640 ", ":40.000000005 ", "Links: 1\n"},
		"/ws/to-sub":     {"Target: sub\n", "lrwxrwxrwx"},
		"/ws/sub":        {"Entries: 2 in the database\n", "Deleted: gone\n"},
	} {
		var out bytes.Buffer
		must(t, Stat(&out, s, path, Options{}))
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("stat %s shows no %q:\n%s", path, w, out.String())
			}
		}
	}
}

func TestTree(t *testing.T) {
	s, _ := sample(t, "")
	var out bytes.Buffer
	must(t, Tree(&out, s, "/ws/sub", Options{}))
	if want := "/ws/sub\n|-- back -> ..\n`-- deep\n    `-- x\n\n1 directories, 2 files\n"; out.String() != want {
		t.Errorf("tree:\n%swant:\n%s", out.String(), want)
	}
	out.Reset()
	must(t, Tree(&out, s, "/ws/sub", Options{Terminal: true}))
	if want := "/ws/sub\n├── back -> ..\n└── deep\n    └── x\n\n1 directories, 2 files\n"; out.String() != want {
		t.Errorf("tree on a terminal:\n%swant:\n%s", out.String(), want)
	}
}

// In JSON, every line is an object that says all, and a name in it tells a terminal nothing.
func TestJSON(t *testing.T) {
	s, _ := sample(t, `UPDATE fs_inode SET mtime=1000000000, mtime_nsec=5, atime=0, atime_nsec=0, ctime=1, ctime_nsec=0, uid=7, gid=8 WHERE mode=33184;
		UPDATE fs_dentry SET name=CAST(x'ff' AS TEXT) WHERE name='dangling';
		INSERT INTO art_whiteout (parent_ino, name) SELECT ino, 'gone' FROM fs_dentry WHERE name='sub'`)
	show := func(f func(io.Writer, *sqlvfs.Store, string, Options) error, path string) string {
		t.Helper()
		var out bytes.Buffer
		must(t, f(&out, s, path, Options{JSON: true}))
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "}\n") || strings.ContainsAny(line, "\x1b\u009b") {
				t.Errorf("not an object: %q", line)
			}
		}
		return out.String()
	}
	has := func(text string, patterns ...string) {
		t.Helper()
		for _, p := range patterns {
			if !regexp.MustCompile("(?m)^" + p + "$").MatchString(text) {
				t.Errorf("no %s in\n%s", p, text)
			}
		}
	}
	const file = `{"path":"/ws/file","kind":"file","mode":"100640","ino":\d+,"links":1,"uid":7,"gid":8,"size":9,"modified":"2001-09-09T01:46:40.000000005Z"`
	ls := show(Ls, "/ws")
	has(ls, file+"}", `.*"path":"/ws/to-sub","kind":"symbolic link".*"target":"sub"}`, `{"path":"/ws/\\ufffd","path_bytes":"L3dzL/8=",.*`)
	if n := strings.Count(ls, "\n"); n != 11 || strings.Contains(ls, "/ws/sub/deep") {
		t.Errorf("ls --json: %d lines:\n%s", n, ls)
	}
	has(show(Ls, "ws/file"), file+"}")
	has(show(Tree, "/"), file+"}", `{"path":"/ws","kind":"directory",.*`, `{"path":"/ws/sub/deep/x","kind":"file","mode":"104755",.*`)
	has(show(Tree, "/ws/file"), file+"}")
	has(show(Stat, "/ws/file"), file+`,"row":\d+,"accessed":"1970-01-01T00:00:00Z","changed":"1970-01-01T00:00:01Z","born":"1970-01-01T00:00:00Z","content":{"bytes":9,"chunks":1}}`)
	has(show(Stat, "/ws/sub"), `.*"entries":2,"deleted":\["gone"\]}`)
	has(show(Stat, "/ws/to-sub"), `.*"target":"sub".*`)
}

func TestTreeOfALoopEnds(t *testing.T) {
	s, _ := sample(t, `INSERT INTO fs_dentry (name, parent_ino, ino)
		SELECT 'again', x.ino, y.ino FROM fs_dentry x, fs_dentry y WHERE x.name='deep' AND y.name='sub'`)
	var out bytes.Buffer
	must(t, Tree(&out, s, "/", Options{}))
	if n := strings.Count(out.String(), "again  [not entered"); n != 1 {
		t.Errorf("%d marks in:\n%s", n, out.String())
	}
	out.Reset()
	must(t, Tree(&out, s, "/", Options{JSON: true}))
	if n := strings.Count(out.String(), `/again","kind":"directory"`); n != 1 || strings.Count(out.String(), `"not_entered":"this`) != 1 {
		t.Errorf("%d times, or no mark, in:\n%s", n, out.String())
	}
}

// Content that is on the host needs a base, and the very version of it.
func TestCatWithBase(t *testing.T) {
	s, ws := sample(t, "")
	db := s.Path()
	must(t, s.Close())
	host := strings.Repeat("h", 100_000)
	must(t, os.WriteFile(filepath.Join(ws, "partly"), []byte(host), 0o600))
	rw, err := sqlvfs.Open(db, sqlvfs.Options{})
	must(t, err)
	var in *sqlvfs.Inode
	must(t, rw.Update(func(tx *sqlvfs.Tx) (err error) {
		if in, err = tx.New(sqlvfs.Attr{Mode: 0o100600, Nlink: 1, Size: 100_000}); err != nil {
			return err
		}
		tx.SetOrigin(in, originOf(t, ws, "partly"))
		return tx.Link(tx.Root(), "partly", in)
	}))
	f, err := os.Open(filepath.Join(ws, "partly"))
	must(t, err)
	must(t, rw.WriteAt(in, []byte("GUEST"), 70_000, f, sqlvfs.Now()))
	must(t, f.Close())
	must(t, rw.Close())

	if s, err = sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out bytes.Buffer
	err = Cat(&out, s, "/partly", Options{})
	var h cli.Hinted
	if !errors.As(err, &h) || !strings.Contains(h.Hint(), "--base") || out.Len() > 0 {
		t.Errorf("without a base: %v, %d bytes", err, out.Len())
	}
	must(t, Cat(&out, s, "/partly", Options{Base: ws, Name: "ws"}))
	if want := host[:70_000] + "GUEST" + host[70_005:]; out.String() != want {
		t.Error("with a base: wrong content")
	}
	out.Reset()
	must(t, Stat(&out, s, "/partly", Options{}))
	if !strings.Contains(out.String(), "Origin: partly in workspace ws\n") || !strings.Contains(out.String(), "in 1 chunks") {
		t.Errorf("stat:\n%s", out.String())
	}
	out.Reset()
	must(t, Stat(&out, s, "/partly", Options{JSON: true}))
	if !strings.Contains(out.String(), `"origin":{"workspace":"ws","path":"partly","limit":100000,`) || !strings.Contains(out.String(), `"chunks":1}`) {
		t.Errorf("stat --json:\n%s", out.String())
	}
	if err := Cat(io.Discard, s, "/partly", Options{Base: ws, Name: "other"}); err == nil {
		t.Error("a base of another name is taken")
	}
	must(t, os.WriteFile(filepath.Join(ws, "partly"), []byte(strings.Repeat("i", 100_000)), 0o600))
	if err := Cat(io.Discard, s, "/partly", Options{Base: ws, Name: "ws"}); !errors.Is(err, sqlvfs.ErrBaseChanged) {
		t.Errorf("changed base: %v", err)
	}
}

func originOf(t *testing.T, ws, rel string) *sqlvfs.Origin {
	t.Helper()
	f, err := os.Open(filepath.Join(ws, rel))
	must(t, err)
	defer f.Close()
	st, err := hostfs.Stat(f)
	must(t, err)
	o := hostfs.Fingerprint(&st)
	return &sqlvfs.Origin{Base: "ws", Path: rel, Number: uint64(sqlvfs.MaxIno) + o.Ino, Fingerprint: o, Limit: o.Size}
}
