package wire

import (
	"encoding/binary"
	"syscall"

	"github.com/jacobsa/fuse/fuseops"
	"golang.org/x/sys/unix"
)

// Notifications are messages that answer no request. The kernel may hold up who writes one until an operation under
// way is answered, so that no thread that serves may call these. Errors are syscall.Errno: ENOENT for what the kernel does
// not have, EINVAL for what it cannot do, ENOTCONN once the connection is closed.

// enum fuse_notify_code in linux/fuse.h.
const (
	notifyInvalInode = 2
	notifyInvalEntry = 3
	notifyPrune      = 9 // Linux 6.18
)

const expireOnly = 1 << 0 // FUSE_EXPIRE_ONLY

// InvalidateEntry has the kernel forget what a name means, and all below it, also what is mounted there. It waits for
// who reads or changes the directory.
func (c *Conn) InvalidateEntry(parent fuseops.InodeID, name string) error {
	return c.invalidateEntry(parent, name, 0)
}

// ExpireEntry has the kernel ask again what a name means before it uses that, and forget nothing. It waits for who reads or
// changes the directory. ENOSYS before Linux 6.2.
func (c *Conn) ExpireEntry(parent fuseops.InodeID, name string) error {
	if c.flags&HasExpireOnly == 0 {
		return syscall.ENOSYS
	}
	return c.invalidateEntry(parent, name, expireOnly)
}

func (c *Conn) invalidateEntry(parent fuseops.InodeID, name string, flags uint32) error {
	// struct fuse_notify_inval_entry_out: parent, length of the name, flags.
	body := binary.NativeEndian.AppendUint64(nil, uint64(parent))
	body = binary.NativeEndian.AppendUint32(body, uint32(len(name)))
	body = binary.NativeEndian.AppendUint32(body, flags)
	return c.notify(notifyInvalEntry, append(append(body, name...), 0))
}

// InvalidateInode has the kernel forget an inode's attributes, and its content from an offset on; below 0, none of that
// (fuse_reverse_inval_inode in fs/fuse/inode.c).
func (c *Conn) InvalidateInode(ino fuseops.InodeID, from int64) error {
	// struct fuse_notify_inval_inode_out: inode, offset, length; 0 is all there is.
	body := binary.NativeEndian.AppendUint64(nil, uint64(ino))
	body = binary.NativeEndian.AppendUint64(body, uint64(from))
	return c.notify(notifyInvalInode, binary.NativeEndian.AppendUint64(body, 0))
}

// Prune has the kernel let go of those inodes that nobody uses (fuse_notify_prune in fs/fuse/dev.c). Of each that it
// lets go of comes a forget.
func (c *Conn) Prune(inodes []fuseops.InodeID) error {
	// struct fuse_notify_prune_out: count, padding, spare.
	body := binary.NativeEndian.AppendUint32(make([]byte, 0, 16+8*len(inodes)), uint32(len(inodes)))
	body = append(body, make([]byte, 12)...)
	for _, ino := range inodes {
		body = binary.NativeEndian.AppendUint64(body, uint64(ino))
	}
	return c.notify(notifyPrune, body)
}

// notify writes a message whose number is 0. The code is where an answer has the error (fuse_dev_do_write in
// fs/fuse/dev.c).
func (c *Conn) notify(code uint32, body []byte) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return syscall.ENOTCONN
	}
	msg := make([]byte, outHeaderSize, outHeaderSize+len(body))
	binary.NativeEndian.PutUint32(msg, uint32(outHeaderSize+len(body)))
	binary.NativeEndian.PutUint32(msg[4:], code)
	_, err := retry(func() (int, error) { return unix.Write(c.dev, append(msg, body...)) })
	return err
}
