package fs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// answerBacks has the tree of a server go back, and makes checkpoints, as its standard input says.
func answerBacks(store *sqlvfs.Store, overlay *Overlay) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c sqlvfs.Checkpoint
		var err error
		if n := unnoted(overlay); n != 0 {
			fmt.Printf("error %d files without a name are not noted\n", n)
			continue
		}
		begin := time.Now()
		switch word, name, _ := strings.Cut(lines.Text(), " "); word {
		case "checkpoint":
			c, err = store.Checkpoint(sqlvfs.ByUser, name)
		case "undo":
			c, err = GoBack(store, []*Overlay{overlay}, sqlvfs.Undo)
		case "redo":
			c, err = GoBack(store, []*Overlay{overlay}, sqlvfs.Redo)
		case "rewind":
			c, err = GoBack(store, []*Overlay{overlay}, sqlvfs.To(name))
		case "part":
			to, path, _ := strings.Cut(name, " ")
			c, err = GoBack(store, []*Overlay{overlay}, sqlvfs.Part(to, []string{path}))
		}
		if err != nil {
			fmt.Printf("error %v\n", err)
			continue
		}
		fmt.Printf("%d in %v\n", c.ID, time.Since(begin))
	}
}

// do has the server do something of checkpoints, and returns how long that took.
func (m *mounted) do(t testing.TB, what string) string {
	t.Helper()
	_, err := io.WriteString(m.asks, what+"\n")
	m.must(t, err)
	line, err := m.answers.ReadString('\n')
	m.must(t, err)
	if strings.HasPrefix(line, "error ") {
		t.Fatalf("%s: %s", what, line)
	}
	_, took, _ := strings.Cut(strings.TrimSpace(line), " in ")
	return took
}

// unnoted counts the nodes that removedFiles should find and does not.
func unnoted(o *Overlay) (count int) {
	o.view(func(t *tx) error {
		found := map[*node]bool{}
		for _, r := range t.removedFiles() {
			found[r.n] = true
		}
		for _, n := range t.nodes {
			if _, ok := t.removedFile(n); ok && !found[n] {
				count++
			}
		}
		return nil
	})
	return count
}

func (m *mounted) write(t *testing.T, path, text string) {
	t.Helper()
	m.must(t, os.WriteFile(m.at(path), []byte(text), 0o644))
}

// shows compares files with what they should hold; "-" is none.
func (m *mounted) shows(t *testing.T, want map[string]string) {
	t.Helper()
	for path, text := range want {
		if wrong := m.is(path, text); wrong != "" {
			t.Error(wrong)
		}
	}
}

