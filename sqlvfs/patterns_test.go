package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// program is one of the ways in which applications keep their data, in an endless run. What it was
// told to be durable it counts; what is found after a power cut it must be content with.
type program interface {
	run(p *process) error
	verify(files map[string][]byte, durable int) error
}

// process is what a program has of the system.
type process struct {
	s    *Store
	disk *disk
	id   int
	stop atomic.Bool
}

func (p *process) write(name string, data []byte, off int64) error {
	var in *Inode
	err := p.s.Update(func(tx *Tx) error {
		c, ok, _, err := tx.Child(tx.Root(), name)
		if err != nil {
			return err
		}
		if ok {
			in, err = tx.Get(c.Ino)
			return err
		}
		if in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1}); err != nil {
			return err
		}
		return tx.Link(tx.Root(), name, in)
	})
	if err != nil {
		return err
	}
	defer put(p.s, in)
	return p.s.WriteAt(in, data, off, nil, Now())
}

// move renames; onto nothing it removes.
func (p *process) move(from, to string) error {
	return p.s.Update(func(tx *Tx) error {
		if to == "" {
			return lose(tx, from)
		}
		c, _, _, err := tx.Child(tx.Root(), from)
		if err != nil {
			return err
		}
		in, err := tx.Get(c.Ino)
		if err != nil {
			return err
		}
		defer tx.Put(in)
		return errors.Join(lose(tx, to), tx.Unlink(tx.Root(), from), tx.Link(tx.Root(), to, in))
	})
}

// lose removes a file, if there is one.
func lose(tx *Tx, name string) error {
	c, ok, _, err := tx.Child(tx.Root(), name)
	if err != nil || !ok {
		return err
	}
	in, err := tx.Get(c.Ino)
	if err != nil {
		return err
	}
	defer tx.Put(in)
	in.Attr.Nlink = 0
	tx.Dirty(in)
	return tx.Unlink(tx.Root(), name)
}

// promised notes that the program's step n, counted from 1, is durable.
func (p *process) promised(n int) { p.disk.mark(guaranteed, p.id<<20|n) }

