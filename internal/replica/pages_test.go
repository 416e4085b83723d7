package replica

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/sqlvfs"
)

// disk is a database of files, and what they hold.
type disk struct {
	t    *testing.T
	path string
	dir  string // of the copy
	want map[string][]byte
}

// session runs f with the database open, and copies it meanwhile unless alone.
func (d *disk) session(alone bool, f func(*sqlvfs.Store)) {
	d.t.Helper()
	s, err := sqlvfs.Open(d.path, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot(), Replicated: !alone})
	must(d.t, err)
	if alone {
		f(s)
		must(d.t, s.Close())
		return
	}
	cmd := exec.Command(os.Args[0], "copy", d.path, d.dir, "1000000000")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(d.t, err)
	must(d.t, cmd.Start())
	f(s)
	must(d.t, s.Close())
	must(d.t, stdin.Close())
	must(d.t, cmd.Wait())
}

// write has a file be so many random bytes; none: it is removed.
func (d *disk) write(s *sqlvfs.Store, name string, size int) {
	d.t.Helper()
	must(d.t, s.Update(func(tx *sqlvfs.Tx) error {
		child, ok, _, err := tx.Child(tx.Root(), name)
		if err != nil || !ok {
			return err
		}
		in, err := tx.Get(child.Ino)
		if err != nil {
			return err
		}
		in.Attr.Nlink = 0
		tx.Dirty(in)
		err = tx.Unlink(tx.Root(), name)
		tx.Put(in)
		return err
	}))
	delete(d.want, name)
	if size > 0 {
		var in *sqlvfs.Inode
		must(d.t, s.Update(func(tx *sqlvfs.Tx) (err error) {
			if in, err = tx.New(sqlvfs.Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1}); err != nil {
				return err
			}
			return tx.Link(tx.Root(), name, in)
		}))
		data := make([]byte, size)
		_, _ = rand.Read(data)
		must(d.t, s.WriteAt(in, data, 0, nil, sqlvfs.Now()))
		d.want[name] = data
		must(d.t, s.View(func(tx *sqlvfs.Tx) error {
			tx.Put(in)
			return nil
		}))
	}
	must(d.t, s.Sync())
}

// check brings the copy back, and compares it.
func (d *disk) check() {
	d.t.Helper()
	copied, err := Find(d.t.Context(), "file://"+d.dir)
	must(d.t, err)
	back := filepath.Join(d.t.TempDir(), "back.db")
	must(d.t, copied.Restore(d.t.Context(), back, time.Time{}))
	s, err := sqlvfs.Open(back, sqlvfs.Options{ReadOnly: true})
	must(d.t, err)
	defer s.Close()
	var children []sqlvfs.Child
	must(d.t, s.View(func(tx *sqlvfs.Tx) (err error) {
		children, err = tx.Children(tx.Root())
		return err
	}))
	if len(children) != len(d.want) {
		d.t.Errorf("%d files are in the copy, not %d", len(children), len(d.want))
	}
	for name, want := range d.want {
		var in *sqlvfs.Inode
		must(d.t, s.View(func(tx *sqlvfs.Tx) error {
			child, ok, _, err := tx.Child(tx.Root(), name)
			if err == nil && ok {
				in, err = tx.Get(child.Ino)
			}
			return err
		}))
		if in == nil {
			d.t.Errorf("%s is not in the copy", name)
			continue
		}
		got := make([]byte, len(want)+1)
		if n, err := s.ReadAt(in, got, 0, nil); n != len(want) || !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], want) {
			d.t.Errorf("%s has other content in the copy: %d bytes, %v", name, n, err)
		}
	}
}

// generations returns how large each is, oldest first, and which begin with a whole copy.
func (d *disk) generations() (sizes []int64, whole string) {
	d.t.Helper()
	copied, err := Find(d.t.Context(), "file://"+d.dir)
	must(d.t, err)
	for _, g := range copied.Who.Generations {
		var size int64
		files, _ := filepath.Glob(filepath.Join(d.dir, g.dir(), "ltx/*/*.ltx"))
		for _, f := range files {
			size += sized(f)
		}
		sizes = append(sizes, size)
		if g.Base == "" {
			whole += "W"
		} else {
			whole += "-"
		}
	}
	return sizes, whole
}

