package reconcile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// A large file of which the guest has changed a little is not written anew. Where the file system shares
// blocks between files (btrfs, XFS), what is staged begins as a clone of the host's file, and takes up no
// more than what is changed in it. Elsewhere the changed chunks are written into the host's file itself.
// Then others see it half done for that moment, programs that have it mapped too.
//
// To be killed meanwhile does no harm: the chunks are in the database, and what is between them stays as it
// was. The row's origin says beforehand, durably, until when somebody writes, and a version of the file from
// that time will do for the row as the one before did (revalidate.go).

const (
	patchFrom = 8 << 20 // of a smaller file, a copy costs nothing, in bytes
	patchTime = 10      // for so long a pull announces that it writes, in seconds
	patchAway = 5       // so long before the end, it announces it again
)

// patches reports whether a file is to be changed in place.
func (p *puller) patches(a *operation) bool {
	n := a.node
	if p.session != nil {
		return false // the guest may go on changing it
	}
	if a.do != write || a.bytes != nil || a.copyOf != nil || n == nil || a.whole || n.Origin == nil || !n.Holds {
		return false
	}
	if a.there != unix.S_IFREG || a.source != a.path || a.version != a.now || n.Origin.Limit != a.now.Size || a.attr.Size < a.now.Size {
		return false
	}
	// Other names may be outside of the workspace; a program must not run half changed with other rights.
	if a.now.Size < patchFrom || a.host.Nlink != 1 || a.attr.Nlink != 1 || a.host.Mode&setID != 0 {
		return false
	}
	if held := p.heldBytes(a.item); held == 0 || held > a.attr.Size/2 {
		return false
	}
	f, err := p.host.openRegular(a.path, unix.O_RDWR) // not a program that runs (ETXTBSY), nor one that is closed to us
	if err != nil {
		return false
	}
	defer f.Close()
	return !p.clones(f)
}

// clones reports whether the staging directory can hold a clone of a file.
func (p *puller) clones(f *os.File) bool {
	name := p.staging.Next()
	probe, err := p.staging.Create(name)
	if err != nil {
		return false
	}
	defer p.staging.Discard(name)
	defer probe.Close()
	return unix.IoctlFileClone(int(probe.Fd()), int(f.Fd())) == nil
}

// patch writes what the row holds of a file into the host's.
func (p *puller) patch(a *operation) error {
	if p.needs(a.path) {
		return errNeeded
	}
	f, st, err := p.openPlanned(a, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := p.store.Committed()
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := announce(p, a); err != nil {
		return err
	}
	if now, err := hostfs.Stat(f); err != nil || hostfs.Fingerprint(&now) != a.now { // that took its time
		return cmp.Or(p.until(a, 0), err, errChanging)
	}
	w := &patcher{p: p, a: a, rows: rows, f: f, until: time.Now().Add((patchTime - patchAway) * time.Second), compare: true}
	if err := w.reserve(&st); err != nil {
		f.Truncate(st.Size)
		return err
	}
	if err := w.overlay(); err != nil {
		return fmt.Errorf("it is half written, another pull finishes it: %w", err)
	}
	p.sayDropped(a.item)
	return p.setAttributes(f, &st, a)
}

// announce writes down, durably, that a pull is about to write a row's chunks over the host's file. Tests put
// another in its place.
var announce = func(p *puller, a *operation) error {
	if err := p.until(a, time.Now().Unix()+patchTime); err != nil {
		return err
	}
	return p.store.Sync()
}

// until writes down until when a pull writes a row's chunks over the host's file, in seconds since 1970.
func (p *puller) until(a *operation, end int64) error {
	return p.rows().with(a.node.Ino, func(tx *sqlvfs.Tx, row *sqlvfs.Inode) error {
		now := *row.Origin
		now.Until = end
		tx.SetOrigin(row, &now)
		return nil
	})
}

// patcher writes what a row holds over a file that has the rest.
type patcher struct {
	p       *puller
	a       *operation
	rows    *sqlvfs.Committed
	f       *os.File
	until   time.Time // announced; zero: nobody else sees the file
	compare bool      // what is there already is not written
}

// each calls f for the stretches of a file that the row holds.
func (w *patcher) each(f func(off, n int64) error) error {
	chunk, size := w.p.store.ChunkSize(), w.a.attr.Size
	for off := int64(0); off < size; {
		next, err := w.rows.Next(w.a.node.Ino, off, size)
		if err != nil || next >= size {
			return err
		}
		n := min(chunk-next%chunk, size-next)
		if err := f(next, n); err != nil {
			return err
		}
		off = next + n
	}
	return nil
}

// reserve sees to it that a disk which is full is known before anything is written.
func (w *patcher) reserve(st *unix.Stat_t) error {
	// st_blocks counts units of 512 bytes (stat(2)): a file with fewer has holes.
	if st.Blocks*512 >= st.Size && w.a.attr.Size == st.Size {
		return nil
	}
	err := w.each(func(off, n int64) error {
		return unix.Fallocate(int(w.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

func (w *patcher) overlay() error {
	data, there := make([]byte, w.p.store.ChunkSize()), make([]byte, w.p.store.ChunkSize())
	err := w.each(func(off, n int64) error {
		if w.until.IsZero() && w.p.interrupted() != nil {
			return errInterrupted
		}
		if !w.until.IsZero() && time.Now().After(w.until) {
			if err := announce(w.p, w.a); err != nil {
				return err
			}
			w.until = time.Now().Add((patchTime - patchAway) * time.Second)
		}
		if err := w.rows.ReadAt(w.a.node.Ino, data[:n], off); err != nil {
			return err
		}
		if w.compare {
			if m, err := w.f.ReadAt(there[:n], off); err == nil && int64(m) == n && bytes.Equal(data[:n], there[:n]) {
				return nil
			}
		}
		_, err := w.f.WriteAt(data[:n], off)
		return hostfs.Unwrap(err)
	})
	if err != nil {
		return err
	}
	if st, err := hostfs.Stat(w.f); err != nil || st.Size == w.a.attr.Size {
		return err
	}
	return hostfs.Unwrap(w.f.Truncate(w.a.attr.Size))
}

// clone begins a new file as a clone of the host file that the rest of its content comes from, and brings the
// row's own content into it. It reports whether that is possible.
func (w *writer) clone(f *os.File, a *operation) (bool, error) {
	if a.bytes != nil || a.source == "" || a.attr.Size < patchFrom {
		return false, nil
	}
	from, err := w.p.openSource(a.item)
	if err != nil {
		return false, err
	}
	defer from.Close()
	if unix.IoctlFileClone(int(f.Fd()), int(from.Fd())) != nil {
		return false, nil
	}
	if st, err := hostfs.Stat(from); err != nil || hostfs.Fingerprint(&st) != a.version {
		return false, errors.Join(err, &sourceError{w.p.hostPath(a.source), sqlvfs.ErrBaseChanged})
	}
	w.p.report.Add(0, a.attr.Size)
	if a.node == nil || a.whole {
		return true, nil
	}
	if limit := min(a.node.Origin.Limit, a.attr.Size); limit < a.version.Size {
		if err := f.Truncate(limit); err != nil {
			return false, hostfs.Unwrap(err)
		}
	}
	if err := w.openContent(); err != nil {
		return false, err
	}
	return true, (&patcher{p: w.p, a: a, rows: w.content, f: f}).overlay()
}
