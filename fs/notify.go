package fs

import (
	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"
)

// kernelCache is the Cache of the kernel at the other end of a connection.
type kernelCache struct{ notifier *fuse.Notifier }

var _ Cache = kernelCache{}

// InvalidateEntry implements Cache.
func (c kernelCache) InvalidateEntry(parent Ino, name string) error {
	return c.notifier.InvalidateEntry(fuseops.InodeID(parent), name)
}

// InvalidateInode implements Cache. A range that begins at 0 and has no length is all of the content;
// one that begins below 0 would leave the content alone (fuse_reverse_inval_inode in fs/fuse/inode.c).
func (c kernelCache) InvalidateInode(ino Ino) error {
	return c.notifier.InvalidateInode(fuseops.InodeID(ino), 0, 0)
}

// withNotifier makes a fuse.Server of a function that serves a connection and may use a Notifier
// meanwhile.
type withNotifier func(*fuse.Connection)

// ServeOps implements fuse.Server.
func (serve withNotifier) ServeOps(c *fuse.Connection) { serve(c) }