// A session copies what has changed since the last one, whoever has changed it.
func TestGoesOn(t *testing.T) {
	work := t.TempDir()
	d := &disk{t: t, path: filepath.Join(work, "a.db"), dir: filepath.Join(work, "copy"), want: map[string][]byte{}}
	const large = 4 << 20
	d.session(false, func(s *sqlvfs.Store) { d.write(s, "large", large) })
	d.check()
	small := func(n int) {
		t.Helper()
		d.session(false, func(s *sqlvfs.Store) { d.write(s, fmt.Sprint("small", n), 1000) })
		d.check()
	}
	small(1)
	// One that is not copied, which leaves the database smaller for some time.
	d.session(true, func(s *sqlvfs.Store) { d.write(s, "small1", 0) })
	d.session(true, func(s *sqlvfs.Store) { d.write(s, "other", 100_000) })
	small(2)
	for n := range mostBases - 2 {
		small(n + 3)
	}
	sizes, whole := d.generations()
	for i, size := range sizes[1:] {
		if size > large/4 {
			t.Errorf("generation %d has %d bytes", i+1, size)
		}
	}
	if want := "W" + strings.Repeat("-", mostBases); whole != want {
		t.Fatalf("the generations are %s, not %s", whole, want)
	}
	small(100) // too many to go on from
	if _, whole := d.generations(); whole != "W"+strings.Repeat("-", mostBases)+"W" {
		t.Errorf("the generations are %s", whole)
	}
	small(101)

	// What the copy lacks is not gone on from.
	copied, err := Find(t.Context(), "file://"+d.dir)
	must(t, err)
	last := copied.Who.Generations[len(copied.Who.Generations)-2]
	must(t, os.RemoveAll(filepath.Join(d.dir, last.dir())))
	small(102)
	if _, whole := d.generations(); !strings.HasSuffix(whole, "W-W") {
		t.Errorf("after a loss the generations are %s", whole)
	}

	// Hashes of pages that somebody has damaged.
	pages := filepath.Join(d.dir+"-kept", pagesName)
	must(t, os.Truncate(pages, 1000))
	small(103)
	if _, whole := d.generations(); !strings.HasSuffix(whole, "W-WW") {
		t.Errorf("without hashes the generations are %s", whole)
	}
}

// A session that was killed is not gone on from, since nobody knows what of its log was copied.
func TestGoesOnAfterAKill(t *testing.T) {
	work := t.TempDir()
	d := &disk{t: t, path: filepath.Join(work, "a.db"), dir: filepath.Join(work, "copy"), want: map[string][]byte{}}
	for range 2 {
		d.session(false, func(s *sqlvfs.Store) { d.write(s, "large", 1<<20) })
	}
	s, err := sqlvfs.Open(d.path, sqlvfs.Options{Replicated: true})
	must(t, err)
	cmd := exec.Command(os.Args[0], "copy", d.path, d.dir, "1000000000")
	must(t, cmd.Start())
	d.write(s, "more", 1<<20)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		sizes, whole := d.generations()
		if whole == "W--" && sizes[2] > 1<<20 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the generations are %s, %v", whole, sizes)
		}
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	d.check()
	d.write(s, "after", 1000)
	must(t, s.Close())
	d.session(false, func(s *sqlvfs.Store) { d.write(s, "last", 1000) })
	d.check()
	if _, whole := d.generations(); whole != "W--W" {
		t.Errorf("the generations are %s", whole)
	}
}

