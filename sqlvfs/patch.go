package sqlvfs

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// A program that changes a few bytes here and there in a large file, as a database does, would have
// a whole chunk read and written for each. So a chunk that is stored can be patched: then only those
// parts of it are in memory that have changed.

// partSize is the unit of patches, in bytes: a page, in which programs and the kernel write.
const partSize = 4096

// patch is the content of a stored chunk as far as it is in memory.
type patch struct {
	length int              // of the chunk, in bytes; it does not change
	parts  map[int64][]byte // by their places in the chunk
	dirty  map[int64]bool   // parts that are this patch's own, and not committed
}

// size is how much content a chunk adds to a transaction, in bytes.
func (c *chunk) size() int {
	if c.patch == nil {
		return len(c.data)
	}
	n := 0
	for i := range c.dirty {
		n += len(c.parts[i])
	}
	return n
}

// patchable tells whether a change of bytes [from, to) of the file, within a chunk, can be made in a
// patch. Not if it makes the chunk longer, or replaces all of it.
func (tx *Tx) patchable(in *Inode, index, from, to int64) (bool, error) {
	start := index * tx.chunkSize
	stop := min(start+tx.chunkSize, in.Attr.Size)
	if tx.chunkSize <= partSize || to > stop || from <= start && to >= stop {
		return false, nil
	}
	if c := in.chunks[index]; c != nil {
		return c.patch != nil, nil
	}
	src, err := tx.source(in, index)
	return src == fromDatabase, err
}

// missingPart finds a part that a change of bytes [from, to) leaves partly as it was, and that is not
// in memory: its place, or -1.
func (tx *Tx) missingPart(in *Inode, index, from, to int64) int64 {
	start := index * tx.chunkSize
	stop := min(start+tx.chunkSize, in.Attr.Size)
	for _, at := range [2]int64{from, to - 1} {
		i := (at - start) / partSize
		first, end := start+i*partSize, min(start+(i+1)*partSize, stop)
		if first >= from && end <= to {
			continue
		}
		if c := in.chunks[index]; c == nil || c.parts[i] == nil {
			return i
		}
	}
	return -1
}

// patchChunk changes part of a stored chunk. Parts that are not replaced as a whole must be in memory.
func (tx *Tx) patchChunk(in *Inode, index, skip int64, p []byte) {
	c := tx.ownPatch(in, index)
	for len(p) > 0 {
		i, at := skip/partSize, skip%partSize
		part := c.parts[i]
		if !c.dirty[i] {
			own := make([]byte, min(partSize, c.length-int(i*partSize)))
			copy(own, part)
			part = own
			tx.addPart(in, c, i, part)
		}
		n := copy(part[at:], p)
		p, skip = p[n:], skip+int64(n)
	}
	tx.touch(in, 0)
}

// ownPatch returns the chunk's patch in a state to which parts may be added.
func (tx *Tx) ownPatch(in *Inode, index int64) *chunk {
	c := in.chunks[index]
	if c != nil && c.batch == tx.gather.seq {
		return c
	}
	n := &chunk{patch: &patch{parts: map[int64][]byte{}, dirty: map[int64]bool{}}}
	if c == nil {
		n.length = int(min(tx.chunkSize, in.Attr.Size-index*tx.chunkSize))
	} else {
		// What is on its way to the disk is not there yet, so it is still needed for reading.
		n.length = c.length
		for i, part := range c.parts {
			n.parts[i] = part
		}
	}
	tx.install(in, index, n)
	return n
}

func (tx *Tx) addPart(in *Inode, c *chunk, i int64, part []byte) {
	c.parts[i], c.dirty[i] = part, true
	tx.gather.bytes += len(part)
	tx.gather.patched += len(part)
	in.renew() // what is read of the chunk's row meanwhile is old
}

// applyTo puts a patch over what is stored of the chunk. dst begins skip bytes behind the chunk's
// beginning.
func (p *patch) applyTo(dst []byte, skip int64) {
	for i, part := range p.parts {
		at := i*partSize - skip
		if at < 0 {
			if -at >= int64(len(part)) {
				continue
			}
			part, at = part[-at:], 0
		}
		if at < int64(len(dst)) {
			copy(dst[at:], part)
		}
	}
}

// copyOf returns a copy of the parts in [skip, skip+n) that stays as it is.
func (p *patch) copyOf(skip, n int64) *patch {
	q := &patch{length: p.length, parts: map[int64][]byte{}}
	for i, part := range p.parts {
		if i*partSize < skip+n && i*partSize+int64(len(part)) > skip {
			q.parts[i] = slices.Clone(part)
		}
	}
	return q
}

// putPatch writes the changed parts of a chunk into its row. A row that is not as long as the chunk,
// as other tools may have left it, is written anew, and so is what is below a fork.
func (w *writer) putPatch(k chunkKey, c *chunk) error {
	q := w.Prep("SELECT rowid, iif(typeof(data)='blob', length(data), 0) FROM main.fs_data WHERE ino=? AND chunk_index=?")
	q.BindInt64(1, int64(k.in.Ino))
	q.BindInt64(2, k.index)
	var row, length int64
	if w.Step(q) {
		row, length = q.ColumnInt64(0), q.ColumnInt64(1)
	}
	if err := w.Done(q); err != nil {
		return err
	}
	if length != int64(c.length) {
		data := make([]byte, c.length)
		if err := w.readChunk(k, data); err != nil {
			return err
		}
		c.applyTo(data, 0)
		return w.putChunk(k, data)
	}
	var err error
	if w.blob == nil {
		w.blob, err = w.OpenBlob("main", "fs_data", "data", row, true)
	} else {
		err = w.blob.Reopen(row)
	}
	for i := range c.dirty {
		if err == nil {
			_, err = w.blob.Seek(i*partSize, io.SeekStart)
		}
		if err == nil {
			_, err = w.blob.Write(c.parts[i])
		}
	}
	if err != nil {
		return fmt.Errorf("patch chunk %d of inode %d: %w", k.index, k.in.Ino, err)
	}
	return nil
}

// readChunk reads the beginning of a stored chunk. The rest of dst stays as it is.
func (w *writer) readChunk(k chunkKey, dst []byte) error {
	q := w.Prep(qChunks)
	q.BindInt64(1, int64(k.in.Ino))
	q.BindInt64(2, k.index)
	q.BindInt64(3, k.index)
	if w.Step(q) {
		copy(dst, q.ColumnRawBlob(1))
	}
	return w.Done(q)
}

func (w *writer) putChunk(k chunkKey, data []byte) error {
	q := w.Prep("INSERT OR REPLACE INTO main.fs_data (ino, chunk_index, data) VALUES (?,?,?)")
	q.BindInt64(1, int64(k.in.Ino))
	q.BindInt64(2, k.index)
	q.BindBlob(3, data)
	return w.Run(q)
}

// closeBlob ends the patching of rows, which a transaction must not outlive. err is what came of that so
// far.
func (w *writer) closeBlob(err error) error {
	if w.blob == nil {
		return err
	}
	cerr := w.blob.Close()
	w.blob = nil
	return cmp.Or(err, cerr)
}
