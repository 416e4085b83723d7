package sqlvfs

// chunk is the content of one row of fs_data that is not committed yet.
type chunk struct {
	data   []byte // empty: a hole, which has no row
	*patch        // if not nil, instead of data: what has changed of a row
	frozen bool   // being written: to change it, copy it
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
