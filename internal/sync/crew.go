package sync

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// holeSize is the length of a run of zeros that becomes a hole in a file, in bytes.
const holeSize = 64 << 10

// flushEvery is how much is staged before the kernel is made to write it, in bytes, while more is
// staged: so there is less to wait for at the end.
const flushEvery = 32 << 20

// crew are the goroutines that write what is staged. Each action is written by one of them, which
// leaves in it what came of it.
type crew struct {
	p    *puller
	todo chan *action
	all  sync.WaitGroup
	end  atomic.Bool // an error would hit all the other files too

	staged   atomic.Int64 // bytes since the last flush began
	flushing sync.Mutex
}

// newCrew has as many as there are processors, but not more than a disk can use.
func (p *puller) newCrew() *crew {
	n := min(runtime.GOMAXPROCS(0), 8)
	c := &crew{p: p, todo: make(chan *action, 4*n)}
	for range n {
		w := &writer{p: p}
		c.all.Go(func() {
			defer w.leave()
			for a := range c.todo {
				if c.end.Load() {
					continue
				}
				if a.err = w.write(a); a.err != nil && fatal(a.err) {
					c.end.Store(true)
				}
				p.report.Add(1, 0)
				c.flush(a.attr.Size)
			}
		})
	}
	return c
}

// flush counts what is staged, and starts to write it to the disk when it has become much. An error
// comes again at the end.
func (c *crew) flush(bytes int64) {
	if c.staged.Add(bytes) < flushEvery || !c.flushing.TryLock() {
		return
	}
	c.staged.Store(0)
	c.all.Go(func() {
		defer c.flushing.Unlock()
		unix.Syncfs(int(c.p.staging.dir.Fd()))
	})
}

func (c *crew) write(a *action) { c.todo <- a }
func (c *crew) stopped() bool   { return c.end.Load() }

// wait waits until all is written.
func (c *crew) wait() {
	close(c.todo)
	c.all.Wait()
}

// writer is one of a crew. Files of a directory come one after the other, so it keeps that open.
type writer struct {
	p   *puller
	at  string
	dir *os.File
	buf []byte
}

func (w *writer) leave() {
	if w.dir != nil {
		w.p.staging.done(w.dir)
	}
}

func (w *writer) write(a *action) error {
	if at := path.Dir(a.tmp); w.dir == nil || at != w.at {
		w.leave()
		var err error
		if w.dir, _, err = w.p.staging.parent(a.tmp); err != nil {
			w.dir = nil
			return err
		}
		w.at = at
	}
	name := path.Base(a.tmp)
	err := w.make(a, name)
	if err == nil {
		err = unix.UtimesNanoAt(int(w.dir.Fd()), name, times(&a.attr), unix.AT_SYMLINK_NOFOLLOW)
	}
	return err
}

func (w *writer) make(a *action, name string) error {
	if a.do == symlink {
		return w.p.makeSymlink(a, w.dir, name)
	}
	f, err := createAt(w.dir, name, a.attr.Mode&0o777|0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := w.fill(f, a); err != nil {
		return err
	}
	if a.node == nil || len(a.node.Xattrs) > 0 {
		if err := w.p.setXattrs(f, a); err != nil {
			return err
		}
	}
	return w.p.setOwnerAndMode(f, a)
}

// fill writes a file's content, and notes its hash.
func (w *writer) fill(f *os.File, a *action) error {
	read, done, err := w.reader(a)
	if err != nil {
		return err
	}
	defer done()
	if w.buf == nil {
		w.buf = make([]byte, bufferSize)
	}
	size, end := a.attr.Size, int64(0)
	if size > bufferSize {
		// At once, so that a size that no file can have is refused before anything is read.
		if err := f.Truncate(size); err != nil {
			return unwrap(err)
		}
		end = size
	}
	hash := sha256.New()
	for off := int64(0); off < size; {
		if err := w.p.interrupted(); err != nil {
			return err
		}
		n, err := read(w.buf[:min(bufferSize, size-off)], off)
		if err != nil && err != io.EOF {
			return err
		}
		if n == 0 {
			return errChanging
		}
		last, err := writeSparse(f, w.buf[:n], off)
		if err != nil {
			return unwrap(err)
		}
		end = max(end, last)
		hash.Write(w.buf[:n])
		off += int64(n)
		w.p.report.Add(0, int64(n))
	}
	a.hash = hash.Sum(nil)
	if end < size { // it ends in a hole
		return unwrap(f.Truncate(size))
	}
	return nil
}

// reader returns what reads a file's content, see [planner.reader]. What is in the database alone
// needs no more than its rows: they are many, and nobody else writes them.
func (w *writer) reader(a *action) (read func([]byte, int64) (int, error), done func(), err error) {
	if a.node == nil || a.source != "" {
		return w.p.reader(a)
	}
	return func(b []byte, off int64) (int, error) {
		return len(b), w.p.store.ReadCommitted(a.node.Ino, b, off)
	}, func() {}, nil
}

// setOwnerAndMode gives an open file what it does not have yet.
func (p *puller) setOwnerAndMode(f *os.File, a *action) error {
	st, err := fstat(f)
	if err != nil {
		return err
	}
	if p.asRoot && (st.Uid != a.attr.UID || st.Gid != a.attr.GID) {
		if err := unix.Fchown(int(f.Fd()), int(a.attr.UID), int(a.attr.GID)); err != nil {
			return err
		}
	}
	if st.Mode&0o7777 == a.attr.Mode&modeBits {
		return nil
	}
	return unix.Fchmod(int(f.Fd()), a.attr.Mode&modeBits)
}

func (p *puller) makeSymlink(a *action, d *os.File, name string) error {
	if err := unix.Symlinkat(a.target, int(d.Fd()), name); err != nil || !p.asRoot {
		return err
	}
	return unix.Fchownat(int(d.Fd()), name, int(a.attr.UID), int(a.attr.GID), unix.AT_SYMLINK_NOFOLLOW)
}

var zeros [holeSize]byte

// writeSparse writes data, leaving out whole stretches of zeros: what is not written is a hole. It
// returns the offset behind what was written last, or 0.
func writeSparse(f *os.File, data []byte, off int64) (end int64, err error) {
	for len(data) > 0 {
		n, hole := 0, false
		for n < len(data) {
			block := data[n:min(n+holeSize, len(data))]
			zero := bytes.Equal(block, zeros[:len(block)])
			if n > 0 && zero != hole {
				break
			}
			hole = zero
			n += len(block)
		}
		if !hole {
			if _, err := f.WriteAt(data[:n], off); err != nil {
				return 0, err
			}
			end = off + int64(n)
		}
		data, off = data[n:], off+int64(n)
	}
	return end, nil
}
