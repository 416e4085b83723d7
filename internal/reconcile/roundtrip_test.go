package reconcile

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
)

func sample(t testing.TB) bench {
	b := newBench(t)
	b.write("main.py", "print(1)\n")
	b.write("empty", "")
	b.write("src/deep/er/x", strings.Repeat("0123456789", 20_000))
	b.write("latin\xe9", "not UTF-8")
	b.write("new\nline/x", "1")
	b.write("d\xff/"+strings.Repeat("n", 255), "long")
	b.write("script", "#!/bin/sh\n")
	must(t, os.Chmod(b.path("script"), 0o751))
	must(t, os.Mkdir(b.path("bare"), 0o700))
	must(t, os.Symlink("src", b.path("latest")))
	must(t, os.Symlink("/etc/passwd", b.path("absolute")))
	must(t, os.Symlink("nowhere\xfe\n", b.path("dangling")))
	must(t, os.Link(b.path("main.py"), b.path("src/main2.py")))
	must(t, os.Chmod(b.path("src"), os.ModeSticky|0o777))
	setMtime(t, b.path("main.py"), 1_000_000_000, 123_456_789)
	setMtime(t, b.path("latest"), 1, 999_999_999)
	setMtime(t, b.path("empty"), -5, 1)
	setMtime(t, b.path("src/deep"), 1_234_567_890, 1)
	setMtime(t, b.ws, 1_500_000_000, 5)
	return b
}

func TestRoundTrip(t *testing.T) {
	b := sample(t)
	before := tree(t, b.ws)
	out, told := b.push()
	if told != "" {
		t.Errorf("push told: %s", told)
	}
	for _, want := range []string{
		"Workspace name: ws\nFiles will be stored under: /ws/\n",
		"\nFILE /ws/main.py (9 bytes, ino ", "\nDIR  /ws/src (ino ", "\nLINK /ws/latest -> src (ino ",
		"\nFILE $'/ws/new\\nline/x' (1 bytes", "\nFILE /ws/latin\xe9 (9 bytes",
	} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("push printed no %q in:\n%s", want, out)
		}
	}
	b.checkRows()
	dir := b.other()
	out, told = b.pull(dir, allow)
	if told != "" {
		t.Errorf("pull told: %s", told)
	}
	for _, want := range []string{
		"Workspace name: ws\nExporting from: /ws/\n", "\nFILE ws/main.py (9 bytes)\n", "\nDIR  ws/src\n", "\nLINK ws/latest -> src\n",
	} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("pull printed no %q in:\n%s", want, out)
		}
	}
	wantTree(t, dir, before)
	wantTree(t, b.ws, before)

	// Again, there is nothing to do, and nothing is said.
	for _, again := range []func() (string, string){
		func() (string, string) { return b.push() },
		func() (string, string) { return b.pull(dir, allow) },
		func() (string, string) { return b.pull(b.ws) },
	} {
		if out, told := again(); strings.Count(out, "\n") != 2 || told != "" {
			t.Errorf("nothing to do, printed:\n%s%s", out, told)
		}
	}
	wantTree(t, dir, before)
	wantTree(t, b.ws, before)
}

func TestDryRunChangesNothing(t *testing.T) {
	b := sample(t)
	out, _ := b.push(dryRun)
	wantAbsent(t, b.db)
	real, _ := b.push()
	if a, b := strings.Count(out, "\n"), strings.Count(real, "\n"); a != b {
		t.Errorf("dry run announced %d lines, push printed %d", a, b)
	}
	dir := b.other()
	empty := tree(t, dir)
	out, _ = b.pull(dir, dryRun, allow)
	wantTree(t, dir, empty)
	real, _ = b.pull(dir, allow)
	if out != real {
		t.Errorf("dry run announced:\n%sbut pull printed:\n%s", out, real)
	}
	b.write("main.py", "changed")
	rows := b.count("SELECT sum(size) FROM fs_inode")
	if out, _ := b.push(dryRun); !strings.Contains(out, "FILE /ws/main.py (7 bytes, ino ") {
		t.Errorf("dry run announced:\n%s", out)
	}
	if rows != b.count("SELECT sum(size) FROM fs_inode") {
		t.Error("a dry run changed the database")
	}
}

func TestQuietSaysNothing(t *testing.T) {
	b := sample(t)
	must(t, unix.Mkfifo(b.path("fifo"), 0o600))
	if out, told := b.push(quiet); out+told != "" {
		t.Errorf("push: %q %q", out, told)
	}
	if out, told := b.pull(b.other(), quiet, allow); out+told != "" {
		t.Errorf("pull: %q %q", out, told)
	}
}

