package fs

import (
	"encoding/binary"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelCache is the Cache of the kernel at the other end of a connection: the descriptor of that. Each
// notification is one write, which returns when the kernel has done what it says.
type kernelCache int

var _ Cache = kernelCache(0)

// InvalidateEntry implements Cache.
func (c kernelCache) InvalidateEntry(parent Ino, name string) error {
	// struct fuse_notify_inval_entry_out in linux/fuse.h: parent, length of the name, flags.
	body := binary.NativeEndian.AppendUint64(nil, uint64(parent))
	body = binary.NativeEndian.AppendUint32(body, uint32(len(name)))
	body = binary.NativeEndian.AppendUint32(body, 0)
	return c.notify(notifyInvalEntry, append(append(body, name...), 0))
}

// InvalidateInode implements Cache.
func (c kernelCache) InvalidateInode(ino Ino) error { return c.invalidate(ino, 0) }

// InvalidateAttr implements Cache.
func (c kernelCache) InvalidateAttr(ino Ino) error { return c.invalidate(ino, -1) }

// invalidate has the kernel forget an inode's attributes, and its content from an offset on; below 0,
// none of that (fuse_reverse_inval_inode in fs/fuse/inode.c).
func (c kernelCache) invalidate(ino Ino, from int64) error {
	// struct fuse_notify_inval_inode_out: inode, offset, length; 0 is all there is.
	body := binary.NativeEndian.AppendUint64(nil, uint64(ino))
	body = binary.NativeEndian.AppendUint64(body, uint64(from))
	return c.notify(notifyInvalInode, binary.NativeEndian.AppendUint64(body, 0))
}

// enum fuse_notify_code in linux/fuse.h.
const (
	notifyInvalInode = 2
	notifyInvalEntry = 3
)

// notify writes a message that answers no request: its number is 0, and the kind of message is where
// an answer has the error (fuse_dev_do_write in fs/fuse/dev.c).
func (c kernelCache) notify(code uint32, body []byte) error {
	const header = 16 // struct fuse_out_header
	msg := binary.NativeEndian.AppendUint32(make([]byte, 0, header+len(body)), uint32(header+len(body)))
	msg = binary.NativeEndian.AppendUint32(msg, code)
	msg = binary.NativeEndian.AppendUint64(msg, 0)
	for {
		if _, err := unix.Write(int(c), append(msg, body...)); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
