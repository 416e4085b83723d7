package reconcile

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// copyUp gives what shows through from the host a row, since the host has it elsewhere now: in place, or staged.
func (r *recoverer) copyUp(e *journalEntry, st *unix.Stat_t, placed bool) error {
	dir, name, err := r.untouched(r.shown(e))
	if err != nil || dir == nil {
		return err
	}
	defer r.rows().put(dir)
	attr, from, at, is := e.Attr, (*os.File)(nil), "", unix.Stat_t{}
	if placed {
		attr, is = attrOf(st), *st
		if from, at, err = r.host.openParent(string(e.Path)); err != nil {
			return err
		}
		defer from.Close()
	} else if from, at, is = r.staged(e); from != nil {
		defer r.staging.Done(from)
	} else if !attr.IsDir() {
		return nil // planning will say what is missing
	}
	if ino, ok := r.copied[objectOf(&is)]; ok && attr.IsRegular() {
		row, err := r.rows().get(ino)
		if err != nil {
			return err
		}
		defer r.rows().put(row)
		return r.rows().update(dir, name, row, func(*sqlvfs.Tx) {})
	}
	row, err := r.rows().create(attr)
	if err != nil {
		return err
	}
	defer r.rows().put(row)
	o := &sqlvfs.Origin{Base: r.name, Path: string(e.Path), Number: uint64(sqlvfs.MaxIno) + e.Version.Ino, Fingerprint: hostfs.Fingerprint(&is), Mode: is.Mode}
	switch {
	case attr.IsDir():
		return r.link(dir, name, row)
	case attr.IsSymlink():
		err = r.copySymlink(row, from, at, o, placed)
	default:
		o.Limit = is.Size
		err = r.copyFile(row, from, at, o, placed)
		if is.Nlink > 1 {
			r.copied[objectOf(&is)] = row.Ino
		}
	}
	if err != nil {
		return err
	}
	return r.rows().update(dir, name, row, func(*sqlvfs.Tx) {})
}

// shown returns where the guest sees what shows through from the host: a directory that shows the host's may have been renamed once
// more after it was decided where on the host it is to come.
func (r *recoverer) shown(e *journalEntry) string {
	from := string(e.Source)
	for dir := path.Dir(from); dir != "."; dir = path.Dir(dir) {
		if n := r.origins[dir]; n != nil && n.Attr.IsDir() {
			if at, ok := r.places[n.Ino]; ok {
				return join(at, strings.TrimPrefix(from, dir+"/"))
			}
			break
		}
	}
	return string(e.Path)
}

func (r *recoverer) copySymlink(row *sqlvfs.Inode, from *os.File, at string, o *sqlvfs.Origin, placed bool) error {
	target, err := hostfs.Readlink(from, at)
	if err != nil {
		return err
	}
	return r.rows().change(row, func(tx *sqlvfs.Tx) {
		tx.SetTarget(row, target)
		if placed {
			tx.SetOrigin(row, o)
		}
	})
}

func (r *recoverer) copyFile(row *sqlvfs.Inode, from *os.File, at string, o *sqlvfs.Origin, placed bool) error {
	err := r.rows().change(row, func(tx *sqlvfs.Tx) {
		row.Attr.Size = o.Limit
		tx.SetOrigin(row, o)
	})
	if err == nil && !placed {
		err = r.takeOver(row, from, at)
	}
	if err != nil {
		return err
	}
	attrs, err := userXattrsOf(hostfs.Open(from, at, unix.O_RDONLY|unix.O_NONBLOCK))
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ELOOP):
		return nil // who cannot read it sees none
	case err != nil || len(attrs) == 0:
		return err
	}
	return r.rows().do(func(tx *sqlvfs.Tx) error { return setRowXattrs(tx, row, attrs) })
}

// untouched returns the row of the directory that a path is in, and the name there, if the guest has neither a row nor a whiteout
// at that path; otherwise nil.
func (r *recoverer) untouched(rel string) (*sqlvfs.Inode, string, error) {
	dir, err := r.dir(path.Dir(rel))
	if err != nil || dir == nil {
		return nil, "", err
	}
	name := path.Base(rel)
	c, hidden, err := r.child(dir, name)
	if c.Ino != 0 || hidden || err != nil {
		r.rows().put(dir)
		return nil, "", err
	}
	return dir, name, nil
}

// dir returns the row of a directory of the guest, or nil. One that shows through from the host gets one.
func (r *recoverer) dir(rel string) (*sqlvfs.Inode, error) {
	dir, err := r.rows().get(r.top.Ino)
	if err != nil || rel == "." {
		return dir, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := r.below(dir, name)
		r.rows().put(dir)
		if err != nil || next == nil {
			return nil, err
		}
		if !next.Attr.IsDir() {
			r.rows().put(next)
			return nil, nil
		}
		dir = next
	}
	return dir, nil
}

func (r *recoverer) below(dir *sqlvfs.Inode, name string) (*sqlvfs.Inode, error) {
	c, hidden, err := r.child(dir, name)
	switch {
	case err != nil:
		return nil, err
	case c.Ino != 0:
		return r.rows().get(c.Ino)
	case hidden || dir.Origin == nil || dir.Origin.Base != r.name:
		return nil, nil
	}
	at := join(dir.Origin.Path, name)
	st, err := r.host.stat(at)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return nil, nil // the guest sees none either
	case err != nil:
		return nil, err
	case kind(st.Mode) != unix.S_IFDIR:
		return nil, nil
	}
	row, err := r.rows().create(attrOf(&st))
	if err != nil {
		return nil, err
	}
	o := &sqlvfs.Origin{Base: r.name, Path: at, Number: uint64(sqlvfs.MaxIno) + st.Ino, Fingerprint: hostfs.Fingerprint(&st), Mode: st.Mode}
	r.rows().set(func(tx *sqlvfs.Tx) { tx.SetOrigin(row, o) })
	return row, r.link(dir, name, row)
}

// child is an entry of a directory; Ino 0 says that there is none, and hidden whether the host's is hidden too.
func (r *recoverer) child(dir *sqlvfs.Inode, name string) (c sqlvfs.Child, hidden bool, err error) {
	err = r.store.View(func(tx *sqlvfs.Tx) (err error) {
		c, _, hidden, err = tx.Child(dir, name)
		return err
	})
	return c, hidden, err
}

// link gives the row of a directory that the guest sees a name. Its parent counts it already.
func (r *recoverer) link(dir *sqlvfs.Inode, name string, row *sqlvfs.Inode) error {
	return r.store.Update(func(tx *sqlvfs.Tx) error {
		row.Attr.Nlink = 2
		tx.Dirty(row)
		return tx.Link(dir, name, row)
	})
}