func TestWhatTakesNoPart(t *testing.T) {
	b := newBench(t)
	b.db = b.path("in.db")
	b.write("x", "x")
	b.write(".art/config/binds.json", "{}")
	b.write("sub/.art/kept", "1")
	b.write(staging.Prefix+"OLD/1", "left by a pull that was killed")
	must(t, unix.Mkfifo(b.path("fifo"), 0o600))
	out, told := b.push()
	if strings.Contains(out, "in.db") || strings.Contains(out, ".art/config") || !strings.Contains(out, "/ws/sub/.art/kept") || strings.Contains(out, staging.Prefix) {
		t.Errorf("printed:\n%s", out)
	}
	for _, want := range []string{"/ws/.art: skipped", "/ws/fifo: skipped: it is a named pipe", "/ws/" + staging.Prefix + "OLD: skipped"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in:\n%s", want, told)
		}
	}
	// Nor does pull write them, whatever the database holds.
	b.sql(`INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES
			(1000, 16877, 2, 0, 1, 1, 1), (1001, 33188, 1, 0, 1, 1, 1), (1002, 8630, 1, 0, 1, 1, 1);
		INSERT INTO fs_dentry (name, parent_ino, ino) SELECT '.art', ino, 1000 FROM fs_dentry WHERE parent_ino=1 AND name='ws';
		INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('config', 1000, 1000), ('evil', 1000, 1001);
		INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'in.db', ino, 1001 FROM fs_dentry WHERE parent_ino=1 AND name='ws';
		INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'in.db-wal', ino, 1001 FROM fs_dentry WHERE parent_ino=1 AND name='ws';
		INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'tty', ino, 1002 FROM fs_dentry WHERE parent_ino=1 AND name='ws'`)
	_, told = b.pull(b.ws)
	for _, want := range []string{"ws/.art: skipped", "ws/in.db: skipped", "ws/in.db-wal: skipped", "ws/tty: skipped: it is a device"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in:\n%s", want, told)
		}
	}
	wantAbsent(t, b.path(".art/evil"))
	wantAbsent(t, b.path("tty"))
	wantAbsent(t, b.path(staging.Prefix+"OLD"))
	if b.stat("in.db").Size == 0 {
		t.Error("the database was overwritten")
	}
}

// TestSparse carries a file of a terabyte with little in it, as quickly as the little.
func TestSparse(t *testing.T) {
	b := newBench(t)
	const size = 1<<40 + 12345
	f, err := os.Create(b.path("big"))
	must(t, err)
	marks := map[int64]string{0: "start", 1<<20 - 3: "across", 4<<30 - 2: "four", size - 4: "end."}
	for off, text := range marks {
		_, err := f.WriteAt([]byte(text), off)
		must(t, err)
	}
	must(t, f.Truncate(size))
	must(t, f.Close())
	b.write("dense", strings.Repeat("\x00", 3<<20))
	b.push()
	if n := b.count("SELECT count(*) FROM fs_data d JOIN fs_dentry e ON e.ino=d.ino WHERE e.name='big'"); n == 0 || n > 100 {
		t.Errorf("%d rows for a file of %d marks", n, len(marks))
	}
	if n := b.count("SELECT sum(length(data)) FROM fs_data d JOIN fs_dentry e ON e.ino=d.ino WHERE e.name='dense'"); n != 3<<20 {
		t.Errorf("dense file has %d bytes in the database", n)
	}
	dir := b.other()
	b.pull(dir)
	g, err := os.Open(filepath.Join(dir, "big"))
	must(t, err)
	defer g.Close()
	st, err := hostfs.Stat(g)
	must(t, err)
	if st.Size != size || st.Blocks*512 > 1<<20 {
		t.Errorf("size %d, %d bytes on disk", st.Size, st.Blocks*512)
	}
	for off, text := range marks {
		got := make([]byte, len(text))
		_, err := g.ReadAt(got, off)
		must(t, err)
		if string(got) != text {
			t.Errorf("at %d: %q, want %q", off, got, text)
		}
	}
}

// TestRandomTrees pushes random trees and pulls them into an empty directory; then it pushes other
// trees over them.
func TestRandomTrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "art-sync-test-")
		must(t, err)
		defer os.RemoveAll(dir)
		b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
		for round := range 2 {
			must(t, os.RemoveAll(b.ws))
			must(t, os.Mkdir(b.ws, 0o755))
			randomTree(rt, t, b.ws)
			want := tree(t, b.ws)
			b.push()
			b.checkRows()
			out := filepath.Join(dir, fmt.Sprintf("out%d", round), "ws")
			must(t, os.MkdirAll(out, 0o755))
			b.pull(out, allow)
			got := tree(t, out)
			if round > 0 {
				// What only the database has is there too, perhaps as another name of a file.
				links := regexp.MustCompile(` links=.*`)
				want, got = links.ReplaceAllString(want, ""), links.ReplaceAllString(got, "")
				for _, line := range strings.SplitAfter(want, "\n") {
					if !strings.Contains("\n"+got, "\n"+line) {
						rt.Fatalf("after the second push, no %sin:\n%s", line, got)
					}
				}
			} else if got != want {
				rt.Fatalf("pulled:\n%swant:\n%s", got, want)
			}
			if again, _ := b.pull(out, allow); strings.Count(again, "\n") != 2 {
				rt.Fatalf("the second pull printed:\n%s", again)
			}
		}
	})
}