// What is missing of a copy is told, and nothing older is taken for it.
func TestFilesThatAreGone(t *testing.T) {
	work := t.TempDir()
	d := &disk{t: t, path: filepath.Join(work, "a.db"), dir: filepath.Join(work, "copy"), want: map[string][]byte{}}
	var all []string
	d.session(false, func(s *sqlvfs.Store) {
		for n := range 3 {
			d.write(s, fmt.Sprint(n), 1000)
			for end := time.Now().Add(30 * time.Second); len(all) <= n && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				all, _ = filepath.Glob(filepath.Join(d.dir, "*/ltx/0/*.ltx"))
			}
		}
	})
	all, _ = filepath.Glob(filepath.Join(d.dir, "*/ltx/0/*.ltx"))
	d.check()
	if len(all) < 3 {
		t.Fatalf("the copy has only %v", all)
	}
	for _, gone := range []string{all[0], all[1], all[len(all)-1]} {
		must(t, os.Rename(gone, gone+"-gone"))
		copied, err := Find(t.Context(), "file://"+d.dir)
		must(t, err)
		back := filepath.Join(t.TempDir(), "back.db")
		if err := copied.Restore(t.Context(), back, time.Time{}); err == nil || !strings.HasPrefix(err.Error(), "the copy is not whole: ") {
			t.Errorf("without %s: %v", filepath.Base(gone), err)
		}
		if _, _, err := Fetch(t.Context(), "file://"+d.dir, back, t.TempDir(), "u", false, func(string) {}, nil); err == nil {
			t.Errorf("without %s a session goes on from the copy", filepath.Base(gone))
		}
		must(t, os.Rename(gone+"-gone", gone))
	}

	// In a session.
	for _, gone := range []string{"*/ltx/0/0000000000000001-*.ltx", "*", "*/ltx/0/*.ltx"} {
		d.session(false, func(s *sqlvfs.Store) {
			before, _ := filepath.Glob(filepath.Join(d.dir, "*/ltx/0/*.ltx"))
			d.write(s, "more", 1000)
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				if now, _ := filepath.Glob(filepath.Join(d.dir, "*/ltx/0/*.ltx")); len(now) > len(before) {
					break
				}
			}
			time.Sleep(2 * look) // until the copying waits for something new
			files, _ := filepath.Glob(filepath.Join(d.dir, gone))
			for _, f := range files {
				if !strings.HasPrefix(filepath.Base(f), "art-") {
					must(t, os.RemoveAll(f))
				}
			}
		})
		d.check()
	}
}

// What a generation begins with is a state of the database: what was committed before, and was in its log only, is in it.
func TestGoesOnWithTheLog(t *testing.T) {
	work := t.TempDir()
	d := &disk{t: t, path: filepath.Join(work, "a.db"), dir: filepath.Join(work, "copy"), want: map[string][]byte{}}
	d.session(false, func(s *sqlvfs.Store) { d.write(s, "first", 1<<20) })
	s, err := sqlvfs.Open(d.path, sqlvfs.Options{Replicated: true})
	must(t, err)
	d.write(s, "early", 100_000)
	cmd := exec.Command(os.Args[0], "copy", d.path, d.dir, "1000000000")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	must(t, s.Close())
	must(t, stdin.Close())
	must(t, cmd.Wait())
	d.check()
	copied, err := Find(t.Context(), "file://"+d.dir)
	must(t, err)
	last := copied.Who.Generations[len(copied.Who.Generations)-1]
	if last.Base == "" {
		t.Fatal("the last generation is a whole copy")
	}
	files, _ := filepath.Glob(filepath.Join(d.dir, last.dir(), "ltx/0/*.ltx"))
	for _, f := range files[1:] {
		must(t, os.Remove(f))
	}
	place, err := open(t.Context(), "file://"+d.dir)
	must(t, err)
	head, tag, err := readHead(t.Context(), place.own)
	must(t, err)
	head.Last = "" // as if it had not ended
	_, err = place.own.swap(t.Context(), headName, head.marshal(), tag)
	must(t, err)
	d.check()
}

