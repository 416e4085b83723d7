package sqlvfs

import "container/list"

// clean are the live inodes of which more is in memory than their own row, and nothing that is not
// committed: entries of directories, extended attributes, targets, short content. All of that can be read again. The
// ones used last stay, up to a bound (tuning.clean): otherwise a guest that makes a hundred thousand
// long links would have all of their targets kept for as long as the kernel knows the links.
type clean struct {
	used  list.List // of *Inode, the one used last first
	bytes int
}

// kept is an inode's place among the clean ones.
type kept struct {
	at    *list.Element // nil: it is not among them
	bytes int
}

const (
	// keptAnyway is how many stay, however large: a directory of a million entries is not read again for
	// each of them.
	keptAnyway = 4

	entryBytes    = 128 // about what an entry takes, with a name of usual length
	whiteoutBytes = 64
	chunkBytes    = 16
	contentBytes  = 256 // beside itself
	shortContent  = 16 << 10
)

// size is about how many bytes could be given back.
func (in *Inode) size() int {
	n := len(in.children)*entryBytes + len(in.whiteout)*whiteoutBytes + len(in.own)*chunkBytes + len(in.target)
	if in.content != nil {
		n += contentBytes + cap(in.content)
	}
	for name, value := range in.xattrs {
		n += entryBytes + len(name) + len(value)
	}
	return n
}

// keepContent keeps a chunk that was just committed, if it is all of a short file that somebody has, and tells whether it does.
// To read it from the database takes five times as long, and who makes a file often has it read next: by a compiler, or by git.
func (in *Inode) keepContent(c *chunk) bool {
	if c.patch != nil || len(c.data) == 0 || cap(c.data) > shortContent || int64(len(c.data)) != in.Attr.Size ||
		in.refs == 0 || in.Origin != nil && in.Origin.Limit > 0 {
		return false
	}
	in.hold().content = c.data
	return true
}

// keep counts what was loaded of an inode, or has just been committed, as clean, and drops what was
// used longest ago if that is too much.
func (tx *Tx) keep(in *Inode) {
	c := &tx.clean
	c.remove(in)
	if tx.uncommitted(in) {
		return // it is kept when it is committed
	}
	bytes := in.size()
	if bytes == 0 {
		return
	}
	in.hold().kept = kept{c.used.PushFront(in), bytes}
	c.bytes += bytes
	for c.bytes > tx.tuning.clean && c.used.Len() > keptAnyway {
		old := c.used.Back().Value.(*Inode)
		if tx.uncommitted(old) {
			c.remove(old) // same
			continue
		}
		tx.drop(old)
	}
}

// drop gives back what can be read again of an inode.
func (tx *Tx) drop(in *Inode) {
	tx.clean.remove(in)
	in.loaded = &nothing
}

// use notes that a clean inode is in use.
func (c *clean) use(in *Inode) {
	if in.kept.at != nil {
		c.used.MoveToFront(in.kept.at)
	}
}

func (c *clean) remove(in *Inode) {
	if in.kept.at != nil {
		c.used.Remove(in.kept.at)
		c.bytes -= in.kept.bytes
		in.kept = kept{}
	}
}
