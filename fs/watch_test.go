package fs

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// cache is a Cache that writes down what it is told to forget.
type cache struct {
	mu   sync.Mutex
	said []string // GUARDED_BY(mu)
}

var _ Cache = (*cache)(nil)

func (c *cache) InvalidateEntry(parent Ino, name string) error {
	if name == noSuchName {
		return nil
	}
	return c.say(fmt.Sprintf("%d/%s", parent, name))
}

func (c *cache) ExpireEntry(parent Ino, name string) error { return c.InvalidateEntry(parent, name) }

func (c *cache) InvalidateInode(ino Ino) error { return c.say(fmt.Sprint(ino)) }
func (c *cache) InvalidateAttr(ino Ino) error  { return c.say(fmt.Sprint(ino)) }
func (c *cache) Prune(inos []Ino) error        { return c.say(fmt.Sprint("prune ", len(inos))) }

func (c *cache) say(what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, what)
	return nil
}

// slowCache is a Cache of which one inode is not let go until released is closed.
type slowCache struct {
	cache
	ino      Ino
	released chan struct{}
}

func (c *slowCache) InvalidateInode(ino Ino) error {
	if ino == c.ino {
		<-c.released
	}
	return c.cache.InvalidateInode(ino)
}

// What the kernel cannot be told for long holds up nothing else, and what is to be told of the same comes afterwards.
func TestAnInvalidationThatHangs(t *testing.T) {
	store, err := sqlvfs.Open(filepath.Join(t.TempDir(), "a.db"), sqlvfs.Options{Create: true, Root: rootAttr()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	overlay, err := NewOverlay(OverlayOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	c := &slowCache{ino: 1000, released: make(chan struct{})}
	disconnect := overlay.Connect(c)
	enqueue := func(inos ...Ino) {
		overlay.view(func(t *tx) error {
			for _, ino := range inos {
				t.pending.inodes[ino] = false
			}
			t.pending.signal()
			return nil
		})
	}
	want := func(said string) {
		t.Helper()
		soon(t, 10*time.Second, func() string {
			if got := c.heard(); got != said {
				return fmt.Sprintf("the kernel is told %q instead of %q", got, said)
			}
			return ""
		})
	}
	enqueue(1000)
	for i := range 20 {
		ino := Ino(i + 1)
		enqueue(ino, 1000)
		want(fmt.Sprint(ino))
	}
	if n := overlay.pending.held.Load(); n != 1 {
		t.Errorf("%d goroutines are held up", n)
	}
	close(c.released)
	soon(t, 10*time.Second, func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.said); n != 2 {
			return fmt.Sprintf("of the inode that was held up the kernel is told %d times", n)
		}
		return ""
	})
	disconnect()
}

// heard returns what was said since the last call, each thing once, in order.
func (c *cache) heard() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.said)
	all := strings.Join(slices.Compact(c.said), " ")
	c.said = nil
	return all
}

func newWatched(t *testing.T, watches int) *session {
	s := &session{inProcess{base: t.TempDir(), db: filepath.Join(t.TempDir(), "a.db"), watches: watches, cache: &cache{}}, t}
	s.begin(t)
	s.plus = true
	t.Cleanup(func() {
		s.end()
		sound(t, s.db)
	})
	return s
}

// says waits until exactly these things have been said.
func (s *session) says(want ...any) {
	s.t.Helper()
	var list []string
	for _, w := range want {
		list = append(list, fmt.Sprint(w))
	}
	slices.Sort(list)
	all := ""
	soon(s.t, BaseTTL*5, func() string {
		all = strings.Join(slices.Compact(slices.Sorted(slices.Values(append(strings.Fields(all), strings.Fields(s.cache.heard())...)))), " ")
		if all != strings.Join(list, " ") {
			return fmt.Sprintf("told the kernel to forget %q, want %q", all, list)
		}
		return ""
	})
}

