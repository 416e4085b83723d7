package sqlvfs

import (
	"io"
	"syscall"
)

// WriteAt writes content at an offset, in bytes, and lets the file grow. It keeps nothing of p. now becomes the file's
// modification time, and its change time moves forward to it. The errors are syscall.EFBIG beyond [Store.MaxSize], and [*Missing], with
// which the file is as it was. The caller must refer to the inode.
func (tx *Tx) WriteAt(in *Inode, p []byte, off int64, now Timespec) error {
	if off < 0 || off > tx.MaxSize()-int64(len(p)) {
		return syscall.EFBIG
	}
	end := off + int64(len(p))
	if err := tx.complete(in, off, end, true); err != nil {
		return err
	}
	if chunks := (in.Attr.Size + tx.chunkSize - 1) / tx.chunkSize; off/tx.chunkSize > chunks {
		in.whole = false
	}
	// The chunk that was the last and now is not must be full.
	if last := in.Attr.Size / tx.chunkSize; in.chunks[last] != nil && off/tx.chunkSize > last {
		tx.writable(in, last, int(tx.chunkSize))
	}
	for done := int64(0); done < int64(len(p)); {
		index, skip := (off+done)/tx.chunkSize, (off+done)%tx.chunkSize
		n := min(tx.chunkSize-skip, int64(len(p))-done)
		if ok, err := tx.patchable(in, index, off+done, off+done+n); err != nil {
			return err
		} else if ok {
			tx.patchChunk(in, index, skip, p[done:done+n])
		} else {
			if c := in.chunks[index]; c != nil && c.patch != nil {
				tx.discard(c) // all of it is replaced
				delete(in.chunks, index)
			}
			c := tx.replaceable(in, index, int(skip), int(skip+n))
			copy(c.data[skip:], p[done:done+n])
		}
		done += n
	}
	if end > in.Attr.Size {
		in.Attr.Size = end
		in.renew()
	}
	in.Attr.Mtime = now
	in.Change(now)
	tx.detachOrigin(in)
	tx.touch(in, dirtyRow)
	tx.noteWritten(in, now)
	return nil
}

// Truncate sets a file's size, in bytes. Times and errors are as for [Tx.WriteAt]. The caller must refer to the inode.
func (tx *Tx) Truncate(in *Inode, size int64, now Timespec) error {
	if size < 0 || size > tx.MaxSize() {
		return syscall.EFBIG
	}
	keep := min(size, in.Attr.Size)
	// A chunk is always exactly as long as the file's size makes it: the one at the old or the new
	// end is needed in memory if it is going to be cut or filled up.
	if size != in.Attr.Size && keep%tx.chunkSize != 0 {
		if err := tx.complete(in, keep, keep, false); err != nil {
			return err
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
	switch had := in.Attr.Size; {
	case size == 0:
		in.whole = true
	case had == 0 || (size-1)/tx.chunkSize > (had-1)/tx.chunkSize:
		in.whole = false
	}
	in.Attr.Size = size
	in.renew()
	in.Attr.Mtime = now
	in.Change(now)
	tx.touch(in, dirtyRow)
	tx.noteWritten(in, now)
	return nil
}

// WriteAt is [Tx.WriteAt] as a step of its own. base is as for [Store.ReadAt]. The change time is now also where it was that: what a
// push stores in several steps is one change.
func (s *Store) WriteAt(in *Inode, p []byte, off int64, base io.ReaderAt, now Timespec) error {
	return s.changeAt(in, base, now, func(tx *Tx) error { return tx.WriteAt(in, p, off, now) })
}

// Truncate is [Tx.Truncate] as a step of its own, as [Store.WriteAt].
func (s *Store) Truncate(in *Inode, size int64, base io.ReaderAt, now Timespec) error {
	return s.changeAt(in, base, now, func(tx *Tx) error { return tx.Truncate(in, size, now) })
}

func (s *Store) changeAt(in *Inode, base io.ReaderAt, now Timespec, step func(tx *Tx) error) error {
	return s.change(base, func(tx *Tx) error {
		err := step(tx)
		if err == nil {
			in.Attr.Ctime = now
		}
		return err
	})
}
