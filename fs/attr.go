package fs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// Setattr implements FileSystem. A change of anything but the size copies no content up.
func (o *Overlay) Setattr(c Caller, ino Ino, set SetAttr) (Entry, error) {
	o.store.Lock()
	defer o.store.Unlock()
	if err := o.store.Ready(); err != nil {
		return Entry{}, err
	}
	n, err := o.get(ino)
	if err != nil {
		return Entry{}, err
	}
	n.holds++
	defer func() { n.holds--; o.drop(n) }()
	if n.gone && n.attr.IsDir() {
		// Someone still stands in it, but nobody can find it again: there is nothing to write down.
		return o.entry(n), nil
	}
	if err := o.copyUp(n); err != nil {
		return Entry{}, err
	}
	now := sqlvfs.Now()
	if set.Size != nil {
		if !n.in.Attr.IsRegular() {
			return Entry{}, syscall.EINVAL
		}
		if err := o.killPrivileges(n.in, o.privileged(c)); err != nil {
			return Entry{}, err
		}
		if err := o.follow(n); err != nil {
			return Entry{}, err
		}
		if err := o.truncate(n, *set.Size, now); err != nil {
			return Entry{}, err
		}
		o.keeper.note(n)
	}
	a := &n.in.Attr
	// The kernel changes nothing at all for chown(f, -1, -1), which changes this much, and sends the
	// same before a write that the caller may do. The right to it we must see to (fuse_setattr in
	// fs/fuse/dir.c strips what the kernel would have asked for).
	chown := set.UID != nil || set.GID != nil || set == SetAttr{} && (o.hostUID(c.UID) == a.UID || o.privileged(c))
	if chown && !a.IsDir() {
		// Also when root does it (chown(2)).
		if err := o.killPrivileges(n.in, false); err != nil {
			return Entry{}, err
		}
	}
	if set.Mode != nil {
		a.Mode = a.Mode&syscall.S_IFMT | *set.Mode&0o7777
	}
	if set.UID != nil {
		a.UID = o.hostUID(*set.UID)
	}
	if set.GID != nil {
		a.GID = o.hostGID(*set.GID)
	}
	if set.Atime != nil {
		a.Atime = *set.Atime
	}
	if set.Mtime != nil {
		a.Mtime = *set.Mtime
	}
	a.Ctime = now
	o.store.Dirty(n.in)
	return o.entry(n), nil
}

// accessed moves a node's access time after its content was read: as mount(8)'s relatime does, only
// if that tells something new. What the kernel reads from its own cache it does not tell us.
// Lock held.
func (o *Overlay) accessed(n *node) {
	if n.in == nil || o.store.ReadOnly() {
		return
	}
	const day = 24 * 60 * 60 // seconds
	a, now := &n.in.Attr, sqlvfs.Now()
	if a.Atime.After(a.Mtime) && a.Atime.After(a.Ctime) && now.Sec-a.Atime.Sec < day {
		return
	}
	a.Atime = now
	o.store.Dirty(n.in)
}

// truncate sets a file's size. Lock held; it is let go of.
func (o *Overlay) truncate(n *node, size int64, now sqlvfs.Timespec) error {
	o.store.Unlock()
	defer o.store.Lock()
	return o.withBase(n, func() error { return o.store.Truncate(n.in, size, originReader{o, n}, now) })
}