func randomTree(rt *rapid.T, t *testing.T, root string) {
	name := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "c", "dir", ".hidden", "x\ny", "\xff\xfe", " ", "-n", "*"}),
		rapid.StringMatching(`[a-d]{1,3}`),
	)
	dirs, files := []string{root}, []string(nil)
	for i := range rapid.IntRange(0, 12).Draw(rt, "entries") {
		path := filepath.Join(rapid.SampledFrom(dirs).Draw(rt, "parent"), name.Draw(rt, "name"))
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		switch rapid.IntRange(0, 4).Draw(rt, "kind") {
		case 0:
			must(t, os.Mkdir(path, 0o700))
			dirs = append(dirs, path)
		case 1:
			must(t, os.Symlink(rapid.SampledFrom([]string{".", "..", "/", "a", "\xff"}).Draw(rt, "target"), path))
		case 2:
			if len(files) > 0 {
				must(t, os.Link(rapid.SampledFrom(files).Draw(rt, "first"), path))
				break
			}
			fallthrough
		default:
			size := rapid.SampledFrom([]int{0, 1, 100, 64 << 10, 64<<10 + 1, 200_000}).Draw(rt, "size")
			must(t, os.WriteFile(path, []byte(strings.Repeat(string(rune('a'+i)), size)), 0o600))
			must(t, os.Chmod(path, os.FileMode(rapid.SampledFrom([]uint32{0o600, 0o644, 0o777, 0o400}).Draw(rt, "mode"))))
			files = append(files, path)
		}
		setMtime(t, path, rapid.Int64Range(0, 4_000_000_000).Draw(rt, "sec"), rapid.Int64Range(0, 999_999_999).Draw(rt, "nsec"))
	}
}

// What a push counts beforehand is what it does.
func TestPushKnowsWhatThereIsToDo(t *testing.T) {
	b := sample(t)
	b.write(".art/config/binds.json", "{}")
	b.write("ignored/x", "1")
	exclude := func(o *Options) { o.Exclude = []string{"ignored/"} }
	b.push(exclude)
	b.write("sub/new", "12345")
	opt := Options{Dir: b.ws, DB: b.db, Stdout: io.Discard, Stderr: io.Discard, StderrTerminal: true}
	exclude(&opt)
	h, err := openHost(b.ws)
	must(t, err)
	defer h.close()
	p := &pusher{planner: planner{ctx: t.Context(), opt: &opt, report: newReporter(&opt), host: h, name: "ws"}}
	must(t, p.openForPush())
	defer p.store.Close()
	must(t, p.load())
	files, bytes, err := p.count(t.Context())
	must(t, err)
	want := 0
	must(t, filepath.WalkDir(b.ws, func(at string, d os.DirEntry, err error) error {
		if d.Name() == "x" && strings.HasSuffix(filepath.Dir(at), "/ignored") || strings.Contains(at, "/.art/") || at == b.ws {
			return err
		}
		want++
		return err
	}))
	if files != want || bytes != 5 {
		t.Errorf("%d entries, %d bytes; want %d, 5", files, bytes, want)
	}
}

func TestProgressOnATerminalOnly(t *testing.T) {
	b := sample(t)
	if _, told := b.push(); strings.Contains(told, "\r") {
		t.Errorf("progress without a terminal: %q", told)
	}
}

// A pull that was killed left its staging directory; one that still runs has a lock on its own.
func TestStagingIsSwept(t *testing.T) {
	b := newBench(t)
	b.write("x", "1")
	b.push()
	b.write(staging.Prefix+"KILLED/1", "left")
	h, err := openHost(b.ws)
	must(t, err)
	defer h.close()
	running, err := staging.New(h.dir)
	must(t, err)
	b.pull(b.ws)
	wantAbsent(t, b.path(staging.Prefix+"KILLED"))
	if _, err := os.Stat(b.path(running.Name)); err != nil {
		t.Error("the staging directory of another pull is gone")
	}
	running.Remove()
	wantAbsent(t, b.path(running.Name))
}

// BenchmarkTree moves a tree of the size of a small project.
func BenchmarkTree(b *testing.B) {
	const files = 2000
	at := newBench(b)
	for i := range files {
		at.write(fmt.Sprintf("d%d/f%d", i%50, i), strings.Repeat("x", i*7%20_000))
	}
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			os.Remove(at.db)
			at.push(quiet)
		}
		b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
	})
	b.Run("pull", func(b *testing.B) {
		for b.Loop() {
			at.pull(at.other(), quiet)
		}
		b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
	})
}

// Two directories that the guest has swapped show under each other's names what the host has in them, also under
// names that are in both.
func TestSwappedDirectories(t *testing.T) {
	b := newBench(t)
	b.write("p/same", "of p")
	b.write("q/same", "of q")
	b.write("p/sub/one", "1")
	b.write("q/sub/two", "2")
	must(t, os.Symlink("one", b.path("p/link")))
	must(t, os.Symlink("two", b.path("q/link")))
	var want map[string]string
	b.guest(func(g *guest) {
		g.rename("p", "x")
		g.rename("q", "p")
		g.rename("x", "q")
		want = g.portrait()
	})
	b.pull(b.ws, allow)
	if got := b.hostPortrait(); !maps.Equal(got, want) {
		t.Errorf("the host has %v, want %v", got, want)
	}
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("again:\n%s%s", out, told)
	}
}
