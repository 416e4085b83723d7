package sqlvfs

import (
	"io"
	"slices"
)

// Zero makes a stretch of a file read as zeros and gives back the space of whole chunks. What lies
// behind the end of the file makes the file longer, or nothing with keepSize. Takes the Store's
// lock; the caller must hold the inode. base is as for WriteAt.
func (s *Store) Zero(in *Inode, off, length int64, keepSize bool, base io.ReaderAt, now Timespec) error {
	if !keepSize {
		if err := s.Extend(in, off+length, base, now); err != nil {
			return err
		}
	}
	s.Lock()
	defer s.Unlock()
	end := min(off+length, in.Attr.Size)
	if off >= end {
		return nil
	}
	if err := s.complete(in, off, end, base, false); err != nil {
		return err
	}
	if end = min(end, in.Attr.Size); off >= end { // complete may have let go of the lock
		return nil
	}
	// Chunks from whole on, before part, have nothing else in them.
	whole, part := (off+s.chunkSize-1)/s.chunkSize, end/s.chunkSize
	if end == in.Attr.Size {
		part = (end + s.chunkSize - 1) / s.chunkSize
	}
	for _, index := range slices.Compact([]int64{off / s.chunkSize, (end - 1) / s.chunkSize}) {
		if (index < whole || index >= part) && in.chunks[index] != nil {
			c := s.writable(in, index, 0)
			start := index * s.chunkSize
			clear(c.data[min(max(off-start, 0), int64(len(c.data))):min(end-start, int64(len(c.data)))])
		}
	}
	if err := s.punch(in, whole, part); err != nil {
		return err
	}
	in.Attr.Mtime, in.Attr.Ctime = now, now
	s.settleOrigin(in)
	s.touch(in, true)
	return nil
}

// punch makes holes of the chunks [from, to). The Store's lock must be held; it is let go of while
// too much is not committed.
func (s *Store) punch(in *Inode, from, to int64) error {
	if o := in.Origin; o != nil && o.Limit > from*s.chunkSize && o.Limit <= to*s.chunkSize {
		cut := *o
		cut.Limit = from * s.chunkSize
		s.SetOrigin(in, &cut)
	}
	stored, err := s.storedChunks(in, from, to)
	if err != nil {
		return err
	}
	for index := range in.chunks {
		if index >= from && index < to {
			stored = append(stored, index)
		}
	}
	for _, index := range stored {
		if c := in.chunks[index]; c != nil {
			s.discard(c)
		}
		s.install(in, index, &chunk{})
	}
	// Where the origin would show through a hole, zeros must stand.
	for index := from; index < to && in.Origin != nil && index*s.chunkSize < in.Origin.Limit; index++ {
		s.install(in, index, s.zeros(in, index))
		if err := s.Ready(); err != nil {
			return err
		}
	}
	return nil
}

// zeros returns a full chunk of them. The Store's lock must be held.
func (s *Store) zeros(in *Inode, index int64) *chunk {
	c := s.pool.get(int(min(s.chunkSize, in.Attr.Size-index*s.chunkSize)))
	clear(c.data)
	return c
}

// storedChunks lists which of the chunks [from, to) have a row. The Store's lock must be held.
func (s *Store) storedChunks(in *Inode, from, to int64) ([]int64, error) {
	if !in.dataStored {
		return nil, nil
	}
	q := s.meta.prep("SELECT chunk_index FROM fs_data WHERE ino=? AND chunk_index>=? AND chunk_index<?")
	q.BindInt64(1, int64(in.Ino))
	q.BindInt64(2, from)
	q.BindInt64(3, min(to, in.voidFrom))
	var list []int64
	for q.Step() {
		list = append(list, q.ColumnInt64(0))
	}
	return list, s.meta.done(q)
}
