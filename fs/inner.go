package fs

import (
	"fmt"

	"github.com/riverlytech/art/sqlvfs"
)

// A database may lie over several bases. Each beside the workspace has an overlay of its own, whose root is the base's
// (OverlayOptions.Inner), and a mount of its own: to the kernel they are file systems, between which nothing is renamed
// or linked. They share the Store, and no inode.

// innerRoot returns the database's directory for the base, held, and makes it if it is not there.
func (o *Overlay) innerRoot() (*sqlvfs.Inode, error) {
	o.store.Lock()
	defer o.store.Unlock()
	root := o.store.Root()
	c, ok, _, err := o.store.Child(root, o.name)
	if err != nil {
		return nil, err
	}
	if ok {
		in, err := o.store.Get(c.Ino)
		if err == nil && !in.Attr.IsDir() {
			o.store.Put(in)
			err = fmt.Errorf("%q in the database is not a directory", o.name)
		}
		return in, err
	}
	attr, fp, err := o.host.Lstat(".")
	if err != nil {
		return nil, err
	}
	in, err := o.store.New(attr)
	if err != nil {
		return nil, err
	}
	o.store.SetOrigin(in, &sqlvfs.Origin{Base: o.name, Path: ".", Number: uint64(in.Ino), Fingerprint: fp, Mode: attr.Mode})
	if err := o.store.Link(root, o.name, in); err != nil {
		in.Attr.Nlink = 0
		o.store.Put(in)
		return nil, err
	}
	if root.Attr.Nlink > 1 { // see addSubdirectory
		root.Attr.Nlink++
		o.store.Dirty(root)
	}
	return in, nil
}

// reserved tells whether a name in the root is that of another base, which is not shown there.
func (o *Overlay) reserved(p *node, name string) bool {
	return p.ino == RootIno && o.host != nil && !o.inner && sqlvfs.IsLayer(name)
}