// While programs have the tree in their hands it goes back, and forth: names, content, attributes and lists are what they were at once.
func TestGoingBackShowsAtOnce(t *testing.T) {
	m := newMounted(t)
	for _, name := range []string{"base/f", "base/g", "base/sub/x", "base/moved"} {
		m.plant(t, name, []byte("host "+name))
	}
	m.must(t, os.MkdirAll(m.at("own/d"), 0o755))
	m.write(t, "own/f", "one")
	m.write(t, "own/d/x", "one")
	m.must(t, os.Symlink("one", m.at("own/link")))
	m.names(t, "ws/base")
	before := map[string]string{"own/f": "one", "own/d/x": "one", "own/new": "-", "own/e/x": "-", "ws/base/f": "host base/f", "ws/base/g": "host base/g",
		"ws/base/sub/x": "host base/sub/x", "ws/base/new": "-", "ws/base/moved": "host base/moved", "ws/here": "-"}
	m.shows(t, before)
	m.do(t, "checkpoint one")

	m.write(t, "own/f", "two, longer")
	m.write(t, "own/new", "two")
	m.must(t, os.Rename(m.at("own/d"), m.at("own/e")))
	m.must(t, os.Remove(m.at("own/link")))
	m.must(t, os.Symlink("two", m.at("own/link")))
	m.write(t, "ws/base/f", "changed")
	m.must(t, os.Remove(m.at("ws/base/g")))
	m.must(t, os.RemoveAll(m.at("ws/base/sub")))
	m.write(t, "ws/base/new", "two")
	m.must(t, os.Rename(m.at("ws/base/moved"), m.at("ws/here")))
	after := map[string]string{"own/f": "two, longer", "own/d/x": "-", "own/new": "two", "own/e/x": "one", "ws/base/f": "changed", "ws/base/g": "-",
		"ws/base/sub/x": "-", "ws/base/new": "two", "ws/base/moved": "-", "ws/here": "host base/moved"}
	m.shows(t, after)
	lists := func(own, base string, link string) {
		t.Helper()
		if got := m.names(t, "own"); got != own {
			t.Errorf("own lists %s, not %s", got, own)
		}
		if got := m.names(t, "ws/base"); got != base {
			t.Errorf("base lists %s, not %s", got, base)
		}
		if got, err := os.Readlink(m.at("own/link")); err != nil || got != link {
			t.Errorf("the link leads to %q, %v", got, err)
		}
	}
	lists("e f link new", "f new", "two")
	for range 3 {
		m.do(t, "undo")
		m.shows(t, before)
		lists("d f link", "f g moved sub", "one")
		m.do(t, "redo")
		m.shows(t, after)
		lists("e f link new", "f new", "two")
	}
	m.do(t, "rewind one")
	m.shows(t, before)
	m.write(t, "own/f", "three")
	m.write(t, "ws/base/sub/x", "three")
	m.write(t, "ws/base/f", "three")
	m.remount(t)
	m.shows(t, map[string]string{"own/f": "three", "ws/base/sub/x": "three", "ws/base/f": "three", "ws/base/g": "host base/g", "own/d/x": "one"})
}

// Who has a file open goes on with what it is then, or, if it is none, with what it was.
func TestGoingBackWithOpenFiles(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "f", []byte("host's"))
	m.write(t, "old", "one")
	m.do(t, "checkpoint one")
	m.write(t, "old", "two, longer")
	m.write(t, "new", "new")
	m.write(t, "ws/f", "mine, longer")
	m.must(t, os.Mkdir(m.at("dir"), 0o755))
	files := map[string]*os.File{}
	for _, name := range []string{"old", "new", "ws/f"} {
		f, err := os.OpenFile(m.at(name), os.O_RDWR, 0)
		m.must(t, err)
		defer f.Close()
		files[name] = f
	}
	dir, err := os.Open(m.at("dir"))
	m.must(t, err)
	defer dir.Close()
	holds := func(name, want string) {
		t.Helper()
		st, err := files[name].Stat()
		m.must(t, err)
		buf := make([]byte, 100)
		n, err := files[name].ReadAt(buf, 0)
		if err != nil && err != io.EOF || string(buf[:n]) != want || st.Size() != int64(len(want)) {
			t.Errorf("%s has %q, %v, and %d bytes; want %q", name, buf[:n], err, st.Size(), want)
		}
	}
	inode := func(st os.FileInfo, err error) uint64 {
		t.Helper()
		m.must(t, err)
		return st.Sys().(*syscall.Stat_t).Ino
	}
	holds("old", "two, longer")
	m.do(t, "undo")
	holds("old", "one")
	holds("new", "new")
	holds("ws/f", "host's")
	m.shows(t, map[string]string{"old": "one", "new": "-", "ws/f": "host's"})
	if a, b := inode(files["ws/f"].Stat()), inode(os.Stat(m.at("ws/f"))); a != b {
		t.Errorf("the host's file has the numbers %d and %d", a, b)
	}
	if st, err := files["new"].Stat(); err != nil || st.Sys().(*syscall.Stat_t).Nlink != 0 {
		t.Errorf("what is gone has names: %v, %v", st, err)
	}
	if fd, err := unix.Openat(int(dir.Fd()), "x", unix.O_CREAT|unix.O_WRONLY, 0o600); !errors.Is(err, unix.ENOENT) {
		t.Errorf("in a directory that is gone a file was made: %d, %v", fd, err)
	}
	_, err = files["new"].WriteAt([]byte("NEW"), 0)
	m.must(t, err)
	_, err = files["ws/f"].WriteAt([]byte("HOST"), 0)
	m.must(t, err)
	holds("new", "NEW")
	m.shows(t, map[string]string{"ws/f": "HOST's"})
	m.do(t, "undo") // of that write
	holds("ws/f", "host's")
	m.do(t, "redo")
	holds("ws/f", "HOST's")
	m.do(t, "undo")
	m.do(t, "rewind 2")
	m.shows(t, map[string]string{"old": "two, longer", "new": "new", "ws/f": "mine, longer"})
	holds("new", "new")
	holds("old", "two, longer")
	holds("ws/f", "mine, longer")
	if a, b := inode(files["new"].Stat()), inode(os.Stat(m.at("new"))); a != b {
		t.Errorf("what is there again has the numbers %d and %d", a, b)
	}
	if fd, err := unix.Openat(int(dir.Fd()), "x", unix.O_CREAT|unix.O_WRONLY, 0o600); err != nil {
		t.Errorf("in a directory that is there again no file can be made: %v", err)
	} else {
		unix.Close(fd)
	}
}

