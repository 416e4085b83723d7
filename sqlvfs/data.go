package sqlvfs

import (
	"fmt"
	"io"
	"math"
	"slices"
	"syscall"
)

// chunk is the content of one row of fs_data that is not committed yet.
type chunk struct {
	data   []byte // empty: a hole, which has no row
	*patch        // if not nil, instead of data: what has changed of a row
	frozen bool   // being written: to change it, copy it
}

func maxSize(chunkSize int64) int64 { return math.MaxInt64 / chunkSize * chunkSize }

// ReadAt reads content at an offset into p, as io.ReaderAt does. base supplies what shows through
// from the origin and may be nil when the inode has none. The caller must refer to the inode.
func (s *Store) ReadAt(in *Inode, p []byte, off int64, base io.ReaderAt) (int, error) {
	var r reading
	if err := s.View(func(tx *Tx) error { return tx.read(in, p, off, &r) }); err != nil {
		return 0, err
	}
	for _, run := range r.runs {
		if err := s.fetch(in.Ino, run, base, r.limit); err != nil {
			return 0, err
		}
	}
	for _, apply := range r.patches {
		apply()
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
		if c := in.chunks[index]; c != nil && c.patch == nil {
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
	stored := in.dataStored && index < in.voidFrom
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
	in.own = make(map[int64]struct{}, len(list))
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
			if err == nil || err == io.EOF {
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
func (s *Store) readRowsOf(c *conn, ino Ino, off int64, dst []byte) error {
	clear(dst)
	if len(dst) == 0 {
		return nil
	}
	first, last := off/s.chunkSize, (off+int64(len(dst))-1)/s.chunkSize
	q := c.prep(qChunks)
	q.BindInt64(1, int64(ino))
	q.BindInt64(2, first)
	q.BindInt64(3, last)
	for q.Step() {
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
	return c.done(q)
}

// WriteAt writes content at an offset and lets the file grow. It only changes memory, waiting when
// too much of it is not committed yet. base is as for ReadAt: a chunk that is written in part is
// completed from there. now becomes the file's modification time. The error is syscall.EFBIG beyond
// [Store.MaxSize]. The caller must refer to the inode.
func (s *Store) WriteAt(in *Inode, p []byte, off int64, base io.ReaderAt, now Timespec) error {
	if off < 0 || off > s.MaxSize()-int64(len(p)) {
		return syscall.EFBIG
	}
	return s.change(base, func(tx *Tx) (*missing, error) { return tx.write(in, p, off, now) })
}

// missing is content that a change needs in memory: a chunk, or one part of it.
type missing struct {
	in          *Inode
	index, part int64 // part -1: all of the chunk
	src         source
	buf         *chunk
	limit       int64 // of the origin
	version     [4]int64
}

// change runs a step that changes content. What it misses is fetched with no lock held, and the step is run again.
func (s *Store) change(base io.ReaderAt, step func(*Tx) (*missing, error)) error {
	for {
		var m *missing
		err := s.Update(func(tx *Tx) (err error) {
			m, err = step(tx)
			return err
		})
		if err != nil || m == nil {
			return err
		}
		if err := s.fetch(m.in.Ino, run{m.src, m.index * s.chunkSize, m.buf.data}, base, m.limit); err != nil {
			return err
		}
		s.View(func(tx *Tx) error {
			tx.supply(m)
			return nil
		})
	}
}

func (tx *Tx) write(in *Inode, p []byte, off int64, now Timespec) (*missing, error) {
	end := off + int64(len(p))
	if m, err := tx.complete(in, off, end, true); m != nil || err != nil {
		return m, err
	}
	// The chunk that was the last and now is not must be full.
	if last := in.Attr.Size / tx.chunkSize; in.chunks[last] != nil && off/tx.chunkSize > last {
		tx.writable(in, last, int(tx.chunkSize))
	}
	for done := int64(0); done < int64(len(p)); {
		index, skip := (off+done)/tx.chunkSize, (off+done)%tx.chunkSize
		n := min(tx.chunkSize-skip, int64(len(p))-done)
		if ok, err := tx.patchable(in, index, off+done, off+done+n); err != nil {
			return nil, err
		} else if ok {
			tx.patchChunk(in, index, skip, p[done:done+n])
		} else {
			if c := in.chunks[index]; c != nil && c.patch != nil {
				tx.discard(c) // all of it is replaced
				delete(in.chunks, index)
			}
			c := tx.writable(in, index, int(skip+n))
			copy(c.data[skip:], p[done:done+n])
		}
		done += n
	}
	in.Attr.Size = max(in.Attr.Size, end)
	in.Attr.Mtime, in.Attr.Ctime = now, now
	tx.outgrowOrigin(in)
	tx.touch(in, true)
	return nil, nil
}

// Truncate sets a file's size. The caller must refer to the inode. base is as for WriteAt.
func (s *Store) Truncate(in *Inode, size int64, base io.ReaderAt, now Timespec) error {
	if size < 0 || size > s.MaxSize() {
		return syscall.EFBIG
	}
	return s.change(base, func(tx *Tx) (*missing, error) { return tx.resize(in, size, now) })
}

// Extend is Truncate for a file that is smaller, and does nothing to one that is not.
func (s *Store) Extend(in *Inode, size int64, base io.ReaderAt, now Timespec) error {
	if size < 0 || size > s.MaxSize() {
		return syscall.EFBIG
	}
	return s.change(base, func(tx *Tx) (*missing, error) {
		if in.Attr.Size >= size {
			return nil, nil
		}
		return tx.resize(in, size, now)
	})
}

func (tx *Tx) resize(in *Inode, size int64, now Timespec) (*missing, error) {
	keep := min(size, in.Attr.Size)
	// A chunk is always exactly as long as the file's size makes it: the one at the old or the new
	// end is needed in memory if it is going to be cut or filled up.
	if size != in.Attr.Size && keep%tx.chunkSize != 0 {
		if m, err := tx.complete(in, keep, keep, false); m != nil || err != nil {
			return m, err
		}
	}
	if index := keep / tx.chunkSize; size != in.Attr.Size && keep%tx.chunkSize != 0 && in.chunks[index] != nil {
		c := tx.writable(in, index, 0)
		had := len(c.data)
		if want := int(min(size-index*tx.chunkSize, tx.chunkSize)); want <= had {
			c.data = c.data[:want]
		} else {
			c.grow(want, tx.chunkSize)
		}
		tx.gather.bytes += len(c.data) - had
	}
	if size < in.Attr.Size {
		tx.dropChunks(in, (size+tx.chunkSize-1)/tx.chunkSize)
	}
	if o := in.Origin; o != nil && o.Limit > size {
		cut := *o
		cut.Limit = size
		tx.SetOrigin(in, &cut)
	}
	in.Attr.Size = size
	in.Attr.Mtime, in.Attr.Ctime = now, now
	tx.touch(in, true)
	return nil, nil
}

// complete brings into memory what the change [off, end) leaves partly as it was: the chunks at its
// edges, and the file's last one when the file is going to reach beyond it; with patches, only parts of
// chunks where that will do. What has to be fetched for that it returns, one at a time.
func (tx *Tx) complete(in *Inode, off, end int64, patches bool) (*missing, error) {
	for {
		if err := tx.refresh(in); err != nil {
			return nil, err
		}
		index, part := int64(-1), int64(-1)
		need := func(i, from, to int64) error {
			// [from, to) of chunk i is replaced; is there anything else in it?
			start, stop := i*tx.chunkSize, min((i+1)*tx.chunkSize, in.Attr.Size)
			from, to = max(from, start), min(to, start+tx.chunkSize)
			if c := in.chunks[i]; c != nil && c.patch == nil || start >= stop || start >= from && to >= stop {
				return nil
			}
			if patches {
				if ok, err := tx.patchable(in, i, from, to); err != nil {
					return err
				} else if ok {
					if missing := tx.missingPart(in, i, from, to); missing >= 0 {
						index, part = i, missing
					}
					return nil
				}
			}
			index, part = i, -1
			return nil
		}
		err := need(off/tx.chunkSize, off, end)
		if end > off && err == nil {
			err = need((end-1)/tx.chunkSize, off, end)
		}
		if size := in.Attr.Size; size%tx.chunkSize != 0 && end > size && off/tx.chunkSize > size/tx.chunkSize && err == nil {
			err = need(size/tx.chunkSize, size, size+1)
		}
		if err != nil || index < 0 {
			return nil, err
		}
		src, err := tx.source(in, index)
		if err != nil {
			return nil, err
		}
		length := int(min(tx.chunkSize, in.Attr.Size-index*tx.chunkSize))
		if src == fromNowhere {
			tx.writable(in, index, length)
			continue
		}
		m := &missing{in: in, index: index, part: part, src: src, buf: tx.pool.get(length), version: in.version()}
		if in.Origin != nil {
			m.limit = in.Origin.Limit
		}
		return m, nil
	}
}

// supply puts what was missing into memory. Not if someone else has written or cut the chunk meanwhile: then it is old.
func (tx *Tx) supply(m *missing) {
	in, c := m.in, m.in.chunks[m.index]
	switch {
	case in.version() != m.version || c != nil && c.patch == nil:
		tx.pool.put(m.buf)
	case m.part >= 0:
		from := m.part * partSize
		tx.addPart(in, tx.ownPatch(in, m.index), m.part, slices.Clone(m.buf.data[from:min(from+partSize, int64(len(m.buf.data)))]))
		tx.pool.put(m.buf)
	default:
		if c != nil {
			c.applyTo(m.buf.data, 0)
			tx.discard(c)
		}
		tx.install(in, m.index, m.buf)
	}
}

// discard gives up a chunk that is to be replaced.
func (tx *Tx) discard(c *chunk) {
	if !c.frozen {
		tx.gather.bytes -= c.size()
		tx.pool.put(c)
	}
}

// version changes whenever a chunk of the file is written that was not in memory, stored content is
// cut off, or the size changes: then what was read of the file's content before may be old.
func (in *Inode) version() [4]int64 {
	return [4]int64{in.Attr.Size, in.voidFrom, int64(in.voidBatch), int64(in.installs)}
}

// writable returns the chunk in a state that may be changed, at least size bytes long, filled with
// zeros where it was shorter.
func (tx *Tx) writable(in *Inode, index int64, size int) *chunk {
	c := in.chunks[index]
	if c != nil && c.patch != nil {
		panic("sqlvfs: a part of a chunk is taken for all of it")
	}
	if c != nil && len(c.data) == 0 {
		// A hole that is written to becomes a whole chunk.
		size = max(size, int(min(tx.chunkSize, in.Attr.Size-index*tx.chunkSize)))
	}
	switch {
	case c == nil:
		c = tx.pool.get(size)
		clear(c.data)
		tx.install(in, index, c)
		return c
	case c.frozen:
		n := tx.pool.get(max(size, len(c.data)))
		clear(n.data[copy(n.data, c.data):])
		tx.install(in, index, n)
		return n
	case size > len(c.data):
		tx.gather.bytes += size - len(c.data)
		c.grow(size, tx.chunkSize)
	}
	return c
}

func (tx *Tx) install(in *Inode, index int64, c *chunk) {
	if in.chunks == nil {
		in.chunks = map[int64]*chunk{}
	}
	in.chunks[index] = c
	in.installs++
	tx.gather.chunks[chunkKey{in, index}] = c
	tx.gather.bytes += c.size()
	tx.touch(in, false)
}

// dropChunks removes all content from a chunk on.
func (tx *Tx) dropChunks(in *Inode, from int64) {
	for index, c := range in.chunks {
		if index < from {
			continue
		}
		delete(in.chunks, index)
		if !c.frozen {
			delete(tx.gather.chunks, chunkKey{in, index})
			tx.discard(c)
		}
	}
	for index := range in.own {
		if index >= from {
			delete(in.own, index)
		}
	}
	if !in.dataStored || in.dead {
		return
	}
	if have, ok := tx.gather.cuts[in]; !ok || from < have {
		tx.gather.cuts[in] = from
		tx.touch(in, false)
	}
	in.voidFrom = min(in.voidFrom, from)
	in.voidBatch = tx.gather.seq
}

// outgrowOrigin ends a file's dependence on its origin's content when it holds all of it itself,
// which a small file does after its first write.
func (tx *Tx) outgrowOrigin(in *Inode) {
	o := in.Origin
	if o == nil || o.Limit == 0 || o.Limit > tx.chunkSize || in.chunks[0] == nil {
		return
	}
	own := *o
	own.Limit = 0
	tx.SetOrigin(in, &own)
}

// grow lengthens a chunk with zeros. Short chunks grow in steps, so that a small file takes little
// memory and one that is appended to is not copied each time.
func (c *chunk) grow(size int, chunkSize int64) {
	old := len(c.data)
	if size > cap(c.data) {
		data := make([]byte, size, min(max(2*size, 512), int(chunkSize)))
		copy(data, c.data)
		c.data = data
		return
	}
	c.data = c.data[:size]
	clear(c.data[old:])
}