func TestWhatIsWatchedIsKeptForever(t *testing.T) {
	s := newWatched(t, 100)
	s.plant("d/f", []byte("one"))
	s.plant("d/two", nil)
	s.must(os.Link(filepath.Join(s.base, "d/two"), filepath.Join(s.base, "d/names")))
	s.names("ws/d")
	d, f := s.stat("ws/d"), s.stat("ws/d/f")
	absent, err := s.overlay.Lookup(d.Ino, "absent")
	s.must(err)
	if d.TTL != Forever || d.AttrTTL != Forever || f.TTL != Forever || f.AttrTTL != Forever || absent.TTL != Forever {
		t.Errorf("kept for: directory %v, %v; file %v, %v; absent %v", d.TTL, d.AttrTTL, f.TTL, f.AttrTTL, absent.TTL)
	}
	if two := s.stat("ws/d/two"); two.TTL != BaseTTL || two.AttrTTL != BaseTTL {
		t.Errorf("a file with two names is kept for %v, %v", two.TTL, two.AttrTTL)
	}

	s.must(os.Chmod(filepath.Join(s.base, "d/f"), 0o600)) // one event; a write of the file would be two
	s.says(f.Ino)
	if e, err := s.overlay.Getattr(f.Ino); err != nil || e.AttrTTL != Forever {
		t.Errorf("kept for %v, %v after it was looked at again", e.AttrTTL, err)
	}
	s.must(os.Mkdir(filepath.Join(s.base, "d/absent"), 0o755))
	s.says(d.Ino, fmt.Sprintf("%d/absent", d.Ino))
	s.must(os.Remove(filepath.Join(s.base, "d/f"))) // which is what it was to who has it open
	s.says(d.Ino, fmt.Sprintf("%d/f", d.Ino))
	s.must(os.Mkdir(filepath.Join(s.base, "d/unknown"), 0o755)) // of which the kernel knows nothing
	s.says(d.Ino)
	s.must(s.rmdir("ws/d/unknown"))
	s.must(os.Remove(filepath.Join(s.base, "d/unknown"))) // and now it is the delta's to say
	s.says(d.Ino)
	s.remount(t)
}

// A file system may give a new link the inode number of one that was removed, as ext4 does.
func TestLinkOfAnotherVersionIsForgotten(t *testing.T) {
	s := newWatched(t, 0)
	s.plant("d/f", nil)
	link := filepath.Join(s.base, "d/link")
	s.must(os.Symlink("one", link))
	e := s.stat("ws/d/link")
	if to, err := s.overlay.Readlink(e.Ino); err != nil || to != "one" {
		t.Fatalf("link -> %q, %v", to, err)
	}
	s.stat("ws/d/link")
	if said := s.cache.heard(); said != "" {
		t.Errorf("told the kernel to forget %q, while nothing had changed", said)
	}
	s.must(unix.Lutimes(link, []unix.Timeval{{Sec: 1}, {Sec: 1}}))
	s.stat("ws/d/link")
	s.says(e.Ino)
}

func TestWatchesAreLimited(t *testing.T) {
	s := newWatched(t, 2)
	for _, dir := range []string{"a", "b"} {
		s.plant(dir+"/f", nil)
	}
	kept := func(path string) string {
		e := s.stat(path)
		return fmt.Sprint(e.TTL == Forever, e.AttrTTL == Forever)
	}
	if got := kept("ws/a/f") + " " + kept("ws/b/f"); got != "true true false false" {
		t.Errorf("kept forever: %s", got)
	}
	if n := s.overlay.watches.count; n != 2 {
		t.Errorf("%d directories are watched", n)
	}
	s.forget()
	if n := s.overlay.watches.count; n != 0 {
		t.Errorf("%d directories are watched after all", n)
	}
	if got := kept("ws/b/f") + " " + kept("ws/a/f"); got != "true true false false" {
		t.Errorf("kept forever: %s", got)
	}
	s.remount(t)
}

