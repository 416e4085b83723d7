package sync

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// baselineOf returns what both sides last agreed about a path, or nil for nothing: what is written
// down, or the origin of the row that is there, or of the row that was there and is elsewhere now, or
// what the guest sees of the host's elsewhere.
func (p *planner) baselineOf(a *item) *sqlvfs.Baseline {
	if b := p.base[a.path]; b != nil {
		return b
	}
	n := p.origins[a.path]
	if a.node != nil && a.node.Origin != nil && a.node.Origin.Path == a.path && a.node.Origin.Base == p.name {
		n = a.node
	}
	switch {
	case !p.sameTree:
		return nil
	case n != nil:
		return n.Baseline()
	case a.there != 0 && p.live(a.path):
		return &sqlvfs.Baseline{Mode: a.host.Mode, Fingerprint: a.now}
	}
	return nil
}

// guestChanged tells whether the guest has anything else at a path than when both sides agreed. A
// change of a row moves its change time, which nobody in the guest can set.
func (p *planner) guestChanged(a *item) bool {
	b, n := a.was, a.node
	return b == nil || n == nil || b.Row != n.Ino || b.RowCtime != n.Attr.Ctime ||
		kind(b.Mode) != kind(n.Attr.Mode) || b.Mode&0o7777 != 0 && (b.Mode^n.Attr.Mode)&modeBits != 0 || b.Size != n.Attr.Size || b.Mtime != n.Attr.Mtime
}

// hostChanged tells whether the host has anything else at a path than when both sides agreed.
func (p *planner) hostChanged(a *item) bool {
	b := a.was
	switch {
	case b == nil:
		return a.there != 0
	case a.there != kind(b.Mode):
		return true
	case a.there == unix.S_IFDIR:
		return b.Mode&0o7777 != 0 && (b.Mode^a.host.Mode)&0o7777 != 0
	case b.Fingerprint == a.now:
		return false
	}
	return b.Mode != a.host.Mode || p.hostWrote(a)
}

// hostWrote tells whether the host's content is another one than when both sides agreed.
func (p *planner) hostWrote(a *item) bool {
	b := a.was
	switch {
	case b == nil:
		return a.there != 0
	case b.Fingerprint == a.now:
		return false
	case b.Size != a.now.Size:
		return true
	case b.Hash == nil: // to write moves the modification time too, if nobody sets it back
		then := a.now
		then.Ctime = b.Ctime
		return then != b.Fingerprint
	}
	// It may have been touched only, or be a copy.
	hash, err := p.hostHash(a)
	return err != nil || !bytes.Equal(hash, b.Hash)
}

// guestWrote tells whether the guest's content is another one than when both sides agreed. Where only the
// guest changed something, a file whose time is another one counts as written, without a look at it.
func (p *planner) guestWrote(a *item) bool {
	b, n := a.was, a.node
	switch {
	case b == nil || n == nil || b.Row != n.Ino || n.Attr.Size != b.Size:
		return true
	case b.RowCtime == n.Attr.Ctime:
		return false
	case n.Origin != nil && n.Origin.Limit == n.Attr.Size && !n.Holds && n.Origin.Fingerprint == b.Fingerprint:
		return false // all of it is the host's
	case b.Hash == nil:
		return true
	case a.attr.IsSymlink():
		return !bytes.Equal(hashOf(a.target), b.Hash)
	case b.Mtime != n.Attr.Mtime && a.now == b.Fingerprint:
		return true
	}
	hash, err := p.guestHash(a)
	return err != nil || !bytes.Equal(hash, b.Hash)
}

// guestHash is the hash of what the guest has, in a baseline's way.
func (p *planner) guestHash(a *item) ([]byte, error) {
	read, done, err := p.reader(a)
	if err != nil {
		return nil, err
	}
	defer done()
	h := sha256.New()
	for off := int64(0); off < a.attr.Size; {
		n, err := read(p.buffer()[:min(bufferSize, a.attr.Size-off)], off)
		if n == 0 {
			return nil, cmp.Or(err, errChanging)
		}
		h.Write(p.buf[:n])
		off += int64(n)
	}
	return h.Sum(nil), nil
}

// hostHash is the hash of what the host has at a path, in a baseline's way.
func (p *planner) hostHash(a *item) ([]byte, error) {
	if a.there == unix.S_IFLNK {
		target, err := p.host.readlink(a.path)
		return hashOf(target), err
	}
	f, err := p.host.openFile(a.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, onlyReader{f}, p.buffer()); err != nil {
		return nil, unwrap(err)
	}
	return h.Sum(nil), nil
}

// onlyReader hides other methods of a file, which would not use the buffer.
type onlyReader struct{ io.Reader }

func hashOf(target string) []byte {
	h := sha256.Sum256([]byte(target))
	return h[:]
}

// looksSame tells whether the host has a file already, by what is cheap to see.
func (p *planner) looksSame(a *item) bool {
	return a.there == kind(a.attr.Mode) && a.host.Size == a.attr.Size && a.host.Mtime == a.attr.Mtime
}