// Merging files of the base alone is left to its own sessions.
func TestBaseIsNotMerged(t *testing.T) {
	c := &chained{last: 7}
	if _, err := c.WriteLTXFile(t.Context(), 1, 3, 7, nil); !errors.Is(err, litestream.ErrNoCompaction) {
		t.Errorf("writing a file of the base: %v", err)
	}
	if err := c.DeleteLTXFiles(t.Context(), []*ltx.FileInfo{{Level: 0, MinTXID: 7, MaxTXID: 7}}); err != nil {
		t.Errorf("removing a file of the base: %v", err)
	}
}

// A session that goes on from a copy which was brought back for it copies what it changes, also where that session, or another one after it, has ended in no order.
func TestGoesOnElsewhere(t *testing.T) {
	work := t.TempDir()
	d := &disk{t: t, path: filepath.Join(work, "a.db"), dir: filepath.Join(work, "copy"), want: map[string][]byte{}}
	d.session(false, func(s *sqlvfs.Store) { d.write(s, "first", 4<<20) })
	for n := range 3 {
		must(t, os.RemoveAll(d.dir+"-kept"))
		must(t, os.MkdirAll(d.dir+"-kept", 0o700))
		d.path = filepath.Join(work, fmt.Sprintf("b%d.db", n))
		for range n { // as if art had been killed before its session began
			if found, _, err := Fetch(t.Context(), "file://"+d.dir, filepath.Join(t.TempDir(), "c.db"), t.TempDir(), "t", false, func(string) {}, nil); err != nil || found != Brought {
				t.Fatalf("fetched: %v, %v", found, err)
			}
		}
		if found, _, err := Fetch(t.Context(), "file://"+d.dir, d.path, d.dir+"-kept", "t", false, func(string) {}, nil); err != nil || found != Brought {
			t.Fatalf("fetched: %v, %v", found, err)
		}
		d.session(false, func(s *sqlvfs.Store) { d.write(s, fmt.Sprint("more", n), 100_000) })
		d.check()
		sizes, whole := d.generations()
		if last := sizes[len(sizes)-1]; last > 1<<20 {
			t.Errorf("the session has copied %d bytes; %s", last, whole)
		}
	}
	// What is kept is of the state that was brought back, and of no later one.
	d.session(false, func(s *sqlvfs.Store) { d.write(s, "last", 100_000) })
	d.check()
}

// A session removes old generations at its end, too, however short it was; and none that a later one goes on from.
func TestShortSessionPrunes(t *testing.T) {
	work := t.TempDir()
	d := &disk{t: t, path: filepath.Join(work, "a.db"), dir: filepath.Join(work, "copy"), want: map[string][]byte{}}
	d.session(false, func(s *sqlvfs.Store) { d.write(s, "first", 1000) })
	place, err := open(t.Context(), "file://"+d.dir)
	must(t, err)
	head, tag, err := readHead(t.Context(), place.own)
	must(t, err)
	old := Generation{ID: "OLD", Began: time.Now().Add(-3 * retention)}
	must(t, os.MkdirAll(filepath.Join(d.dir, old.dir(), "ltx/0"), 0o700))
	head.Generations[0].Began = time.Now().Add(-2 * retention)
	first := head.Generations[0]
	head.Generations = []Generation{old, first}
	_, err = place.own.swap(t.Context(), headName, head.marshal(), tag)
	must(t, err)
	job := func() { // which ends as soon as it has the place
		cmd := exec.Command(os.Args[0], "copy", d.path, d.dir, "1000000000")
		must(t, cmd.Run()) // its standard input is at its end
	}
	job()
	head, _, err = readHead(t.Context(), place.own)
	must(t, err)
	if _, there := head.generation(old.ID); there {
		t.Errorf("the old one is there: %+v", head.Generations)
	}
	if _, err := os.Stat(filepath.Join(d.dir, old.dir())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its files are there: %v", err)
	}
	if _, there := head.generation(first.ID); !there {
		t.Errorf("the one that the last goes on from is gone: %+v", head.Generations)
	}
	d.check()
}
