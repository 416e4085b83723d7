package fs

import (
	"fmt"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// A database may lie over several bases. Each beside the workspace has an overlay of its own, whose root is the base's
// (OverlayOptions.Inner), and a mount of its own: to the kernel they are file systems, between which nothing is renamed
// or linked. They share the Store, and no inode.

// innerRoot returns the database's directory for the base, acquired, and makes it if it is not there.
func (t *tx) innerRoot() (*sqlvfs.Inode, error) {
	root := t.db.Root()
	c, ok, _, err := t.db.Child(root, t.name)
	if err != nil {
		return nil, err
	}
	if ok {
		in, err := t.db.Get(c.Ino)
		if err == nil && !in.Attr.IsDir() {
			t.db.Put(in)
			err = fmt.Errorf("%q in the database is not a directory", t.name)
		}
		return in, err
	}
	now, err := t.mustLstat(".")
	if err != nil {
		return nil, err
	}
	object, err := t.ask(fact{kind: objectFact, path: "."})
	if err != nil {
		return nil, err
	}
	in, err := t.db.New(now.attr)
	if err != nil {
		return nil, err
	}
	t.db.SetBirth(in, object.birth, object.born)
	t.db.SetOrigin(in, &sqlvfs.Origin{Base: t.name, Path: ".", Number: uint64(in.Ino), Fingerprint: now.fp, Mode: now.attr.Mode})
	if err := t.db.Link(root, t.name, in); err != nil {
		in.Attr.Nlink = 0
		t.db.Put(in)
		return nil, err
	}
	if root.Attr.Nlink > 1 { // see addSubdirectory
		root.Attr.Nlink++
		t.db.Dirty(root)
	}
	return in, nil
}

// reserved tells whether a name is art's own, which is not shown and cannot be made: in the root that of another base, and below
// it one of a directory that belongs to a pull. What the guest has there, no diff shows and no pull brings.
func (o *Overlay) reserved(p *node, name string) bool {
	switch {
	case o.host == nil || o.inner:
		return false
	case p.ino == RootIno:
		return sqlvfs.IsLayer(name)
	}
	return hostfs.IsStaging(name)
}
