package sqlvfs

import (
	"bytes"
	"io"
)

// fillBuffer is how much content Fill reads from a host file at a time, in bytes.
const fillBuffer = 1 << 20

// Fill stores what so far shows through from a file's origin, so that the file holds all of its
// content itself: afterwards Origin.Limit is 0. What it holds already stays, and so do its
// attributes. base is as for ReadAt.
//
// With holes, chunks of nothing but zeros are left out: a sparse file stays one. step is told
// how many bytes came from base; an error of it, or of base, ends the work. Then the file is as it
// was, with less of it showing through. Takes the Store's lock; the caller must hold the inode.
func (s *Store) Fill(in *Inode, base io.ReaderAt, holes bool, step func(bytes int) error) error {
	var buf []byte
	count := max(fillBuffer/s.chunkSize, 1)
	for first := int64(0); ; first += count {
		s.Lock()
		missing, err := s.missing(in, first, count)
		if err != nil || missing == nil {
			s.Unlock()
			return err
		}
		if len(missing) == 0 {
			s.Unlock()
			continue
		}
		if buf == nil {
			buf = make([]byte, count*s.chunkSize)
		}
		start := missing[0] * s.chunkSize
		end := min((missing[len(missing)-1]+1)*s.chunkSize, in.Attr.Size)
		ino, limit, version := in.Ino, in.Origin.Limit, in.version()
		s.Unlock()
		data := buf[:end-start]
		if err := s.fetch(ino, run{fromBase, start, data}, base, limit); err != nil {
			return err
		}
		s.Lock()
		if in.version() != version {
			first -= count // it was cut meanwhile: look again
			s.Unlock()
			continue
		}
		for _, index := range missing {
			at := index*s.chunkSize - start
			part := data[at:min(at+s.chunkSize, int64(len(data)))]
			// Someone may have written the chunk meanwhile.
			if still, err := s.showsThrough(in, index); err != nil {
				s.Unlock()
				return err
			} else if !still || holes && isZero(part) {
				continue
			}
			c := s.pool.get(len(part))
			copy(c.data, part)
			s.install(in, index, c)
		}
		s.Unlock()
		if err := step(len(data)); err != nil {
			return err
		}
	}
}

// missing lists which of count chunks show through from the origin. nil says that no chunk from
// first on does; then the others are taken to be filled, and the file's dependence ends.
// The Store's lock must be held; it may be let go of.
func (s *Store) missing(in *Inode, first, count int64) ([]int64, error) {
	if err := s.Ready(); err != nil {
		return nil, err
	}
	if in.Origin == nil || in.Origin.Limit == 0 {
		return nil, nil
	}
	if first*s.chunkSize >= in.Origin.Limit {
		own := *in.Origin
		own.Limit = 0
		s.SetOrigin(in, &own)
		return nil, nil
	}
	list := []int64{}
	for index := first; index < first+count && index*s.chunkSize < in.Origin.Limit; index++ {
		through, err := s.showsThrough(in, index)
		if err != nil {
			return nil, err
		}
		if through {
			list = append(list, index)
		}
	}
	return list, nil
}

// showsThrough tells whether a chunk comes from the origin. The Store's lock must be held.
func (s *Store) showsThrough(in *Inode, index int64) (bool, error) {
	if in.chunks[index] != nil {
		return false, nil
	}
	src, err := s.source(in, index)
	return src == fromBase, err
}

func isZero(p []byte) bool { return len(bytes.TrimLeft(p, "\x00")) == 0 }
