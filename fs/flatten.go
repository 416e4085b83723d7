package fs

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// FlattenOptions say whom to tell of a flattening.
type FlattenOptions struct {
	// Progress is told of objects that need nothing of the base any more, and of bytes of content
	// that have come in from there.
	Progress func(objects int, bytes int64)
	// Failed is told of each path that could not be brought in. The rest goes on.
	Failed func(path string, err error)
}

// Flatten brings into the delta all that shows through from the base, so that nothing of the base
// is needed any more: content, the entries of directories, symbolic links, with their attributes.
// Then origins and whiteouts have no meaning left, and are dropped. One whiteout is added, of
// the workspace in the root: otherwise the base would be laid over it again.
//
// The tree stays the same at each step, so it may be interrupted at any, and taken up again. It
// goes from the leaves to the root: a directory lets go of its origin when all that it shows has a
// row. Objects that have an origin until now show the number of their row afterwards; the others
// keep theirs. Nothing else may use the overlay meanwhile.
//
// The error is one that ends the work: the context's, or that of a database that takes no changes.
func (o *Overlay) Flatten(ctx context.Context, opt FlattenOptions) error {
	if o.host == nil {
		return sqlvfs.ErrNoBase
	}
	f := &flattener{Overlay: o, ctx: ctx, opt: opt, names: map[sqlvfs.Ino]uint32{}, entered: map[sqlvfs.Ino]bool{}}
	whole, err := f.dir(RootIno, "")
	if err == nil && whole {
		err = f.settle()
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
func (f *flattener) dir(ino Ino, path string) (whole bool, err error) {
	if again, err := f.enters(ino); again || err != nil {
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
	whole = true
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
		whole = whole && there
		if e.Entry.Ino != 0 {
			f.Forget(e.Entry.Ino, 1)
			e.Entry.Ino = 0
		}
	}
	if whole {
		err = f.seal(ino)
	}
	return whole, err
}

// enters notes that a directory is entered, and tells whether it was before.
func (f *flattener) enters(ino Ino) (again bool, err error) {
	f.store.Lock()
	defer f.store.Unlock()
	n, err := f.get(ino)
	if err != nil {
		return false, err
	}
	again = f.entered[n.in.Ino]
	f.entered[n.in.Ino] = true
	return again, nil
}

// failed tells of a path that could not be brought in, unless it is the database's fault, or the
// user's wish: those end the work.
func (f *flattener) failed(path string, err error) error {
	if cerr := f.ctx.Err(); cerr != nil {
		return cerr
	}
	f.store.Lock()
	defer f.store.Unlock()
	if rerr := f.store.Ready(); rerr != nil {
		return rerr
	}
	f.opt.Failed(path, err)
	return nil
}

// entries lists a directory. The entries that could be looked up are held.
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
		if untouched, err := f.isUntouched(e.Entry.Ino); err != nil {
			return false, err
		} else if untouched {
			err := f.bring(dir, e)
			return err == nil, err
		}
	}
	if err := f.row(dir, e); err != nil {
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
	f.store.Lock()
	defer f.store.Unlock()
	n, err := f.get(e.Entry.Ino)
	if err == nil {
		f.release(n)
	}
	return true, err
}

func (f *flattener) isUntouched(ino Ino) (bool, error) {
	f.store.Lock()
	defer f.store.Unlock()
	n, err := f.get(ino)
	return err == nil && n.in == nil, err
}

// row gives an entry a row, and the row this name.
func (f *flattener) row(dir Ino, e *DirEntry) error {
	f.store.Lock()
	defer f.store.Unlock()
	if err := f.store.Ready(); err != nil {
		return err
	}
	n, err := f.get(e.Entry.Ino)
	if err != nil {
		return err
	}
	if n.in == nil {
		if err := f.copyUp(n); err != nil {
			return err
		}
	}
	p, err := f.get(dir)
	if err != nil {
		return err
	}
	return f.enter(p, e.Name, n)
}

// enter makes sure that an entry of a directory leads to a node's row. An inode with several
// names in the base may have got its row by another one. Lock held.
func (f *flattener) enter(p *node, name string, n *node) error {
	c, ok, _, err := f.store.Child(p.in, name)
	if err != nil || ok && c.Ino == n.in.Ino {
		return err
	}
	return f.store.Link(p.in, name, n.in)
}

// release ends the dependence of an inode that has all of its content, which is no directory. One
// with several names has to wait until all of them were met. Lock held.
func (f *flattener) release(n *node) {
	if n.in.Origin == nil || !n.based {
		return
	}
	if n.in.Attr.Nlink > 1 {
		if f.names[n.in.Ino]++; f.names[n.in.Ino] > 1 {
			return
		}
	} else {
		f.letGo(n.in)
	}
	f.opt.Progress(1, 0)
}

// fill completes the content of a file that has a row.
func (f *flattener) fill(ino Ino) error {
	f.store.Lock()
	n, err := f.get(ino)
	if err != nil || !n.based || !n.showsThrough() {
		f.store.Unlock()
		return err
	}
	host, err := f.openBase(n, n.in.Origin.Fingerprint)
	f.store.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		f.store.Lock()
		defer f.store.Unlock()
		f.closeBase(host, true)
	}()
	return f.store.Fill(n.in, originReader{f.Overlay, n}, host.sparse(), f.step)
}

func (f *flattener) step(bytes int) error {
	f.opt.Progress(0, int64(bytes))
	return f.ctx.Err()
}

// tries is how often a file that changes while it is read is read again.
const tries = 3

