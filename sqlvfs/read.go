package sqlvfs

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// ReadAt reads content at an offset into p, as io.ReaderAt does: the error is io.EOF when it ends before p does. base
// supplies what shows through from the origin and may be nil when the inode has none; then, and when it is shorter than
// the origin was, the error is [ErrNoBase] or [ErrBaseChanged], else its own or the database's. Of a file that is written
// meanwhile each byte is what it was before or after. If the tree goes back meanwhile, the error is [ErrWentBack]. The caller must
// refer to the inode.
func (s *Store) ReadAt(in *Inode, p []byte, off int64, base io.ReaderAt) (int, error) {
	var r reading
	err := s.View(func(tx *Tx) error {
		r.backs = s.backs.Load()
		return tx.read(in, p, off, &r)
	})
	if err != nil {
		return 0, err
	}
	return s.finishRead(in, &r, base)
}

// finishRead fetches what a read has noted. It is no part of a step.
func (s *Store) finishRead(in *Inode, r *reading, base io.ReaderAt) (int, error) {
	for _, run := range r.runs {
		var err error
		if run.src == fromDatabase && len(run.dst) >= LongRead && s.writer != nil {
			err = s.readLong(in, run, r)
		} else {
			err = s.fetch(in.Ino, run, base, r.limit)
		}
		if s.backs.Load() != r.backs {
			err = ErrWentBack // what was read may be of both
		}
		if err != nil {
			return 0, err
		}
	}
	for _, apply := range r.patches {
		apply()
	}
	if s.tx.at != nil && len(r.runs) > 0 {
		if err := s.View(func(*Tx) error { return nil }); err != nil { // rows of content were read after the step
			return 0, err
		}
	}
	return r.n, r.eof
}

// reading is what is left of a read when what is in memory was copied.
type reading struct {
	n       int // bytes there are
	eof     error
	runs    []run    // to be fetched
	patches []func() // then to be applied
	limit   int64    // of the origin
	size    int64    // of the file
	version uint64   // of its content
	backs   uint64   // of the tree
}

// read copies what is in memory, and notes the rest.
func (tx *Tx) read(in *Inode, p []byte, off int64, r *reading) error {
	if err := tx.refresh(in); err != nil {
		return err
	}
	if off >= in.Attr.Size {
		return io.EOF
	}
	if rest := in.Attr.Size - off; int64(len(p)) > rest {
		p, r.eof = p[:rest], io.EOF
	}
	for done := int64(0); done < int64(len(p)); {
		index, skip := (off+done)/tx.chunkSize, (off+done)%tx.chunkSize
		n := min(tx.chunkSize-skip, int64(len(p))-done)
		dst := p[done : done+n]
		c := in.chunks[index]
		if stored := in.content; c == nil && stored != nil {
			tx.clean.use(in)
			copy(dst, stored[skip:])
		} else if c != nil && c.patch == nil {
			copied := 0
			if skip < int64(len(c.data)) {
				copied = copy(dst, c.data[skip:])
			}
			clear(dst[copied:])
		} else {
			src, err := tx.source(in, index)
			if err != nil {
				return err
			}
			if c != nil {
				patch := c.copyOf(skip, n)
				r.patches = append(r.patches, func() { patch.applyTo(dst, skip) })
			}
			if k := len(r.runs) - 1; k >= 0 && r.runs[k].src == src && r.runs[k].off+int64(len(r.runs[k].dst)) == off+done {
				r.runs[k].dst = p[r.runs[k].off-off : done+n]
			} else {
				r.runs = append(r.runs, run{src, off + done, dst})
			}
		}
		done += n
	}
	r.size, r.version = in.Attr.Size, in.version
	if r.n = len(p); in.Origin != nil {
		r.limit = in.Origin.Limit
	}
	return nil
}

// source says where a chunk that is not in memory comes from.
type source int

const (
	fromNowhere  source = iota // a hole
	fromDatabase               // a row, or a hole if there is none
	fromBase                   // the origin
)

// run is a stretch of a file that comes from one source.
type run struct {
	src source
	off int64
	dst []byte
}

// source finds out where a chunk comes from.
func (tx *Tx) source(in *Inode, index int64) (source, error) {
	stored := in.tables&dataRows != 0 && index < tx.voidFrom(in)
	if in.Origin == nil || in.Origin.Limit == 0 {
		if stored {
			return fromDatabase, nil
		}
		return fromNowhere, nil
	}
	if stored {
		if in.own == nil {
			if err := tx.loadOwn(in); err != nil {
				return 0, err
			}
		}
		if _, ok := in.own[index]; ok {
			return fromDatabase, nil
		}
	}
	if index*tx.chunkSize < in.Origin.Limit {
		return fromBase, nil
	}
	return fromNowhere, nil
}

// loadOwn reads which chunks a file with an origin holds itself.
func (tx *Tx) loadOwn(in *Inode) error {
	list, err := tx.storedChunks(in, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	in.hold().own = make(map[int64]struct{}, len(list))
	for _, index := range list {
		in.own[index] = struct{}{}
	}
	tx.keep(in)
	return nil
}

// fetch fills a run. It is no part of a step.
func (s *Store) fetch(ino Ino, r run, base io.ReaderAt, limit int64) error {
	switch r.src {
	case fromDatabase:
		return s.readRows(ino, r.off, r.dst)
	case fromBase:
		if base == nil {
			return fmt.Errorf("%w: inode %d", ErrNoBase, ino)
		}
		want := r.dst
		if rest := max(limit-r.off, 0); int64(len(want)) > rest {
			want = want[:rest]
		}
		n, err := base.ReadAt(want, r.off)
		if n < len(want) {
			if err == nil || errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: inode %d: host file is shorter than it was", ErrBaseChanged, ino)
			}
			return err
		}
		clear(r.dst[len(want):])
	default:
		clear(r.dst)
	}
	return nil
}

// readRows reads stored chunks into dst; what has no row is a hole.
func (s *Store) readRows(ino Ino, off int64, dst []byte) error {
	c, err := s.readers.get()
	if err != nil {
		return err
	}
	defer s.readers.put(c)
	return s.readRowsOf(c, ino, off, dst)
}

// readRowsOf is readRows on a connection that the caller has.
func (s *fixed) readRowsOf(c *conn, ino Ino, off int64, dst []byte) error {
	clear(dst)
	if len(dst) == 0 {
		return nil
	}
	first, last := off/s.chunkSize, (off+int64(len(dst))-1)/s.chunkSize
	q := c.Prep(qChunks)
	q.BindInt64(1, int64(ino))
	q.BindInt64(2, first)
	q.BindInt64(3, last)
	for c.Step(q) {
		index, data := q.ColumnInt64(0), q.ColumnRawBlob(1)
		if index < first || index > last {
			continue // a damaged index finds rows that were not asked for
		}
		start := index * s.chunkSize
		if int64(len(data)) > s.chunkSize {
			data = data[:s.chunkSize]
		}
		if start < off {
			if off-start >= int64(len(data)) {
				continue
			}
			data, start = data[off-start:], off
		}
		copy(dst[start-off:], data)
	}
	return c.Done(q)
}
