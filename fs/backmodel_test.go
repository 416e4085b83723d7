package fs

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

var liveHistories = flag.Int("live-histories", 3, "how many histories of sessions that go back to go through")

// wanderer does to a mount what a random number says, and knows what it showed at checkpoints.
type wanderer struct {
	*mounted
	rnd   *rand.Rand
	now   int
	shown map[int]string // what the mount showed, by checkpoint
	open  []*os.File
	log   []string
}

// Whatever is done in a session that goes back and forth, it shows what it showed at the checkpoint, and so does the next one.
func TestLiveHistories(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range *liveHistories {
		m := newMounted(t)
		w := &wanderer{mounted: m, rnd: rand.New(rand.NewPCG(seed+uint64(i), 2)), shown: map[int]string{}}
		if err := w.wander(t); err != nil {
			t.Fatalf("history %d of seed %d: %v\n%s", i, seed, err, strings.Join(w.log, "\n"))
		}
		for _, f := range w.open {
			f.Close()
		}
		m.must(t, m.unmount())
		sound(t, m.db)
	}
}

// planted are the files that the host has in the workspace.
var planted = []string{"a/f", "a/g", "b/c/f", "b/f", "f"}

func (w *wanderer) wander(t *testing.T) error {
	for _, path := range planted {
		w.plant(t, path, []byte("host's "+path))
	}
	for range 150 {
		var err error
		switch pick := w.rnd.IntN(100); {
		case pick < 15:
			err = w.checkpoint()
		case pick < 35 && len(w.shown) > 0:
			err = w.back()
		case pick < 37:
			for _, f := range w.open {
				f.Close()
			}
			before := w.look()
			w.open = nil
			w.remount(t)
			if after := w.look(); after != before {
				err = fmt.Errorf("the next session shows\n%s\nand should show\n%s", after, before)
			}
		default:
			w.act()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *wanderer) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// ask has the server do something of checkpoints, and returns the number of the one that it is at then; 0: it cannot be.
func (w *wanderer) ask(what string) (id int, err error) {
	if _, err := io.WriteString(w.asks, what+"\n"); err != nil {
		return 0, err
	}
	line, err := w.answers.ReadString('\n')
	w.note("%s: %s", what, strings.TrimSpace(line))
	if err != nil || strings.Contains(line, "nothing was undone") || strings.Contains(line, "no earlier") {
		return 0, err
	}
	if _, err := fmt.Sscan(line, &id); err != nil {
		return 0, errors.New(line)
	}
	return id, nil
}

func (w *wanderer) checkpoint() error {
	shows := w.look()
	id, err := w.ask("checkpoint")
	if was, ok := w.shown[id]; err == nil && ok && was != shows {
		return fmt.Errorf("checkpoint %d was said to be the present, which is\n%s\nand not\n%s", id, shows, was)
	}
	w.shown[id] = shows
	return err
}

// back goes back, and compares.
func (w *wanderer) back() error {
	before := w.look()
	ids := make([]int, 0, len(w.shown))
	for id := range w.shown {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	to := ids[w.rnd.IntN(len(ids))]
	if w.rnd.IntN(3) == 0 {
		return w.backInPart(to, before)
	}
	id, err := w.ask(fmt.Sprintf("rewind %d", to))
	if err != nil || id == 0 {
		return err
	}
	after := w.look()
	if want := w.shown[to]; after != want {
		return fmt.Errorf("at %d it shows\n%s\nand not\n%s\nafter\n%s", to, after, want, before)
	}
	if err := w.handles(); err != nil {
		return err
	}
	_, there := w.shown[id] // nothing was to be done
	w.shown[id] = after
	if there || w.rnd.IntN(2) == 0 {
		return nil
	}
	if id, err = w.ask("redo"); err != nil || id == 0 {
		if err == nil && before != after {
			err = errors.New("what was gone back from is lost")
		}
		return err
	}
	if again := w.look(); again != before {
		return fmt.Errorf("forth it shows\n%s\nand not\n%s", again, before)
	}
	w.shown[id] = before
	return w.handles()
}

// backInPart goes back for a path, and forth.
func (w *wanderer) backInPart(to int, before string) error {
	path := w.path()
	if there := strings.Split(strings.TrimSpace(before+w.shown[to]), "\n"); w.rnd.IntN(4) != 0 {
		path, _, _ = strings.Cut(strings.TrimPrefix(there[w.rnd.IntN(len(there))], "/"), " ")
	}
	if path == "" {
		return nil
	}
	id, err := w.ask(fmt.Sprintf("part %d %s", to, path))
	after := w.look()
	switch {
	case err != nil && (strings.Contains(err.Error(), "go back for") || strings.Contains(err.Error(), "nothing of its own")):
		if after != before {
			return fmt.Errorf("it has refused, and shows\n%s\nand not\n%s", after, before)
		}
		return nil
	case err != nil:
		return err
	}
	in, out := w.part(after, path)
	if want, _ := w.part(w.shown[to], path); in != want {
		return fmt.Errorf("at %d %s is\n%s\nand not\n%s\nafter\n%s", to, path, in, want, before)
	}
	if _, want := w.part(before, path); out != want {
		return fmt.Errorf("beside %s it shows\n%s\nand not\n%s", path, out, want)
	}
	if err := conserved(before, w.shown[to], after); err != nil {
		return fmt.Errorf("at %d for %s it shows\n%s\nafter\n%s: %w", to, path, after, before, err)
	}
	if err := w.handles(); err != nil {
		return err
	}
	if _, there := w.shown[id]; there { // nothing was to be done
		return nil
	}
	w.shown[id] = after
	back := [...]string{"undo", "redo"}[w.rnd.IntN(2)]
	if id, err = w.ask(back); err != nil || id == 0 {
		return err
	}
	if again := w.look(); again != before {
		return fmt.Errorf("after %s it shows\n%s\nand not\n%s", back, again, before)
	}
	w.shown[id] = before
	return w.handles()
}

// part divides what is shown into what is at a path, and the rest, without how many names files have.
func (w *wanderer) part(shown, path string) (in, out string) {
	for line := range strings.Lines(linkCounts.ReplaceAllString(shown, "")) {
		if rest, ok := strings.CutPrefix(line, "/"+path); ok && (rest[0] == ' ' || rest[0] == '/') {
			in += line
		} else {
			out += line
		}
	}
	return in, out
}

// conserved makes sure that of the host's files that are as they were none is lost that was there then and before, and none shown at more
// places than it was.
func conserved(before, then, after string) error {
	for _, path := range planted {
		count := func(shown string) int { return strings.Count(shown, " untouched "+path+"\n") }
		if b, t, a := count(before), count(then), count(after); b > 0 && t > 0 && (a == 0 || a > max(b, t)) {
			return fmt.Errorf("the host's %s is there %d times", path, a)
		}
	}
	return nil
}

var linkCounts = regexp.MustCompile(` \d+ names,`)

// handles makes sure that an open file is the one of its number.
func (w *wanderer) handles() error {
	named := map[uint64]string{}
	err := filepath.WalkDir(w.at(""), func(path string, _ os.DirEntry, err error) error {
		st, serr := os.Lstat(path)
		if err == nil && serr == nil && st.Mode().IsRegular() {
			named[st.Sys().(*syscall.Stat_t).Ino] = path
		}
		return errors.Join(err, serr)
	})
	for _, f := range w.open {
		st, serr := f.Stat()
		if err != nil || serr != nil {
			return errors.Join(err, serr)
		}
		content := make([]byte, st.Size())
		if _, err := f.ReadAt(content, 0); err != nil && err != io.EOF {
			return fmt.Errorf("read %s, which is open: %w", f.Name(), err)
		}
		path, ok := named[st.Sys().(*syscall.Stat_t).Ino]
		if nlink := st.Sys().(*syscall.Stat_t).Nlink; ok != (nlink > 0) {
			return fmt.Errorf("%s, which is open, has %d names, and is found at %q", f.Name(), nlink, path)
		}
		if !ok {
			continue
		}
		if by, err := os.ReadFile(path); err != nil || string(by) != string(content) {
			return fmt.Errorf("%s, which is open as %s, holds %q and not %q, %v", path, f.Name(), content, by, err)
		}
	}
	return nil
}

// look is what the mount shows.
func (w *wanderer) look() string {
	var b strings.Builder
	err := filepath.WalkDir(w.at(""), func(path string, _ os.DirEntry, err error) error {
		st, serr := os.Lstat(path)
		if err != nil || serr != nil {
			return errors.Join(err, serr)
		}
		sys := st.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %v", strings.TrimPrefix(path, w.at("")), st.Mode())
		switch {
		case st.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d names, %d bytes %x, %d.%09d", sys.Nlink, st.Size(), sha256.Sum256(data), sys.Mtim.Sec, sys.Mtim.Nsec)
			if of, ok := strings.CutPrefix(string(data), "host's "); ok && slices.Contains(planted, of) {
				fmt.Fprintf(&b, " untouched %s", of)
			}
		case st.Mode().Type() == os.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " -> %s", target)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		fmt.Fprintf(&b, "error: %v", err)
	}
	return b.String()
}

// path is one that may be there or not.
func (w *wanderer) path() string {
	dirs := []string{"", "x", "y", "x/z", "ws", "ws/a", "ws/b", "ws/b/c", "ws/x"}
	names := []string{"f", "g", "a", "b", "c", "x", "y", "z"}
	return filepath.Join(dirs[w.rnd.IntN(len(dirs))], names[w.rnd.IntN(len(names))])
}

// act does something, which may be impossible.
func (w *wanderer) act() {
	w.now++
	path, other := w.path(), w.path()
	at, to := w.at(path), w.at(other)
	what, err := "", error(nil)
	if path == "ws" || other == "ws" {
		return // which has its place
	}
	text := strings.Repeat(fmt.Sprintf("%d ", w.now), 1+w.rnd.IntN(30))
	switch w.rnd.IntN(16) {
	case 0, 1, 2:
		what, err = "write", os.WriteFile(at, []byte(text), 0o644)
	case 3:
		what = "patch"
		var f *os.File
		if f, err = os.OpenFile(at, os.O_WRONLY, 0); err == nil {
			_, err = f.WriteAt([]byte(text), int64(w.rnd.IntN(100)))
			f.Close()
		}
	case 4:
		what, err = "truncate", os.Truncate(at, int64(w.rnd.IntN(50)))
	case 5, 6:
		what, err = "mkdir", os.Mkdir(at, 0o755)
	case 7:
		what, err = "remove all", os.RemoveAll(at)
	case 8:
		what, err = "remove", os.Remove(at)
	case 9, 10:
		what, err = "rename to "+other, os.Rename(at, to)
	case 11:
		what, err = "link to "+other, os.Link(at, to)
	case 12:
		what, err = "symlink", os.Symlink(strings.TrimSpace(text[:2]), at)
	case 13:
		what, err = "chmod", os.Chmod(at, 0o600|os.FileMode(w.rnd.IntN(64)))
	case 14:
		what = "open"
		var f *os.File
		if f, err = os.OpenFile(at, os.O_RDWR, 0); err == nil {
			if st, _ := f.Stat(); st.Mode().IsRegular() {
				w.open = append(w.open, f)
			} else {
				f.Close()
			}
		}
	case 15:
		what = "write open"
		if len(w.open) > 0 {
			f := w.open[w.rnd.IntN(len(w.open))]
			what += " " + f.Name()
			_, err = f.WriteAt([]byte(text), int64(w.rnd.IntN(30)))
		}
	}
	if len(w.open) > 5 {
		w.open[0].Close()
		w.open = w.open[1:]
	}
	if err == nil {
		w.note("%s %s", what, path)
	}
}

// A server that is killed while the tree goes back leaves what was before, or what was to be.
func TestKilledWhileGoingBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	for range 6 {
		m := newMounted(t)
		w := &wanderer{mounted: m, rnd: rnd}
		fill := func(text string) {
			for i := range 60 {
				m.must(t, os.WriteFile(m.at(fmt.Sprintf("f%d", i)), []byte(text), 0o644))
			}
		}
		fill("one")
		m.do(t, "checkpoint")
		before := w.look()
		fill("two, longer")
		m.must(t, os.Mkdir(m.at("d"), 0o755))
		after := w.look()
		m.do(t, "checkpoint")
		_, err := io.WriteString(m.asks, "rewind 1\n")
		m.must(t, err)
		time.Sleep(time.Duration(rnd.IntN(12)) * time.Millisecond)
		m.must(t, m.server.Process.Kill())
		m.server.Wait()
		m.server = nil
		m.must(t, m.detach())
		sound(t, m.db)
		m.begin(t)
		if is := w.look(); is != before && is != after {
			t.Errorf("it shows\n%s", is)
		}
	}
}

// Several who go back at once come to an end, and each to a tree that was.
func TestGoingBackAtOnce(t *testing.T) {
	s := newOverlayForBack(t)
	done := make(chan error)
	for i := range 4 {
		go func() {
			for range 10 {
				if _, err := GoBack(s.store, []*Overlay{s.overlay}, sqlvfs.To(fmt.Sprint(1+i%2))); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := s.read(); got != "one" && got != "two" {
		t.Errorf("the file holds %q", got)
	}
}

type overlayForBack struct {
	*testing.T
	store   *sqlvfs.Store
	overlay *Overlay
	ino     Ino
}

// newOverlayForBack is an overlay with two checkpoints of a file, which is held.
func newOverlayForBack(t *testing.T) *overlayForBack {
	store, err := sqlvfs.Open(filepath.Join(t.TempDir(), "a.db"), sqlvfs.Options{Create: true, Root: rootAttr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	overlay, err := NewOverlay(OverlayOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	e, err := overlay.Mknod(Caller{}, RootIno, "f", syscall.S_IFREG|0o644, 0)
	for _, text := range []string{"one", "two"} {
		if err == nil {
			err = overlay.Write(Caller{}, e.Ino, []byte(text), 0)
		}
		if err == nil {
			_, err = store.Checkpoint(sqlvfs.ByUser, text)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return &overlayForBack{t, store, overlay, e.Ino}
}

func (s *overlayForBack) read() string {
	p := make([]byte, 10)
	n, err := s.overlay.Read(s.ino, p, 0)
	if err != nil {
		s.Error(err)
	}
	return string(p[:n])
}