// More happens than the queue holds.
func TestOverflowOfTheQueue(t *testing.T) {
	s := newWatched(t, 100)
	limit := 0
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	s.must(err)
	fmt.Sscan(string(data), &limit)
	s.plant("d/a", nil)
	s.plant("d/b", nil)
	s.plant("d/sub/f", nil)
	s.names("ws/d/sub")
	d, sub, a := s.stat("ws/d"), s.stat("ws/d/sub"), s.stat("ws/d/a")
	if absent, err := s.overlay.Lookup(d.Ino, "absent"); err != nil || absent.TTL != Forever {
		t.Fatalf("kept for %v, %v", absent.TTL, err)
	}
	if a.AttrTTL != Forever {
		t.Fatalf("kept for %v", a.AttrTTL)
	}
	s.overlay.view(func(*tx) error { // nobody hears
		for i := range limit + 5000 { // the first 64 KiB of which may have been read before
			// Not the same twice: the queue would take them for one.
			s.must(os.Chmod(filepath.Join(s.base, []string{"d/a", "d/b"}[i%2]), 0o600))
		}
		s.plant("d/absent", nil)
		s.must(os.Chmod(filepath.Join(s.base, "d/sub/f"), 0o600))
		s.must(os.Remove(filepath.Join(s.base, "d/a")))
		return nil
	})
	f := s.stat("ws/d/sub/f")
	all := ""
	soon(t, BaseTTL*5, func() string {
		all += " " + s.cache.heard() + " "
		for _, want := range []string{fmt.Sprintf(" %d/absent ", d.Ino), fmt.Sprintf(" %d/a ", d.Ino), fmt.Sprintf(" %d ", sub.Ino), fmt.Sprintf(" %d ", f.Ino)} {
			if !strings.Contains(all, want) {
				return fmt.Sprintf("told the kernel to forget %q, without %q", all, want)
			}
		}
		return ""
	})
	s.missing("ws/d/a")
	soon(t, BaseTTL*5, func() string { // when the last of the events has been heard
		if e := s.stat("ws/d/absent"); e.AttrTTL != Forever {
			return fmt.Sprintf("not watched again: kept for %v", e.AttrTTL)
		}
		return ""
	})
	s.remount(t)
}

// Everything at once: the host changes a tree, the guest walks in it and changes it as well. It is
// for the race detector, and at the end nothing may be held or watched.
func TestChangesFromBothSides(t *testing.T) {
	s := newWatched(t, 20)
	const dirs = 30
	var host, guest sync.WaitGroup
	var entries sync.Mutex
	stop := make(chan struct{})
	for d := range dirs {
		s.plant(fmt.Sprintf("d%d/sub/f", d), nil)
	}
	host.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(s.base, fmt.Sprintf("d%d", i%dirs))
			os.WriteFile(dir+"/sub/f", someBytes(i%100, i), 0o644)
			os.WriteFile(fmt.Sprintf("%s/f%d", dir, i%7), nil, 0o644)
			os.Remove(fmt.Sprintf("%s/f%d", dir, (i+3)%7))
			if i%5 == 0 {
				os.Rename(dir, dir+"x")
				os.Rename(dir+"x", filepath.Join(s.base, fmt.Sprintf("d%d", (i+1)%dirs)))
				os.MkdirAll(dir+"/sub", 0o755)
			}
		}
	})
	for who := range 3 {
		guest.Go(func() {
			k := newKernel(s.overlay)
			k.plus = true
			for i := range 400 {
				dir := fmt.Sprintf("ws/d%d", (i*7+who)%dirs)
				for _, path := range []string{dir, dir + "/sub"} {
					if list, err := k.readdir(path, 10, func([]DirEntry) {}); err == nil {
						for _, e := range list[2:] { // the kernel never asks for "." and ".."
							content(k, path+"/"+e.Name, 100)
						}
					}
				}
				name := fmt.Sprintf("%s/f%d", dir, i%7)
				entries.Lock() // as the kernel locks the directories (Documentation/filesystems/directory-locking.rst)
				switch i % 4 {
				case 0:
					k.unlink(name)
				case 1:
					k.rename(name, fmt.Sprintf("%s/g%d", dir, who))
				case 2:
					k.mknod(name, unix.S_IFREG|0o644)
				}
				entries.Unlock()
				if i%10 == 0 {
					k.forget()
				}
			}
			k.forget()
		})
	}
	guest.Wait()
	close(stop)
	host.Wait()
	s.remount(t)
}

