package sqlvfs

import (
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// Zero makes a stretch of a file read as zeros and gives back the space of whole chunks. off and length are in bytes.
// What lies behind the end of the file makes the file longer, or nothing with keepSize. Times and errors are as for
// [Tx.WriteAt]. It may end early, so that no step takes too much memory: another one is to go on at next until that is
// off+length. The caller must refer to the inode.
func (tx *Tx) Zero(in *Inode, off, length int64, keepSize bool, now Timespec) (next int64, err error) {
	next = off + length
	if !keepSize && in.Attr.Size < next {
		if err := tx.Truncate(in, next, now); err != nil {
			return off, err
		}
	}
	end := min(next, in.Attr.Size)
	if off >= end {
		return next, nil
	}
	if err := tx.complete(in, off, end, false); err != nil {
		return off, err
	}
	// Chunks from whole on, before part, have nothing else in them.
	whole, part := (off+tx.chunkSize-1)/tx.chunkSize, end/tx.chunkSize
	if end == in.Attr.Size {
		part = (end + tx.chunkSize - 1) / tx.chunkSize
	}
	for _, index := range slices.Compact([]int64{off / tx.chunkSize, (end - 1) / tx.chunkSize}) {
		if (index < whole || index >= part) && in.chunks[index] != nil {
			c := tx.writable(in, index, 0)
			start := index * tx.chunkSize
			clear(c.data[min(max(off-start, 0), int64(len(c.data))):min(end-start, int64(len(c.data)))])
		}
	}
	done, err := tx.punch(in, whole, part)
	if err != nil {
		return off, err
	}
	if done < part {
		next = done * tx.chunkSize
	}
	in.Attr.Mtime = now
	in.Change(now)
	tx.detachOrigin(in)
	tx.touch(in, dirtyRow)
	tx.noteWritten(in, now)
	return next, nil
}

// punch makes holes of the chunks [from, to). It returns to, or where to go on when what is not committed has become
// too much.
func (tx *Tx) punch(in *Inode, from, to int64) (next int64, err error) {
	if o := in.Origin; o != nil && o.Limit > from*tx.chunkSize && o.Limit <= to*tx.chunkSize {
		cut := *o
		cut.Limit = from * tx.chunkSize
		tx.SetOrigin(in, &cut)
	}
	stored, err := tx.storedChunks(in, from, to)
	if err != nil {
		return from, err
	}
	if from < to {
		in.whole = false
	}
	for index := range in.chunks {
		if index >= from && index < to {
			stored = append(stored, index)
		}
	}
	for _, index := range stored {
		if c := in.chunks[index]; c != nil {
			tx.discard(c)
		}
		tx.install(in, index, &chunk{})
	}
	// Where the origin would show through a hole, zeros must stand.
	for index := from; index < to && in.Origin != nil && index*tx.chunkSize < in.Origin.Limit; index++ {
		tx.install(in, index, tx.zeros(in, index))
		if tx.full() {
			return index + 1, nil
		}
	}
	return to, nil
}

// zeros returns a full chunk of them.
func (tx *Tx) zeros(in *Inode, index int64) *chunk {
	c := tx.pool.get(int(min(tx.chunkSize, in.Attr.Size-index*tx.chunkSize)))
	clear(c.data)
	return c
}

// storedChunks lists which of the chunks [from, to) have a row.
func (tx *Tx) storedChunks(in *Inode, from, to int64) ([]int64, error) {
	if in.tables&dataRows == 0 {
		return nil, nil
	}
	var list []int64
	err := tx.each("SELECT chunk_index FROM fs_data WHERE ino=? AND chunk_index>=? AND chunk_index<?",
		func(q *sqlite3.Stmt) { list = append(list, q.ColumnInt64(0)) }, in.Ino, from, min(to, tx.voidFrom(in)))
	return list, err
}