// bring gives a file that was never changed a row, with all of its content. The row gets its name
// last: until then, it is the base's file that shows, so that a change of it on the host, or our
// death, does no harm.
func (f *flattener) bring(dir Ino, e *DirEntry) (err error) {
	for range tries {
		if err = f.bringOnce(dir, e); !errors.Is(err, sqlvfs.ErrBaseChanged) {
			return err
		}
	}
	return fmt.Errorf("it changes while it is read")
}

func (f *flattener) bringOnce(dir Ino, e *DirEntry) error {
	f.store.Lock()
	n, err := f.get(e.Entry.Ino)
	if err != nil {
		f.store.Unlock()
		return err
	}
	path := n.path
	f.store.Unlock()

	host, err := f.host.Open(path)
	if err != nil {
		return err
	}
	defer host.Close()
	attr, fp, err := host.stat()
	if err != nil {
		return err
	}
	xattrs, err := f.host.Xattrs(path)
	if err != nil {
		return err
	}
	in, err := f.nameless(attr, xattrs, &sqlvfs.Origin{Base: f.name, Path: path, Number: uint64(n.ino), Fingerprint: fp, Mode: attr.Mode, Limit: attr.Size})
	if err != nil {
		return err
	}
	err = f.store.Fill(in, host, host.sparse(), f.step)
	if err == nil {
		var after sqlvfs.Fingerprint
		if _, after, err = host.stat(); err == nil && after != fp {
			err = sqlvfs.ErrBaseChanged
		}
	}

	f.store.Lock()
	defer f.store.Unlock()
	p, perr := f.get(dir)
	if err == nil {
		err = perr
	}
	if err == nil {
		if attr.Nlink <= 1 {
			f.letGo(in)
			f.opt.Progress(1, 0)
		}
		err = f.store.Link(p.in, e.Name, in)
	}
	if err != nil {
		f.store.Put(in) // it has no name: it is deleted
		return err
	}
	in.Attr.Nlink = max(attr.Nlink, 1)
	f.store.Dirty(in)
	// From here on the node is as after a copy-up.
	parent := n.parent
	n.in, n.parent = in, nil
	parent.holds--
	f.drop(parent)
	f.release(n)
	return nil
}

// nameless makes an inode that has no name yet.
func (f *flattener) nameless(attr sqlvfs.Attr, xattrs map[string][]byte, origin *sqlvfs.Origin) (*sqlvfs.Inode, error) {
	f.store.Lock()
	defer f.store.Unlock()
	if err := f.store.Ready(); err != nil {
		return nil, err
	}
	attr.Nlink = 0
	in, err := f.store.New(attr)
	if err != nil {
		return nil, err
	}
	f.store.SetOrigin(in, origin)
	for name, value := range xattrs {
		if err := f.store.SetXattr(in, name, value); err != nil {
			f.store.Put(in)
			return nil, err
		}
	}
	return in, nil
}

// seal makes a directory opaque that needs nothing of the base any more. The root has no origin,
// and its whiteouts speak of workspaces.
func (f *flattener) seal(ino Ino) error {
	f.store.Lock()
	defer f.store.Unlock()
	n, err := f.get(ino)
	switch {
	case err != nil:
		return err
	case ino == RootIno:
		return f.countSubdirectories(n)
	case n.in.Origin != nil && !n.based:
		return nil // it needs another workspace
	}
	white, err := f.store.Whiteouts(n.in)
	if err != nil {
		return err
	}
	for _, name := range white {
		if err := f.store.ClearWhiteout(n.in, name); err != nil {
			return err
		}
	}
	if !n.based {
		return nil
	}
	if err := f.countSubdirectories(n); err != nil {
		return err
	}
	f.letGo(n.in)
	n.based = false
	f.opt.Progress(1, 0)
	if n.path != "." {
		return nil
	}
	return f.store.SetWhiteout(f.store.Root(), f.name)
}

// countSubdirectories sets a directory's link count to what its entries make it: on the host, some
// may be hidden, and some have come to it since. Lock held.
func (f *flattener) countSubdirectories(n *node) error {
	if n.in.Attr.Nlink < 2 {
		return nil // see addSubdirectory
	}
	children, err := f.store.Children(n.in)
	if err != nil {
		return err
	}
	n.in.Attr.Nlink = 2
	for _, c := range children {
		if c.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			n.in.Attr.Nlink++
		}
	}
	f.store.Dirty(n.in)
	return nil
}

// settle ends what had to wait until the whole tree was seen: inodes with several names have
// exactly those that were met, and those of which none was met are gone.
func (f *flattener) settle() error {
	for ino, names := range f.names {
		err := f.change(ino, func(in *sqlvfs.Inode) {
			in.Attr.Nlink = names
			f.letGo(in)
		})
		if err != nil {
			return err
		}
	}
	if err := f.store.Sync(); err != nil {
		return err
	}
	f.store.Lock()
	unseen, err := f.store.Nameless(f.name)
	f.store.Unlock()
	if err != nil {
		return err
	}
	for _, ino := range unseen {
		if err := f.change(ino, func(in *sqlvfs.Inode) { in.Attr.Nlink = 0; f.store.Dirty(in) }); err != nil {
			return err
		}
	}
	return nil
}

func (f *flattener) change(ino sqlvfs.Ino, do func(*sqlvfs.Inode)) error {
	f.store.Lock()
	defer f.store.Unlock()
	if err := f.store.Ready(); err != nil {
		return err
	}
	in, err := f.store.Get(ino)
	if err != nil {
		return err
	}
	do(in)
	f.store.Put(in)
	return nil
}
