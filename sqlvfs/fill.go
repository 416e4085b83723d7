package sqlvfs

import (
	"bytes"
	"fmt"
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
// was, with less of it showing through. Other errors are those of [Store.ReadAt] and [Store.Update]. The file may be
// written meanwhile. The caller must refer to the inode.
func (s *Store) Fill(in *Inode, base io.ReaderAt, holes bool, step func(bytes int) error) error {
	var buf []byte
	var version *Fingerprint // that base has
	count := max(fillBuffer/s.chunkSize, 1)
	for first := int64(0); ; {
		var f filling
		err := s.Update(func(tx *Tx) error {
			if o := in.Origin; o != nil && version == nil {
				version = &o.Fingerprint
			} else if o != nil && *version != o.Fingerprint {
				return fmt.Errorf("%w: inode %d: it has another origin now", ErrBaseChanged, in.Ino)
			}
			return tx.nextFilling(in, first, count, &f)
		})
		if err != nil || f.done {
			return err
		}
		if len(f.chunks) == 0 {
			first += count
			continue
		}
		if buf == nil {
			buf = make([]byte, count*s.chunkSize)
		}
		data := buf[:f.end-f.start]
		if err := s.fetch(in.Ino, run{fromBase, f.start, data}, base, f.limit); err != nil {
			return err
		}
		filled := false
		err = s.View(func(tx *Tx) (err error) {
			filled, err = tx.fill(in, &f, data, holes)
			return err
		})
		if err != nil {
			return err
		}
		if !filled {
			continue // it was cut meanwhile: look again
		}
		first += count
		if err := step(len(data)); err != nil {
			return err
		}
	}
}

// filling are chunks that show through from the origin, in a stretch of a file.
type filling struct {
	done       bool // none does from there on
	chunks     []int64
	start, end int64
	limit      int64 // of the origin
	version    uint64
}

// nextFilling finds which of count chunks show through from the origin. When none from first on does, the others are
// taken to be filled, and the file's dependence ends.
func (tx *Tx) nextFilling(in *Inode, first, count int64, f *filling) error {
	if f.done = in.Origin == nil || in.Origin.Limit == 0; f.done {
		return nil
	}
	if f.limit = in.Origin.Limit; first*tx.chunkSize >= f.limit {
		own := *in.Origin
		own.Limit = 0
		tx.SetOrigin(in, &own)
		f.done = true
		return nil
	}
	for index := first; index < first+count && index*tx.chunkSize < f.limit; index++ {
		through, err := tx.isFromOrigin(in, index)
		if err != nil {
			return err
		}
		if through {
			f.chunks = append(f.chunks, index)
		}
	}
	if n := len(f.chunks); n > 0 {
		f.start = f.chunks[0] * tx.chunkSize
		f.end = min((f.chunks[n-1]+1)*tx.chunkSize, in.Attr.Size)
		f.version = in.version
	}
	return nil
}

// fill stores what was read of the origin, unless the file was cut meanwhile.
func (tx *Tx) fill(in *Inode, f *filling, data []byte, holes bool) (filled bool, err error) {
	if in.version != f.version {
		return false, nil
	}
	for _, index := range f.chunks {
		at := index*tx.chunkSize - f.start
		part := data[at:min(at+tx.chunkSize, int64(len(data)))]
		// Someone may have written the chunk meanwhile.
		if still, err := tx.isFromOrigin(in, index); err != nil {
			return false, err
		} else if !still {
			continue
		} else if holes && isZero(part) {
			in.whole = false
			continue
		}
		c := tx.pool.get(len(part))
		copy(c.data, part)
		tx.install(in, index, c)
	}
	return true, nil
}

// isFromOrigin tells whether a chunk comes from the origin.
func (tx *Tx) isFromOrigin(in *Inode, index int64) (bool, error) {
	if in.chunks[index] != nil {
		return false, nil
	}
	src, err := tx.source(in, index)
	return src == fromBase, err
}

func isZero(p []byte) bool { return len(bytes.TrimLeft(p, "\x00")) == 0 }