// page is what a program writes in step n: whoever finds it can tell whether it is whole.
func page(n int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%07d\n", n)), 128) }

func pageNumber(data []byte) (n int, err error) {
	if _, err := fmt.Sscanf(string(data), "%d", &n); err != nil || !bytes.Equal(data, page(n)) {
		return 0, fmt.Errorf("%d bytes, %.20q..., are no page", len(data), data)
	}
	return n, nil
}

// replacer writes a file anew, syncs it and renames it over the old one, as editors do.
type replacer struct{}

func (replacer) run(p *process) error {
	for n := 1; !p.stop.Load(); n++ {
		if err := errors.Join(p.write("tmp", page(n), 0), p.s.Sync(), p.move("tmp", "config")); err != nil {
			return err
		}
		if n%3 == 0 {
			if err := p.s.Sync(); err != nil {
				return err
			}
			p.promised(n)
		}
	}
	return nil
}

func (replacer) verify(files map[string][]byte, durable int) error {
	data, ok := files["config"]
	if !ok && durable == 0 {
		return nil
	}
	n, err := pageNumber(data)
	if err == nil && n < durable {
		err = fmt.Errorf("it is version %d", n)
	}
	return err
}

// appender adds records to a log and syncs it.
type appender struct{}

func (appender) run(p *process) error {
	for n := 1; !p.stop.Load(); n++ {
		if err := p.write("log", page(n), int64((n-1)*len(page(n)))); err != nil {
			return err
		}
		if n%2 == 0 {
			if err := p.s.Sync(); err != nil {
				return err
			}
			p.promised(n)
		}
	}
	return nil
}

func (appender) verify(files map[string][]byte, durable int) error {
	data, size := files["log"], len(page(0))
	for n := 1; len(data) > 0; n++ {
		if got, err := pageNumber(data[:min(size, len(data))]); err != nil || got != n {
			return fmt.Errorf("record %d: %d, %v", n, got, err)
		}
		data = data[size:]
	}
	if have := len(files["log"]) / size; have < durable {
		return fmt.Errorf("it has %d records", have)
	}
	return nil
}

// journaler changes two pages of a file in place as SQLite does with a rollback journal: the old
// pages go into a journal, which is synced; then the new ones into the file, which is synced; then
// the journal is deleted, which is the commit.
type journaler struct{}

func (journaler) run(p *process) error {
	two := func(n int) []byte { return append(page(n), page(n)...) }
	size := int64(len(page(0)))
	if err := errors.Join(p.write("data", two(0), 0), p.s.Sync()); err != nil {
		return err
	}
	for n := 1; !p.stop.Load(); n++ {
		err := errors.Join(
			p.write("journal", two(n-1), 0), p.s.Sync(),
			p.write("data", page(n), size), p.write("data", page(n), 0), p.s.Sync(),
			p.move("journal", ""))
		if err == nil && n%3 == 0 {
			err = p.s.Sync()
		}
		if err != nil {
			return err
		}
		if n%3 == 0 {
			p.promised(n)
		}
	}
	return nil
}

func (journaler) verify(files map[string][]byte, durable int) error {
	data := files["data"]
	if journal := files["journal"]; len(journal) > 0 {
		data = journal // the old pages are put back
	}
	if len(data) == 0 && durable == 0 {
		return nil
	}
	size := len(page(0))
	if len(data) != 2*size {
		return fmt.Errorf("%d bytes", len(data))
	}
	one, err1 := pageNumber(data[:size])
	two, err2 := pageNumber(data[size:])
	if err := errors.Join(err1, err2); err != nil || one != two || one < durable {
		return fmt.Errorf("pages are of versions %d and %d: %v", one, two, err)
	}
	return nil
}

// The three run beside one another, and each finds what it needs after every power cut.
func TestPatternsSurvivePowerCuts(t *testing.T) {
	cuts := min(*cuts/5, 1000)
	if testing.Short() {
		cuts = 40
	}
	d, name := newDisk(t, honest)
	h := defaults
	h.query, h.linger, h.logLimit, h.logMost = "vfs="+name, 200*time.Microsecond, 300_000, 600_000
	all := memoryDir(t)
	s, err := openStore(filepath.Join(all, "a.db"), Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	programs := []program{replacer{}, appender{}, journaler{}}
	var running sync.WaitGroup
	var list []*process
	for i, prog := range programs {
		p := &process{s: s, disk: d, id: i}
		list = append(list, p)
		running.Go(func() {
			if err := prog.run(p); err != nil {
				t.Errorf("%T: %v", prog, err)
			}
		})
	}
	time.Sleep(150 * time.Millisecond)
	for _, p := range list {
		p.stop.Store(true)
	}
	running.Wait()
	must(t, s.Close())

	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	platter, durable := newPlatter(nil, nil), make([]int, len(programs))
	next := 0
	for i, e := range d.events {
		if e.kind == guaranteed {
			durable[e.step>>20] = e.step & (1<<20 - 1)
			continue
		}
		platter.play(e, rnd)
		if i < next*len(d.events)/cuts {
			continue
		}
		next++
		dir := filepath.Join(all, fmt.Sprint(next))
		must(t, os.Mkdir(dir, 0o700))
		for name, data := range platter.cut(rnd) {
			must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
		s := openTest(t, filepath.Join(dir, "a.db"))
		root, err := readTree(s)
		must(t, err)
		files := map[string][]byte{}
		for name, n := range root.kids {
			files[name] = n.data
		}
		for i, prog := range programs {
			if err := prog.verify(files, durable[i]); err != nil {
				t.Fatalf("%T, cut %d, step %d was durable: %v", prog, next, durable[i], err)
			}
		}
		must(t, s.Close())
		must(t, checkClean(s.Path()))
		os.RemoveAll(dir)
	}
	t.Logf("%d cuts; durable steps %v", next, durable)
}
