package fs

// The kernel opens files without our hearing of it, and what it reads of one may be of another size than it takes the file to
// have, since the host has just changed the file, or put another one in its place:
//   - Of a file that has become longer it reads up to the size that it knows. Behind that it asks for the size again, if it was
//     told to forget the attributes (fuse_cache_read_iter in fs/fuse/file.c).
//   - Where content ends too early it takes that for the file's end, unless it has learnt or forgotten attributes since it asked
//     for the content (fuse_read_update_size). Then it shows zeros up to the size that it knows. So the first attempt to read such a
//     file is refused. The kernel tells nobody of that if it was reading in advance, but asks again, as it needs the content
//     (filemap_update_page in mm/filemap.c).

// resizing is what the kernel may not have understood yet of a file's size.
type resizing uint8

const (
	unchanged resizing = iota // since the kernel was told
	grown                     // it is larger than before
	shrunk                    // it is smaller than before
	retrying                  // it is, and a read was refused for it
)

// resize notes the size that the kernel is about to be told of a file.
func (b *base) resize(size int64) {
	b.noteAttrs()
	switch was := b.size - 1; {
	case b.size == 0 || size == was:
	case size < was:
		b.resized = shrunk
	case b.resized == unchanged:
		b.resized = grown
	}
	b.size = size + 1
}

// noteAttrs notes that the kernel is about to learn or to forget attributes.
func (b *base) noteAttrs() {
	if b.resized == retrying {
		b.resized = shrunk
	}
}

// mayRead tells whether the kernel may have an untouched node's content, which is from then on what it has. Who cannot wait
// will try again with wait.
func (t *tx) mayRead(n *node, f *HostFile, wait bool) bool {
	if n.base.size != f.Size+1 {
		n.base.resize(f.Size)
	}
	switch n.base.resized {
	case shrunk:
		if wait {
			n.base.resized = retrying
			t.cache.InvalidateAttr(n.ino)
		}
		return false
	case grown:
		t.cache.InvalidateAttr(n.ino)
	}
	n.base.resized, n.base.content = unchanged, f.Fingerprint
	return true
}

// ends are where the kernel may take the end of a file to be, and 1; 0: it was told nothing. It counts what it writes itself, and of two
// answers that say otherwise it may heed the first, as it does where it has written since it asked (fuse_change_attributes in
// fs/fuse/inode.c).
type ends struct{ last, before int64 }

// tell notes what the kernel is about to be told.
func (e *ends) tell(size int64) {
	if e.last == size+1 {
		return
	}
	if e.before == 0 {
		e.before = e.last
	}
	e.last = size + 1
}

// reach notes that the kernel has written up to an offset.
func (e *ends) reach(end int64) {
	if end >= max(e.last, e.before)-1 {
		*e = ends{last: end + 1}
	}
}

// appends tells whether a write of a file opened with O_APPEND, at an offset, goes to the end, which is at size. If it cannot be known it
// does, so that nothing is overwritten.
func (e *ends) appends(off, size int64) bool {
	switch {
	case e.last == 0, off+1 == e.last, off+1 == e.before:
		return true
	case off+1 < e.last:
		return false
	}
	return off <= size
}
