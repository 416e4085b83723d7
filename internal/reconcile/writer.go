package reconcile

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// holeSize is the length of a run of zeros that becomes a hole in a file, in bytes.
const holeSize = 64 << 10

// unhashed is the size in bytes from which on holes of a file are passed over, not read, and so take
// no part in a hash: such a file has none. Any guest can make one for whose zeros a lifetime is too
// short, and file systems like tmpfs and XFS take it.
const unhashed = 64 << 30

// writer is one of the goroutines that stage. Files of a directory come one after the other, so it keeps that open.
type writer struct {
	p   *puller
	at  string
	dir *os.File

	content *sqlvfs.Committed // once it is needed
}

// leave ends what is kept open.
func (w *writer) leave() {
	w.leaveDir()
	if w.content != nil {
		w.content.Close()
	}
}

func (w *writer) leaveDir() {
	if w.dir != nil {
		w.p.staging.Done(w.dir)
	}
}

func (w *writer) write(a *operation) error {
	if at := path.Dir(a.tmp); w.dir == nil || at != w.at {
		w.leaveDir()
		var err error
		if w.dir, _, err = w.p.staging.Parent(a.tmp); err != nil {
			w.dir = nil
			return err
		}
		w.at = at
	}
	st, err := w.make(a, path.Base(a.tmp))
	if err == nil {
		a.is = &st
	}
	return err
}

// make makes a file or link, and returns what it has become.
func (w *writer) make(a *operation, name string) (st unix.Stat_t, err error) {
	if a.do == symlink {
		if err := w.p.makeSymlink(a, w.dir, name); err != nil {
			return st, err
		}
		if err := w.setTimes(a, name); err != nil {
			return st, err
		}
		return hostfs.StatAt(w.dir, name)
	}
	f, err := hostfs.Create(w.dir, name, a.attr.Mode&0o777|0o600)
	if err != nil {
		return st, err
	}
	defer f.Close()
	if err := w.fill(f, a); err != nil {
		return st, err
	}
	if a.node == nil || len(a.xattrs) > 0 {
		if err := w.p.setXattrs(f, a.item); err != nil {
			return st, err
		}
	}
	if err := w.setTimes(a, name); err != nil {
		return st, err
	}
	if st, err = w.p.setOwnerAndMode(f, a.item); err == nil {
		w.p.sayDropped(a.item)
	}
	return st, err
}

func (w *writer) setTimes(a *operation, name string) error {
	return unix.UtimesNanoAt(int(w.dir.Fd()), name, times(&a.attr), unix.AT_SYMLINK_NOFOLLOW)
}

// fill writes a file's content, and notes its hash.
func (w *writer) fill(f *os.File, a *operation) error {
	if cloned, err := w.clone(f, a); cloned || err != nil {
		return err
	}
	c, err := w.source(a)
	if err != nil {
		return err
	}
	defer c.close()
	size, end := a.attr.Size, int64(0)
	if size > bufferSize {
		// At once, so that a size that no file can have is refused before anything is read.
		if err := f.Truncate(size); err != nil {
			return hostfs.Unwrap(err)
		}
		end = size
	}
	hash := sha256.New()
	for off, to := int64(0), size; off < size; off = to {
		if size > unhashed {
			next, err := w.next(a, off)
			if err != nil {
				return err
			}
			w.p.report.Add(0, next-off)
			off, to = next, min(next+bufferSize, size)
		}
		err := pieces(w.p.ctx, c, off, to, func(data []byte, off int64) error {
			last, err := writeSparse(f, data, off)
			end = max(end, last)
			hash.Write(data)
			w.p.report.Add(0, int64(len(data)))
			return hostfs.Unwrap(err)
		})
		if err != nil {
			return err
		}
	}
	if size <= unhashed {
		a.hash = hash.Sum(nil)
	}
	if end < size { // it ends in a hole
		return hostfs.Unwrap(f.Truncate(size))
	}
	return nil
}

// source is a file's content, see [planner.guestContent]. What is in the database alone needs no more than its
// rows: they are many, and nobody else writes them.
func (w *writer) source(a *operation) (*content, error) {
	switch {
	case a.part:
		return textContent(string(a.bytes)), nil
	case a.node == nil || a.source != "":
		return w.p.guestContent(a.item)
	}
	err := w.openContent()
	return &content{committedContent{w.content, a.node.Ino}, a.attr.Size, func() {}}, err
}

func (w *writer) openContent() (err error) {
	if w.content == nil {
		w.content, err = w.p.store.Committed()
	}
	return err
}

// next returns where a file's content goes on at or after an offset, behind a hole if it is in one:
// at most the file's size.
func (w *writer) next(a *operation, off int64) (int64, error) {
	if a.node == nil || a.node.Origin != nil && off < a.node.Origin.Limit {
		return off, nil
	}
	if err := w.openContent(); err != nil {
		return 0, err
	}
	return w.content.Next(a.node.Ino, off, a.attr.Size)
}

func (p *puller) makeSymlink(a *operation, d *os.File, name string) error {
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
