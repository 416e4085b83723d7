package fs

import (
	"context"
	"strings"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// FlattenOptions say whom to tell of a flattening. Both functions have to be there.
type FlattenOptions struct {
	// Progress is told of objects that need nothing of the base any more, and of bytes of content
	// that have come in from there.
	Progress func(objects int, bytes int64)
	// Failed is told of each path that could not be brought in, and why. The rest goes on.
	Failed func(path string, err error)
}

// Flatten brings into the delta all that shows through from the base, so that nothing of the base
// is needed any more: content, the entries of directories, symbolic links, with their attributes.
// Then origins and whiteouts have no meaning left, and are dropped. One whiteout is added, of
// the workspace in the root: otherwise the base would be laid over it again.
//
// The tree stays the same at each step, so it may be interrupted at any, and taken up again. It
// goes from the leaves to the root: a directory loses its origin when all that it shows has a
// row. Objects that have an origin until now show the number of their row afterwards; the others
// keep theirs. Nothing else may use the overlay meanwhile.
//
// The error is one that ends the work: the context's, that of a database that takes no changes, or
// [sqlvfs.ErrNoBase] where there is no base.
func (o *Overlay) Flatten(ctx context.Context, opt FlattenOptions) error {
	if o.host == nil {
		return sqlvfs.ErrNoBase
	}
	f := &flattener{Overlay: o, ctx: ctx, opt: opt, names: map[sqlvfs.Ino]uint32{}, entered: map[sqlvfs.Ino]bool{}}
	complete, err := f.dir(RootIno, "")
	if err == nil && complete {
		err = f.finish()
	}
	return err
}

type flattener struct {
	*Overlay
	ctx context.Context
	opt FlattenOptions

	// Names that were met of inodes that keep their origin to the end: by it, the other names that
	// a file has in the base are recognized.
	names map[sqlvfs.Ino]uint32
	// Directories that were entered: a damaged database may hold one twice, or inside itself.
	entered map[sqlvfs.Ino]bool
}

// dir brings in all that a directory shows. It tells whether everything below has a row now. The
// directory itself has one.
func (f *flattener) dir(ino Ino, path string) (complete bool, err error) {
	if again, err := f.enter(ino); again || err != nil {
		return true, err
	}
	list, err := f.entries(ino)
	if err != nil {
		return false, f.failed(path, err)
	}
	defer func() {
		for _, e := range list {
			if e.Entry.Ino != 0 {
				f.Forget(e.Entry.Ino, 1)
			}
		}
	}()
	complete = true
	for i := range list {
		if err := f.ctx.Err(); err != nil {
			return false, err
		}
		e := &list[i]
		path := path + "/" + e.Name
		there, err := f.entry(ino, e, path)
		if err != nil {
			if err := f.failed(path, err); err != nil {
				return false, err
			}
		}
		complete = complete && there
		if e.Entry.Ino != 0 {
			f.Forget(e.Entry.Ino, 1)
			e.Entry.Ino = 0
		}
	}
	if complete {
		err = f.makeOpaque(ino, path[strings.LastIndexByte(path, '/')+1:])
	}
	return complete, err
}

// enter notes that a directory is entered, and tells whether it was before.
func (f *flattener) enter(ino Ino) (again bool, err error) {
	return query(f.Overlay, viewing, func(t *tx) (bool, error) {
		n, err := t.get(ino)
		if err == nil {
			again = f.entered[n.in.Ino]
			f.entered[n.in.Ino] = true
		}
		return again, err
	})
}

// failed tells of a path that could not be brought in, unless it is the database's fault, or the
// user's wish: those end the work.
func (f *flattener) failed(path string, err error) error {
	if cerr := f.ctx.Err(); cerr != nil {
		return cerr
	}
	if rerr := f.update(nobody, func(*tx) error { return nil }); rerr != nil {
		return rerr
	}
	f.opt.Failed(path, err)
	return nil
}

// entries lists a directory. The entries that could be looked up are referred to.
func (f *flattener) entries(ino Ino) ([]DirEntry, error) {
	var list []DirEntry
	err := f.ReadDir(ino, 0, true, func(e DirEntry) bool {
		if e.Name != "." && e.Name != ".." {
			list = append(list, e)
		}
		return true
	})
	return list, err
}

// entry brings in one entry of a directory. there tells whether it has a row now, which it also
// may if not all of its content could be brought in.
func (f *flattener) entry(dir Ino, e *DirEntry, path string) (there bool, err error) {
	if e.Entry.Ino == 0 {
		// It could not be looked up as the directory was read.
		if e.Entry, err = f.Lookup(dir, e.Name); err != nil || e.Entry.Ino == 0 {
			return err == nil, err
		}
	}
	if e.Entry.Attr.IsRegular() {
		n, err := query(f.Overlay, viewing, func(t *tx) (*node, error) { return t.get(e.Entry.Ino) })
		if err != nil {
			return false, err
		}
		if n.in == nil {
			err := f.copyFile(dir, e)
			return err == nil, err
		}
	}
	if err := f.addRow(dir, e); err != nil {
		return false, err
	}
	switch {
	case e.Entry.Attr.IsDir():
		return f.dir(e.Entry.Ino, path)
	case e.Entry.Attr.IsRegular():
		err = f.fill(e.Entry.Ino)
	}
	if err != nil {
		return true, err
	}
	return true, f.view(func(t *tx) error {
		n, err := t.get(e.Entry.Ino)
		if err == nil {
			f.done(t, n)
		}
		return err
	})
}

// addRow gives an entry a row, and the row this name.
func (f *flattener) addRow(dir Ino, e *DirEntry) error {
	return f.update(nobody, func(t *tx) error {
		n, err := t.get(e.Entry.Ino)
		if err != nil {
			return err
		}
		if err := t.copyUp(n); err != nil {
			return err
		}
		p, err := t.get(dir)
		if err != nil {
			return err
		}
		// An inode with several names in the base may have got its row by another one.
		c, ok, _, err := t.db.Child(p.in, e.Name)
		if err != nil || ok && c.Ino == n.in.Ino {
			return err
		}
		return t.db.Link(p.in, e.Name, n.in)
	})
}

// makeOpaque makes a directory opaque that needs nothing of the base any more. name is its own. The root has no origin,
// and its whiteouts speak of workspaces.
func (f *flattener) makeOpaque(ino Ino, name string) error {
	return f.update(nobody, func(t *tx) error {
		n, err := t.get(ino)
		switch {
		case err != nil:
			return err
		case ino == RootIno:
			return t.countSubdirectories(n)
		case n.in.Origin != nil && n.base == nil:
			return nil // it needs another workspace
		}
		if err := t.db.ClearWhiteouts(n.in); err != nil {
			return err
		}
		if n.base == nil {
			return nil
		}
		if err := t.countSubdirectories(n); err != nil {
			return err
		}
		t.releaseOrigin(n.in)
		f.opt.Progress(1, 0)
		t.leaveBase(n)
		n.base = nil
		p, err := t.get(n.parentIno)
		if err != nil || !t.wouldMerge(n, dentry{p, name}) {
			return err
		}
		return t.db.SetWhiteout(p.in, name) // until the parent shows nothing of the base either
	})
}

// countSubdirectories sets a directory's link count to what its entries make it: on the host, some
// may be hidden, and some have come to it since.
func (t *tx) countSubdirectories(n *node) error {
	if n.in.Attr.Nlink < 2 {
		return nil // see addSubdirectory
	}
	children, err := t.db.Children(n.in)
	if err != nil {
		return err
	}
	n.in.Attr.Nlink = 2
	for _, c := range children {
		if c.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			n.in.Attr.Nlink++
		}
	}
	t.db.Dirty(n.in)
	return nil
}

