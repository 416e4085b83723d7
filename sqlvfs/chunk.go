package sqlvfs

import "math"

// chunk is the content of one row of fs_data that is not committed yet.
type chunk struct {
	data   []byte // empty: a hole, which has no row
	*patch        // if not nil, instead of data: what has changed of a row
	batch  uint64 // that it is a change of; to change it in another, copy it
}

// discard gives up a chunk that is to be replaced.
func (tx *Tx) discard(c *chunk) {
	if c.batch == tx.gather.seq {
		tx.gather.bytes -= c.size()
		if c.patch != nil {
			tx.gather.patched -= c.size()
		}
		tx.pool.put(c)
	}
}

// writable returns the chunk in a state that may be changed, at least size bytes long, filled with
// zeros where it was shorter.
func (tx *Tx) writable(in *Inode, index int64, size int) *chunk {
	return tx.replaceable(in, index, size, size)
}

// replaceable is writable for who replaces all from an offset in the chunk up to size: if the chunk is new, no zeros are
// put there first.
func (tx *Tx) replaceable(in *Inode, index int64, from, size int) *chunk {
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
		clear(c.data[:from])
		tx.install(in, index, c)
		return c
	case c.batch != tx.gather.seq:
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
	in.renew()
	c.batch = tx.gather.seq
	tx.gather.chunks[chunkKey{in, index}] = c
	tx.gather.bytes += c.size()
	tx.touch(in, 0)
}

// dropChunks removes all content from a chunk on.
func (tx *Tx) dropChunks(in *Inode, from int64) {
	for index, c := range in.chunks {
		if index < from {
			continue
		}
		delete(in.chunks, index)
		if c.batch == tx.gather.seq {
			delete(tx.gather.chunks, chunkKey{in, index})
			tx.discard(c)
		}
	}
	for index := range in.own {
		if index >= from {
			delete(in.own, index)
		}
	}
	in.renew()
	if in.tables&dataRows == 0 || in.dead {
		return
	}
	if have, ok := tx.gather.cuts[in]; !ok || from < have {
		tx.gather.cuts[in] = from
		tx.touch(in, 0)
	}
}

// voidFrom is where the stored chunks begin that are no longer the file's: a truncation that is not committed has cut
// them off.
func (tx *Tx) voidFrom(in *Inode) int64 {
	from := int64(math.MaxInt64)
	if cut, ok := tx.gather.cuts[in]; ok {
		from = cut
	}
	if tx.inflight != nil {
		if cut, ok := tx.inflight.cuts[in]; ok {
			from = min(from, cut)
		}
	}
	return from
}

// detachOrigin ends a file's dependence on its origin's content when it holds all of it itself,
// which a small file does after its first write.
func (tx *Tx) detachOrigin(in *Inode) {
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
