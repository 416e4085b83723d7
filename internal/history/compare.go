package history

import (
	"bytes"
	"errors"
	"maps"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// run compares the two moments.
func (d *comparer) run() error {
	if err := d.walk(); err != nil {
		return err
	}
	return d.match()
}

// walk finds what has changed, come and gone, from the root on.
func (d *comparer) walk() (err error) {
	if d.may, err = sqlvfs.Between(d.from, d.to); err != nil {
		return err
	}
	if err = d.leadToLinked(d.from, d.to); err != nil {
		return err
	}
	old, err := d.object(d.from, sqlvfs.RootIno)
	if err != nil {
		return err
	}
	now, err := d.object(d.to, sqlvfs.RootIno)
	if err != nil {
		return err
	}
	top := &change{path: ".", from: ".", old: old, now: now}
	return d.compareEntries(top)
}

// names are those in two directories, or in one, that may differ.
func (d *comparer) names(c *change) ([]string, error) {
	names := map[string]bool{}
	var err error
	old, now := c.old, c.now
	same := old.isDir() && now.isDir() && old.host == now.host
	switch {
	case same && d.sameInode(old, now) && !d.all(c):
		maps.Copy(names, d.may.Names[old.row.Ino])
	case same && !d.all(c):
		if err = old.rowNames(names); err == nil {
			err = now.rowNames(names)
		}
	default:
		if err = d.allNames(old, names); err == nil {
			err = d.allNames(now, names)
		}
	}
	for _, o := range []*object{old, now} {
		if o.isDir() {
			maps.Copy(names, d.linked.lead[o.host])
		}
	}
	return slices.Sorted(maps.Keys(names)), err
}

// all tells whether all that is in a directory is to be shown: a patch has no words for a directory, and so not for a renamed one.
func (d *comparer) all(c *change) bool { return c.path != c.from && d.opt.Form.Lines() }

// compareEntries compares what is in two directories.
func (d *comparer) compareEntries(c *change) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if len(c.path) > unix.PathMax {
		return nil // no program can name what is there
	}
	names, err := d.names(c)
	if err != nil {
		return err
	}
	for _, name := range names {
		if c.path == "." && sqlvfs.IsLayer(name) {
			continue
		}
		e := &change{path: path.Join(c.path, name), from: path.Join(c.from, name)}
		if e.old, err = d.child(c.old, name); err != nil {
			return err
		}
		if e.now, err = d.child(c.now, name); err != nil {
			return err
		}
		if err := d.compare(e); err != nil {
			return err
		}
	}
	return nil
}

// compare compares what is at one path.
func (d *comparer) compare(c *change) error {
	old, now := c.old, c.now
	switch {
	case old == nil && now == nil:
		return nil
	case old == nil || now == nil:
		d.came = append(d.came, c)
		return nil
	case d.sameInode(old, now) && !d.may.Inodes[old.row.Ino] && d.may.Names[old.row.Ino] == nil && c.path == c.from:
		return nil
	case (old.attr.Mode^now.attr.Mode)&unix.S_IFMT != 0:
		c.letter = 'T'
	case now.isDir():
		if c.path != d.name && !sameAttributes(old, now) {
			c.letter = 'T'
		}
	default:
		same, err := d.sameContent(old, now)
		switch {
		case err != nil:
			return err
		case !same:
			c.letter = 'M'
		case !sameAttributes(old, now):
			c.letter = 'T'
		}
	}
	if c.path != c.from && !now.isDir() && (c.letter != 0 || d.opt.Form.Lines()) {
		c.letter = 'R' // with a directory above it
	}
	if c.letter != 0 {
		d.changes = append(d.changes, c)
	}
	if !old.isDir() && !now.isDir() {
		return nil
	}
	return d.compareEntries(c)
}

// sameInode tells whether both are rows of one inode.
func (d *comparer) sameInode(old, now *object) bool {
	return old.row != nil && now.row != nil && old.row.Ino == now.row.Ino && now.row.Ino <= d.may.Top
}

// sameAttributes compares modes, owners and extended attributes. Of the host's, only modes are known as a guest saw them.
func sameAttributes(a, b *object) bool {
	if !a.attr.IsSymlink() && (a.attr.Mode^b.attr.Mode)&0o7777 != 0 {
		return false
	}
	return a.row == nil || b.row == nil || a.attr.UID == b.attr.UID && a.attr.GID == b.attr.GID && maps.Equal(a.row.Xattrs, b.row.Xattrs)
}

// sameContent compares files that are no directories. What is known to be the same is not read.
func (d *comparer) sameContent(old, now *object) (bool, error) {
	switch {
	case old.attr.IsSymlink():
		return old.target == now.target, nil
	case !old.attr.IsRegular():
		return old.attr.Rdev == now.attr.Rdev, nil
	case old.attr.Size != now.attr.Size:
		return false, nil
	case old.row == nil && now.row == nil:
		return old.host == now.host, nil
	case old.row == nil:
		if now.row.Follows() && now.host == old.host {
			return true, nil
		}
	case now.row == nil:
		if old.row.Follows() && now.host == old.host {
			return true, nil
		}
	case d.sameInode(old, now) && !d.may.Content[old.row.Ino] && sameOrigin(old.row.Origin, now.row.Origin):
		return true, nil
	}
	a, err := d.open(old)
	if err != nil {
		return unknown(err)
	}
	defer a.close()
	b, err := d.open(now)
	if err != nil {
		return unknown(err)
	}
	defer b.close()
	one, two := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < old.attr.Size; off += int64(len(one)) {
		if err := d.ctx.Err(); err != nil {
			return false, err
		}
		n := min(int64(len(one)), old.attr.Size-off)
		if err := a.read(one[:n], off); err != nil {
			return unknown(err)
		}
		if err := b.read(two[:n], off); err != nil {
			return unknown(err)
		}
		if !bytes.Equal(one[:n], two[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// unknown is how files compare of which the content of one is gone: they are not the same.
func unknown(err error) (bool, error) {
	if errors.Is(err, errElsewhere) {
		err = nil
	}
	return false, err
}

func sameOrigin(a, b *sqlvfs.Origin) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Path == b.Path && a.Fingerprint == b.Fingerprint && a.Limit == b.Limit
}