// finish ends what had to wait until the whole tree was seen: inodes with several names have
// exactly those that were met, and those of which none was met are gone.
func (f *flattener) finish() error {
	for ino, names := range f.names {
		err := f.change(ino, func(t *tx, in *sqlvfs.Inode) {
			in.Attr.Nlink = names
			t.releaseOrigin(in)
		})
		if err != nil {
			return err
		}
	}
	if err := f.store.Sync(); err != nil {
		return err
	}
	unseen, err := query(f.Overlay, viewing, func(t *tx) ([]sqlvfs.Ino, error) { return t.db.Nameless(t.name) })
	for _, ino := range unseen {
		if err == nil {
			err = f.change(ino, func(t *tx, in *sqlvfs.Inode) {
				in.Attr.Nlink = 0
				t.db.Dirty(in)
			})
		}
	}
	if err == nil {
		err = f.whole()
	}
	return err
}

// whole writes down that all of the workspace is in the database, to stay: a pull leaves there what it has brought to the host.
func (f *flattener) whole() error {
	if err := f.store.Sync(); err != nil {
		return err
	}
	return f.store.View(func(tx *sqlvfs.Tx) error {
		all, err := tx.Workspaces()
		for _, w := range all {
			if w.Name == f.name && !w.Whole {
				w.Whole = true
				tx.SetWorkspace(w)
			}
		}
		return err
	})
}

func (f *flattener) change(ino sqlvfs.Ino, do func(*tx, *sqlvfs.Inode)) error {
	return f.update(nobody, func(t *tx) error {
		in, err := t.db.Get(ino)
		if err != nil {
			return err
		}
		do(t, in)
		t.db.Put(in)
		return nil
	})
}
