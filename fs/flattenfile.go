package fs

import (
	"errors"

	"github.com/riverlytech/art/sqlvfs"
)

// What of a flattening is about the content of files.

// done ends the dependence of an inode that has all of its content, which is no directory. One
// with several names has to wait until all of them were met.
func (f *flattener) done(t *tx, n *node) {
	if n.in.Origin == nil || n.base == nil {
		return
	}
	if n.in.Attr.Nlink > 1 {
		if f.names[n.in.Ino]++; f.names[n.in.Ino] > 1 {
			return
		}
	} else {
		t.releaseOrigin(n.in)
	}
	f.opt.Progress(1, 0)
}

// fill completes the content of a file that has a row.
func (f *flattener) fill(ino Ino) error {
	var n *node
	host, err := query(f.Overlay, viewing, func(t *tx) (host *HostFile, err error) {
		if n, err = t.get(ino); err == nil && n.base != nil && n.needsOrigin() {
			host, err = t.openBase(n, n.in.Origin.Fingerprint)
		}
		return host, err
	})
	if err != nil || host == nil {
		return err
	}
	defer host.Close()
	return f.store.Fill(n.in, originReader{f.Overlay, n, n.in}, host.sparse(), f.step)
}

func (f *flattener) step(bytes int) error {
	f.opt.Progress(0, int64(bytes))
	return f.ctx.Err()
}

// tries is how often a file that changes while it is read is read again.
const tries = 3

// copyFile gives a file that was never changed a row, with all of its content. The row gets its name
// last: until then, it is the base's file that shows, so that a change of it on the host, or our
// death, does no harm.
func (f *flattener) copyFile(dir Ino, e *DirEntry) (err error) {
	for range tries {
		if err = f.tryCopy(dir, e); !errors.Is(err, sqlvfs.ErrBaseChanged) {
			return err
		}
	}
	return errors.New("it changes while it is read")
}

func (f *flattener) tryCopy(dir Ino, e *DirEntry) error {
	n, err := query(f.Overlay, viewing, func(t *tx) (*node, error) { return t.get(e.Entry.Ino) })
	if err != nil {
		return err
	}
	host, err := f.host.Open(n.base.path)
	if err != nil {
		return err
	}
	defer host.Close()
	attr, fp, err := host.stat()
	if err != nil {
		return err
	}
	d, err := f.host.details(n.base.path)
	if err != nil {
		return err
	}
	in, err := f.newOrphan(attr, d, &sqlvfs.Origin{Base: f.name, Path: n.base.path, Number: uint64(n.ino), Fingerprint: fp, Mode: attr.Mode, Limit: attr.Size})
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
	if err != nil {
		f.put(in) // it has no name: it is deleted
		return err
	}
	return f.update(nobody, func(t *tx) error {
		p, err := t.get(dir)
		if err == nil {
			if attr.Nlink <= 1 {
				t.releaseOrigin(in)
				f.opt.Progress(1, 0)
			}
			err = t.db.Link(p.in, e.Name, in)
		}
		if err != nil {
			t.db.Put(in) // same
			return err
		}
		in.Attr.Nlink = max(attr.Nlink, 1)
		t.db.Dirty(in)
		// From here on the node is as after a copy-up.
		n.in = in
		t.setParent(n, nil)
		f.done(t, n)
		return nil
	})
}

// newOrphan makes an inode that has no name yet.
func (f *flattener) newOrphan(attr sqlvfs.Attr, d details, origin *sqlvfs.Origin) (*sqlvfs.Inode, error) {
	attr.Nlink = 0
	return query(f.Overlay, updating, func(t *tx) (*sqlvfs.Inode, error) {
		in, err := t.db.New(attr)
		if err != nil {
			return nil, err
		}
		t.db.SetBirth(in, d.birth, d.born)
		t.db.SetOrigin(in, origin)
		for name, value := range d.xattrs {
			if err := t.db.SetXattr(in, name, value); err != nil {
				t.db.Put(in)
				return nil, err
			}
		}
		return in, nil
	})
}