// A directory that was removed while somebody stood in it is there again for all others.
func TestRemovedDirectoryComesBack(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "d/f", []byte("host's"))
	m.must(t, os.Mkdir(m.at("own"), 0o755))
	m.write(t, "own/f", "one")
	m.do(t, "checkpoint one")
	var in []*os.File
	for _, name := range []string{"own", "ws/d"} {
		f, err := os.Open(m.at(name))
		m.must(t, err)
		defer f.Close()
		in = append(in, f)
		m.must(t, os.RemoveAll(m.at(name)))
	}
	for range 3 {
		m.do(t, "undo")
		m.shows(t, map[string]string{"own/f": "one", "ws/d/f": "host's"})
		m.write(t, "own/g", "new")
		m.write(t, "ws/d/g", "new")
		m.shows(t, map[string]string{"own/g": "new", "ws/d/g": "new"})
		for _, f := range in {
			if st, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d/f", f.Fd())); err == nil {
				t.Errorf("in a directory that was removed there is %s", st.Name())
			}
		}
		m.must(t, os.RemoveAll(m.at("own")))
		m.must(t, os.RemoveAll(m.at("ws/d")))
		m.do(t, "checkpoint")
		m.do(t, "rewind one")
		m.do(t, "redo")
		m.shows(t, map[string]string{"own/f": "-", "ws/d/f": "-"})
	}
}

// mapFile maps a file, writes into it, and says what the mapping holds when a line comes.
func mapFile(args []string) error {
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	copy(mem, args[1])
	fmt.Println("mapped")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Printf("%s\n", mem)
	}
	return nil
}

// What a program has written through a mapping is a part of what is gone back from, and it sees what is there then.
func TestGoingBackWithMappedFiles(t *testing.T) {
	m := newMounted(t)
	m.write(t, "f", "one")
	m.do(t, "checkpoint one")
	m.write(t, "f", "two")
	cmd := helper("map", m.at("f"), "map")
	in, err := cmd.StdinPipe()
	m.must(t, err)
	out, err := cmd.StdoutPipe()
	m.must(t, err)
	m.must(t, cmd.Start())
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewReader(out)
	says := func(want string) {
		t.Helper()
		if got, err := lines.ReadString('\n'); err != nil || got != want+"\n" {
			t.Errorf("the mapping holds %q, %v; want %q", got, err, want)
		}
	}
	holds := func(want string) {
		t.Helper()
		_, err := io.WriteString(in, "\n")
		m.must(t, err)
		says(want)
	}
	says("mapped")
	holds("map")
	m.do(t, "undo")
	holds("one")
	m.shows(t, map[string]string{"f": "one"})
	m.do(t, "redo")
	holds("map")
	m.shows(t, map[string]string{"f": "map"})
}
