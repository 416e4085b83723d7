package sqlvfs

// pool keeps the buffers of full-size chunks, which come and go at the speed of writes: without
// it the garbage collector would do little else.
type pool struct {
	size int // of a chunk, in bytes
	free [][]byte
}

// maxPooled bounds what an idle store keeps, in bytes.
const maxPooled = 16 << 20

// get returns a chunk of the given length with undefined content.
func (p *pool) get(size int) *chunk {
	if size*2 <= p.size {
		return &chunk{data: make([]byte, size, roundUp(size))}
	}
	if n := len(p.free); n > 0 {
		buf := p.free[n-1]
		p.free = p.free[:n-1]
		return &chunk{data: buf[:size]}
	}
	return &chunk{data: make([]byte, size, p.size)}
}

// put takes back a chunk that nobody refers to any more.
func (p *pool) put(c *chunk) {
	if len(p.free)*p.size < maxPooled && cap(c.data) == p.size {
		p.free = append(p.free, c.data[:0])
	}
	c.data = nil
}

// roundUp leaves a little room for the next append without wasting much on files that stay small.
func roundUp(size int) int { return (size + 511) &^ 511 }