func (p *planner) sameTarget(a *item) bool {
	target, err := p.host.readlink(a.path)
	return err == nil && target == a.target
}

func sameObject(a, b *item) bool { return a.now.Dev == b.now.Dev && a.now.Ino == b.now.Ino }

// equal tells whether the host has exactly the guest's file, whatever their times.
func (p *planner) equal(a *item) (bool, error) {
	if a.there != kind(a.attr.Mode) || (a.host.Mode^a.attr.Mode)&modeBits != 0 || a.host.Size != a.attr.Size {
		return false, nil
	}
	return p.equalContent(a)
}

func (p *planner) equalContent(a *item) (bool, error) {
	switch {
	case a.there != kind(a.attr.Mode):
		return false, nil
	case a.there == unix.S_IFLNK:
		return p.sameTarget(a), nil
	}
	if !a.whole && a.source == a.path && a.version == a.now && !a.node.Holds {
		return true, nil // all of the row's content is the host's
	}
	if a.host.Size != a.attr.Size {
		return false, nil
	}
	f, err := p.host.openFile(a.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	read, done, err := p.reader(a)
	if err != nil {
		return false, err
	}
	defer done()
	if p.buf2 == nil {
		p.buf2 = make([]byte, bufferSize)
	}
	var rows *sqlvfs.Committed
	limit := int64(0)
	if a.node != nil && !a.whole && a.node.Origin != nil && a.source == a.path && a.version == a.now {
		// Before this, what the row does not hold is read from the host's file itself.
		limit = min(a.node.Origin.Limit, a.attr.Size)
		if rows, err = p.store.Committed(); err != nil {
			return false, err
		}
		defer rows.Close()
	}
	for off := int64(0); off < a.attr.Size; {
		if off < limit {
			if off, err = rows.Next(a.node.Ino, off, limit); err != nil {
				return false, err
			}
			if off == a.attr.Size {
				break
			}
		}
		n, err := read(p.buffer()[:min(bufferSize, a.attr.Size-off)], off)
		if err != nil && err != io.EOF {
			return false, err
		}
		if n == 0 {
			return false, errChanging
		}
		if m, err := f.ReadAt(p.buf2[:n], off); m < n {
			return false, unwrap(err)
		}
		if !bytes.Equal(p.buf[:n], p.buf2[:n]) {
			return false, nil
		}
		off += int64(n)
	}
	return true, nil
}

func (p *planner) buffer() []byte {
	if p.buf == nil {
		p.buf = make([]byte, bufferSize)
	}
	return p.buf
}

// reader returns what reads a file's content: from the database, from the host file that it is
// copied from, or from both. A host file that is not the version that is meant is an error:
// versions are never mixed.
func (p *planner) reader(a *item) (read func([]byte, int64) (int, error), closeAll func(), err error) {
	var source *os.File
	closeAll = func() {
		if source != nil {
			source.Close()
		}
	}
	from := a
	if a.link != nil {
		from = a.link
	}
	if from.source != "" {
		if source, err = p.openSource(from); err != nil {
			return nil, nil, err
		}
	}
	if from.node == nil || from.whole {
		return source.ReadAt, closeAll, nil
	}
	p.store.Lock()
	row, err := p.store.Get(from.node.Ino)
	p.store.Unlock()
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	closeSource := closeAll
	closeAll = func() {
		closeSource()
		p.store.Lock()
		p.store.Put(row)
		p.store.Unlock()
	}
	return func(b []byte, off int64) (int, error) {
		if source == nil {
			return p.store.ReadAt(row, b, off, nil)
		}
		return p.store.ReadAt(row, b, off, source)
	}, closeAll, nil
}

// openSource opens the host file that content comes from.
func (p *planner) openSource(a *item) (*os.File, error) {
	f, err := p.host.openFile(a.source)
	if err == nil {
		var st unix.Stat_t
		if st, err = fstat(f); err == nil && fingerprintOf(&st) != a.version {
			err = sqlvfs.ErrBaseChanged
		}
		if err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, &sourceError{p.hostPath(a.source), err}
	}
	return f, nil
}

// sourceThere tells whether the host file that content comes from is the version that is meant.
func (p *planner) sourceThere(a *item) bool {
	if a.source == a.path {
		return a.now == a.version
	}
	st, err := p.host.stat(a.source)
	return err == nil && fingerprintOf(&st) == a.version
}

// sourceError says why content that is on the host only cannot be had.
type sourceError struct {
	where string
	err   error
}

func (e *sourceError) Error() string {
	return "its content is in " + e.where + " on the host: " + e.err.Error()
}
func (e *sourceError) Unwrap() error { return e.err }

// brokenSource tells whether an error means that the host has changed or removed a file of which the
// guest had changed a part.
func brokenSource(err error) bool { return errors.As(err, new(*sourceError)) }
