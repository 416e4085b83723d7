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
	if n.gone {
		// A removed directory that someone still stands in, or a removed file known by an O_PATH
		// descriptor: nobody can find it again, so there is nothing to write down.
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
		if err := o.truncate(n, *set.Size, now); err != nil {
			return Entry{}, err
		}
	}
	a := &n.in.Attr
	if (set.UID != nil || set.GID != nil) && !a.IsDir() {
		// Also when root does it (chown(2)).
		if err := o.killPrivileges(n.in, false); err != nil {
			return Entry{}, err
		}
	}
	if set.Mode != nil {
		a.Mode = a.Mode&syscall.S_IFMT | *set.Mode&0o7777
	}
	if set.UID != nil {
		a.UID = *set.UID
	}
	if set.GID != nil {
		a.GID = *set.GID
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

// truncate sets a file's size. Lock held; it is let go of.
func (o *Overlay) truncate(n *node, size int64, now sqlvfs.Timespec) error {
	f := &openFile{o: o, n: n}
	o.store.Unlock()
	defer o.store.Lock()
	defer f.closeHost()
	return o.store.Truncate(n.in, size, f.base(), now)
}