func TestEventsOfNobodysWatch(t *testing.T) {
	s := newWatched(t, 100)
	s.plant("f", nil)
	s.stat("ws/f")
	ws := s.overlay.watches
	event := binary.NativeEndian.AppendUint32(nil, 1<<30)
	event = binary.NativeEndian.AppendUint32(event, unix.IN_CREATE)
	event = binary.NativeEndian.AppendUint64(event, 8<<32)
	event = append(event, "f\x00\x00\x00\x00\x00\x00\x00"...)
	moved := false
	s.overlay.view(func(t *tx) error {
		before := ws.clock
		t.handleEvents(ws, event)
		moved = ws.clock != before
		return nil
	})
	if !moved {
		t.Error("who is about to watch a directory will not know that it has missed something")
	}
	if said := s.cache.heard(); said != "" {
		t.Errorf("told the kernel to forget %s", said)
	}
}

// Threads that walk a tree at once have each other's directories watched, and none of them doubts what it was told for that.
func TestWatchesOfSeveralThreads(t *testing.T) {
	s := newWatched(t, 1000)
	const threads, dirs = 8, 25
	for i := range threads {
		for j := range dirs {
			s.plant(fmt.Sprintf("all/of/them/%d/%d/file", i, j), nil)
		}
	}
	ws := s.stat("ws").Ino
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			lookup := func(parent Ino, name string) Ino {
				e, err := s.overlay.Lookup(parent, name)
				if err != nil || e.Ino == 0 || e.TTL != Forever {
					t.Errorf("%s: %+v, %v", name, e, err)
				}
				return e.Ino
			}
			dir := ws
			for _, name := range []string{"all", "of", "them", fmt.Sprint(i)} {
				dir = lookup(dir, name)
			}
			for j := range dirs {
				if e, err := s.overlay.Getattr(lookup(lookup(dir, fmt.Sprint(j)), "file")); err != nil || e.AttrTTL != Forever {
					t.Errorf("file: %+v, %v", e, err)
				}
			}
		})
	}
	all.Wait()
	const want = 4 + threads*(1+dirs) // the workspace, and the three that all threads go through
	s.overlay.view(func(t *tx) error {
		if ws := t.watches; ws.count != want || len(ws.byID) != want {
			s.t.Errorf("%d watches, %d of them in use, instead of %d", ws.count, len(ws.byID), want)
		}
		return nil
	})
}

// The kernel may keep an answer of the host for good only if the directory was watched before the host was asked, and nothing
// has happened since.
func TestAnswersFromBeforeAWatch(t *testing.T) {
	s := newWatched(t, 100)
	s.plant("d/f", nil)
	s.plant("e/f", nil)
	lookup := func(parent Ino, name string) Ino {
		e, err := s.overlay.Lookup(parent, name)
		if err != nil || e.Ino == 0 {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		return e.Ino
	}
	ws := lookup(RootIno, workspace)
	d, e := lookup(ws, "d"), lookup(ws, "e")
	clock := func() (now uint64) {
		s.overlay.view(func(t *tx) error {
			now = t.clock()
			return nil
		})
		return now
	}
	before := clock()
	f := lookup(d, "f") // which has its directory watched
	watched := clock()
	lookup(e, "f")
	last := clock()
	granted := func(asked uint64) (ttl time.Duration) {
		s.overlay.view(func(t *tx) error {
			ttl = t.grantTTL(t.nodes[d], "f", t.nodes[f], asked)
			return nil
		})
		return ttl
	}
	check := func(why string, asked uint64, want time.Duration) {
		t.Helper()
		if got := granted(asked); got != want {
			t.Errorf("%s: %v instead of %v", why, got, want)
		}
	}
	check("asked before the directory was watched", before, BaseTTL)
	check("asked before another directory was watched", watched, Forever)
	s.must(os.WriteFile(filepath.Join(s.base, "e/f"), []byte("new"), 0o644))
	soon(t, BaseTTL*5, func() string {
		if clock() == last {
			return "the host's change goes unnoticed"
		}
		return ""
	})
	check("asked before something happened", watched, BaseTTL)
	soon(t, BaseTTL*5, func() string { // the change may be more than one event
		if got := granted(clock()); got != Forever {
			return fmt.Sprintf("asked after it: %v", got)
		}
		return ""
	})
}
