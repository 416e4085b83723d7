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
	frozen bool   // being written: to change it, copy it. Guarded by the Store's lock.
}

// MaxSize is the largest file, in bytes: what FUSE can address (loff_t), cut down to whole chunks.
func (s *Store) MaxSize() int64 { return maxSize(s.chunkSize) }

func maxSize(chunkSize int64) int64 { return math.MaxInt64 / chunkSize * chunkSize }

// ReadAt reads content at an offset into p, as io.ReaderAt does. base supplies what shows through
// from the origin and may be nil when the inode has none. Takes the Store's lock; the caller must
// hold the inode.
func (s *Store) ReadAt(in *Inode, p []byte, off int64, base io.ReaderAt) (int, error) {
	s.Lock()
	if err := s.refresh(in); err != nil {
		s.Unlock()
		return 0, err
	}
	if off >= in.Attr.Size {
		s.Unlock()
		return 0, io.EOF
	}
	var eof error
	if rest := in.Attr.Size - off; int64(len(p)) > rest {
		p, eof = p[:rest], io.EOF
	}
	// What is in memory is copied under the lock; the rest is noted as runs to fetch without it.
	var runs []run
	var patches []func()
	for done := int64(0); done < int64(len(p)); {
		index, skip := (off+done)/s.chunkSize, (off+done)%s.chunkSize
		n := min(s.chunkSize-skip, int64(len(p))-done)
		dst := p[done : done+n]
		if c := in.chunks[index]; c != nil && c.patch == nil {
			copied := 0
			if skip < int64(len(c.data)) {
				copied = copy(dst, c.data[skip:])
			}
			clear(dst[copied:])
		} else {
			src, err := s.source(in, index)
			if err != nil {
				s.Unlock()
				return 0, err
			}
			if c != nil {
				patch := c.copyOf(skip, n)
				patches = append(patches, func() { patch.applyTo(dst, skip) })
			}
			if k := len(runs) - 1; k >= 0 && runs[k].src == src && runs[k].off+int64(len(runs[k].dst)) == off+done {
				runs[k].dst = p[runs[k].off-off : done+n]
			} else {
				runs = append(runs, run{src, off + done, dst})
			}
		}
		done += n
	}
	ino, limit := in.Ino, int64(0)
	if in.Origin != nil {
		limit = in.Origin.Limit
	}
	s.Unlock()
	for _, r := range runs {
		if err := s.fetch(ino, r, base, limit); err != nil {
			return 0, err
		}
	}
	for _, apply := range patches {
		apply()
	}
	return len(p), eof
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

// source finds out where a chunk comes from. The Store's lock must be held.
func (s *Store) source(in *Inode, index int64) (source, error) {
	stored := in.dataStored && index < in.voidFrom
	if in.Origin == nil || in.Origin.Limit == 0 {
		if stored {
			return fromDatabase, nil
		}
		return fromNowhere, nil
	}
	if stored {
		if in.own == nil {
			if err := s.loadOwn(in); err != nil {
				return 0, err
			}
		}
		if _, ok := in.own[index]; ok {
			return fromDatabase, nil
		}
	}
	if index*s.chunkSize < in.Origin.Limit {
		return fromBase, nil
	}
	return fromNowhere, nil
}

// loadOwn reads which chunks a file with an origin holds itself. The Store's lock must be held.
func (s *Store) loadOwn(in *Inode) error {
	list, err := s.storedChunks(in, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	in.own = make(map[int64]struct{}, len(list))
	for _, index := range list {
		in.own[index] = struct{}{}
	}
	s.keep(in)
	return nil
}

// fetch fills a run. The Store's lock must not be held.
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
// [Store.MaxSize]. Takes the Store's lock; the caller must hold the inode.
func (s *Store) WriteAt(in *Inode, p []byte, off int64, base io.ReaderAt, now Timespec) error {
	if off < 0 || off > s.MaxSize()-int64(len(p)) {
		return syscall.EFBIG
	}
	s.Lock()
	defer s.Unlock()
	if err := s.Ready(); err != nil {
		return err
	}
	end := off + int64(len(p))
	if err := s.complete(in, off, end, base, true); err != nil {
		return err
	}
	// The chunk that was the last and now is not must be full.
	if last := in.Attr.Size / s.chunkSize; in.chunks[last] != nil && off/s.chunkSize > last {
		s.writable(in, last, int(s.chunkSize))
	}
	for done := int64(0); done < int64(len(p)); {
		index, skip := (off+done)/s.chunkSize, (off+done)%s.chunkSize
		n := min(s.chunkSize-skip, int64(len(p))-done)
		if ok, err := s.patchable(in, index, off+done, off+done+n); err != nil {
			return err
		} else if ok {
			s.patchChunk(in, index, skip, p[done:done+n])
		} else {
			if c := in.chunks[index]; c != nil && c.patch != nil {
				s.discard(c) // all of it is replaced
				delete(in.chunks, index)
			}
			c := s.writable(in, index, int(skip+n))
			copy(c.data[skip:], p[done:done+n])
		}
		done += n
	}
	in.Attr.Size = max(in.Attr.Size, end)
	in.Attr.Mtime, in.Attr.Ctime = now, now
	s.settleOrigin(in)
	s.touch(in, true)
	return nil
}

// Truncate sets a file's size. Takes the Store's lock; the caller must hold the inode. base is as
// for WriteAt.
func (s *Store) Truncate(in *Inode, size int64, base io.ReaderAt, now Timespec) error {
	return s.resize(in, size, false, base, now)
}

// Extend is Truncate for a file that is smaller, and does nothing to one that is not.
func (s *Store) Extend(in *Inode, size int64, base io.ReaderAt, now Timespec) error {
	return s.resize(in, size, true, base, now)
}

func (s *Store) resize(in *Inode, size int64, onlyUp bool, base io.ReaderAt, now Timespec) error {
	if size < 0 || size > s.MaxSize() {
		return syscall.EFBIG
	}
	s.Lock()
	defer s.Unlock()
	if err := s.Ready(); err != nil {
		return err
	}
	keep := min(size, in.Attr.Size)
	// A chunk is always exactly as long as the file's size makes it: the one at the old or the new
	// end is needed in memory if it is going to be cut or filled up.
	if size != in.Attr.Size && keep%s.chunkSize != 0 {
		if err := s.complete(in, keep, keep, base, false); err != nil {
			return err
		}
		// complete may have let go of the lock.
		keep = min(size, in.Attr.Size)
	}
	if onlyUp && keep == size {
		return nil
	}
	if index := keep / s.chunkSize; size != in.Attr.Size && keep%s.chunkSize != 0 && in.chunks[index] != nil {
		c := s.writable(in, index, 0)
		had := len(c.data)
		if want := int(min(size-index*s.chunkSize, s.chunkSize)); want <= had {
			c.data = c.data[:want]
		} else {
			c.grow(want, s.chunkSize)
		}
		s.gather.bytes += len(c.data) - had
	}
	if size < in.Attr.Size {
		s.dropChunks(in, (size+s.chunkSize-1)/s.chunkSize)
	}
	if o := in.Origin; o != nil && o.Limit > size {
		cut := *o
		cut.Limit = size
		s.SetOrigin(in, &cut)
	}
	in.Attr.Size = size
	in.Attr.Mtime, in.Attr.Ctime = now, now
	s.touch(in, true)
	return nil
}

// complete brings into memory what the change [off, end) leaves partly as it was: the chunks at its
// edges, and the file's last one when the file is going to reach beyond it; with patches, only parts of
// chunks where that will do. It lets go of the lock while it reads. The Store's lock must be held.
func (s *Store) complete(in *Inode, off, end int64, base io.ReaderAt, patches bool) error {
	for {
		if err := s.refresh(in); err != nil {
			return err
		}
		index, part := int64(-1), int64(-1)
		need := func(i, from, to int64) error {
			// [from, to) of chunk i is replaced; is there anything else in it?
			start, stop := i*s.chunkSize, min((i+1)*s.chunkSize, in.Attr.Size)
			from, to = max(from, start), min(to, start+s.chunkSize)
			if c := in.chunks[i]; c != nil && c.patch == nil || start >= stop || start >= from && to >= stop {
				return nil
			}
			if patches {
				if ok, err := s.patchable(in, i, from, to); err != nil {
					return err
				} else if ok {
					if missing := s.missingPart(in, i, from, to); missing >= 0 {
						index, part = i, missing
					}
					return nil
				}
			}
			index, part = i, -1
			return nil
		}
		err := need(off/s.chunkSize, off, end)
		if end > off && err == nil {
			err = need((end-1)/s.chunkSize, off, end)
		}
		if size := in.Attr.Size; size%s.chunkSize != 0 && end > size && off/s.chunkSize > size/s.chunkSize && err == nil {
			err = need(size/s.chunkSize, size, size+1)
		}
		if err != nil || index < 0 {
			return err
		}
		src, err := s.source(in, index)
		if err != nil {
			return err
		}
		if src == fromNowhere {
			s.writable(in, index, int(min(s.chunkSize, in.Attr.Size-index*s.chunkSize)))
			continue
		}
		start := index * s.chunkSize
		buf := s.pool.get(int(min(s.chunkSize, in.Attr.Size-start)))
		ino, limit, version := in.Ino, int64(0), in.version()
		if in.Origin != nil {
			limit = in.Origin.Limit
		}
		s.Unlock()
		err = s.fetch(ino, run{src, start, buf.data}, base, limit)
		s.Lock()
		if err != nil {
			return err
		}
		// Someone else may have written or cut the chunk meanwhile; then what was read is old.
		c := in.chunks[index]
		if in.version() != version || c != nil && c.patch == nil {
			continue
		}
		if part >= 0 {
			from := part * partSize
			s.addPart(in, s.ownPatch(in, index), part, slices.Clone(buf.data[from:min(from+partSize, int64(len(buf.data)))]))
			s.pool.put(buf)
			continue
		}
		if c != nil {
			c.applyTo(buf.data, 0)
			s.discard(c)
		}
		s.install(in, index, buf)
	}
}

// discard gives up a chunk that is to be replaced. The Store's lock must be held.
func (s *Store) discard(c *chunk) {
	if !c.frozen {
		s.gather.bytes -= c.size()
		s.pool.put(c)
	}
}

// version changes whenever a chunk of the file is written that was not in memory, stored content is
// cut off, or the size changes: then what was read of the file's content before may be old.
func (in *Inode) version() [4]int64 {
	return [4]int64{in.Attr.Size, in.voidFrom, int64(in.voidBatch), int64(in.installs)}
}

// writable returns the chunk in a state that may be changed, at least size bytes long, filled with
// zeros where it was shorter. The Store's lock must be held.
func (s *Store) writable(in *Inode, index int64, size int) *chunk {
	c := in.chunks[index]
	if c != nil && c.patch != nil {
		panic("sqlvfs: a part of a chunk is taken for all of it")
	}
	if c != nil && len(c.data) == 0 {
		// A hole that is written to becomes a whole chunk.
		size = max(size, int(min(s.chunkSize, in.Attr.Size-index*s.chunkSize)))
	}
	switch {
	case c == nil:
		c = s.pool.get(size)
		clear(c.data)
		s.install(in, index, c)
		return c
	case c.frozen:
		n := s.pool.get(max(size, len(c.data)))
		clear(n.data[copy(n.data, c.data):])
		s.install(in, index, n)
		return n
	case size > len(c.data):
		s.gather.bytes += size - len(c.data)
		c.grow(size, s.chunkSize)
	}
	return c
}

func (s *Store) install(in *Inode, index int64, c *chunk) {
	if in.chunks == nil {
		in.chunks = map[int64]*chunk{}
	}
	in.chunks[index] = c
	in.installs++
	s.gather.chunks[chunkKey{in, index}] = c
	s.gather.bytes += c.size()
	s.touch(in, false)
}

// dropChunks removes all content from a chunk on. The Store's lock must be held.
func (s *Store) dropChunks(in *Inode, from int64) {
	for index, c := range in.chunks {
		if index < from {
			continue
		}
		delete(in.chunks, index)
		if !c.frozen {
			delete(s.gather.chunks, chunkKey{in, index})
			s.discard(c)
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
	if have, ok := s.gather.cuts[in]; !ok || from < have {
		s.gather.cuts[in] = from
		s.touch(in, false)
	}
	in.voidFrom = min(in.voidFrom, from)
	in.voidBatch = s.gather.seq
}

// settleOrigin ends a file's dependence on its origin's content when it holds all of it itself,
// which a small file does after its first write. The Store's lock must be held.
func (s *Store) settleOrigin(in *Inode) {
	o := in.Origin
	if o == nil || o.Limit == 0 || o.Limit > s.chunkSize || in.chunks[0] == nil {
		return
	}
	own := *o
	own.Limit = 0
	s.SetOrigin(in, &own)
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
