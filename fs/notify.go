package fs

import (
	"github.com/jacobsa/fuse/fuseops"

	"github.com/riverlytech/art/fs/wire"
)

// kernelCache is the Cache of the kernel at the other end of a connection.
type kernelCache struct{ conn *wire.Conn }

var _ Cache = kernelCache{}

// InvalidateEntry implements Cache.
func (c kernelCache) InvalidateEntry(parent Ino, name string) error {
	return c.conn.InvalidateEntry(fuseops.InodeID(parent), name)
}

// ExpireEntry implements Cache.
func (c kernelCache) ExpireEntry(parent Ino, name string) error {
	return c.conn.ExpireEntry(fuseops.InodeID(parent), name)
}

// InvalidateInode implements Cache.
func (c kernelCache) InvalidateInode(ino Ino) error {
	return c.conn.InvalidateInode(fuseops.InodeID(ino), 0)
}

// InvalidateAttr implements Cache.
func (c kernelCache) InvalidateAttr(ino Ino) error {
	return c.conn.InvalidateInode(fuseops.InodeID(ino), -1)
}

// Prune implements Cache.
func (c kernelCache) Prune(inos []Ino) error {
	ids := make([]fuseops.InodeID, len(inos))
	for i, ino := range inos {
		ids[i] = fuseops.InodeID(ino)
	}
	return c.conn.Prune(ids)
}
