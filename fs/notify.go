package fs

import (
	"time"

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

// evicting is how long an inode is waited for that the kernel is about to let go of.
const evicting = 10 * time.Millisecond

// InvalidateAttr implements Cache. The kernel does wait for an inode that it is letting go of (find_inode in fs/inode.c), which
// in turn waits for reads of its content in advance, that we may be about to answer. Its attributes go in any case.
func (c kernelCache) InvalidateAttr(ino Ino) error {
	return within(evicting, func() error { return c.conn.InvalidateInode(fuseops.InodeID(ino), -1) })
}

// within does what may wait for the answer of who calls, and waits for that no longer than for a moment. Afterwards it goes on
// beside.
func within(moment time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return nil
	}
}

// Prune implements Cache.
func (c kernelCache) Prune(inos []Ino) error {
	ids := make([]fuseops.InodeID, len(inos))
	for i, ino := range inos {
		ids[i] = fuseops.InodeID(ino)
	}
	return c.conn.Prune(ids)
}
