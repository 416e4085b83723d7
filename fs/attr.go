package fs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// Setattr implements FileSystem. A change of anything but the size copies no content up.
func (o *Overlay) Setattr(c Caller, ino Ino, set SetAttr) (e Entry, err error) {
	err = o.update(c.By, func(t *tx) error {
		if set.Size != nil {
			n, err := t.writable(c, ino)
			if err == nil {
				err = t.wrote(n, t.db.Truncate(n.in, *set.Size, sqlvfs.Now()))
			}
			if err != nil {
				return err
			}
			n.ends = ends{} // whatever it was
		}
		n, err := t.get(ino)
		if err != nil {
			return err
		}
		if n.in == nil && n.base.gone && n.base.attr.IsDir() {
			// Someone still stands in it, but nobody can find it again: there is nothing to write down.
			e = t.entry(n)
			return nil
		}
		if err := t.copyUp(n); err != nil {
			return err
		}
		if err := t.setAttr(c, n.in, set); err != nil {
			return err
		}
		if n.base != nil && isObjectDir(dirOf(n.base.path)) {
			// So git says that it needs an object, in place of writing it again: it is needed whatever becomes of the host's,
			// which git there may pack or give up.
			t.backfiller.enqueue(n)
		}
		e = t.entry(n)
		return nil
	})
	return e, err
}

// setAttr changes all attributes but the size.
func (t *tx) setAttr(c Caller, in *sqlvfs.Inode, set SetAttr) error {
	a := &in.Attr
	// The kernel changes nothing at all for chown(f, -1, -1), which changes this much, and sends the
	// same before a write that the caller may do. The right to it we must see to (fuse_setattr in
	// fs/fuse/dir.c strips what the kernel would have asked for).
	chown := set.UID != nil || set.GID != nil || set == SetAttr{} && (t.hostUID(c.UID) == a.UID || t.privileged(c))
	if chown && !a.IsDir() {
		// Also when root does it (chown(2)).
		if err := t.killPrivileges(in, false); err != nil {
			return err
		}
	}
	if set.Mode != nil {
		a.Mode = a.Mode&syscall.S_IFMT | *set.Mode&0o7777
		if err := t.chmodACL(in); err != nil {
			return err
		}
	}
	if set.UID != nil {
		a.UID = t.hostUID(*set.UID)
	}
	if set.GID != nil {
		a.GID = t.hostGID(*set.GID)
	}
	if set.Atime != nil {
		a.Atime = *set.Atime
	}
	if set.Mtime != nil {
		a.Mtime = *set.Mtime
	}
	in.Change(sqlvfs.Now())
	t.db.ChangedAttributes(in)
	return nil
}

// accessed moves a node's access time after its content was read: as mount(8)'s relatime does, only
// if that tells something new. What the kernel reads from its own cache it does not tell us.
func (t *tx) accessed(n *node) {
	if n.in == nil || t.db.ReadOnly() {
		return
	}
	const day = 24 * 60 * 60 // seconds
	a, now := &n.in.Attr, sqlvfs.Now()
	if a.Atime.After(a.Mtime) && a.Atime.After(a.Ctime) && now.Sec-a.Atime.Sec < day {
		return
	}
	a.Atime = now
	t.db.Dirty(n.in)
}
