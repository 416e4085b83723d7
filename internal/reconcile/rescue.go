package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/reconcile/reading"
	"github.com/riverlytech/art/internal/reconcile/rows"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// What a pull that was killed has left undone, nobody goes on with: the next push or pull plans anew, and holds
// back what it would hold back anyway. But rows may have content in files of the host that are replaced already.
// So before that, it is found where the pull has put it, by its journal (journal.go). Rows come to refer to what
// is in place, and take over what is staged. Nothing is changed in the workspace, and in the database nothing
// that whoever wrote the journal could not have written there as well.

var errJournal = errors.New("its journal of a pull is damaged: it is left out")

// rescuer brings the guest's tree back to what it was before a pull that was killed.
type rescuer struct {
	planner
	staging *staging.Dir
	copied  map[object]sqlvfs.Ino // rows of copies that have several names
}

// rescue finds what a pull that was killed has taken from rows.
func rescue(ctx context.Context, opt *Options, h *host, s *sqlvfs.Store, name string) error {
	entries, err := sqlvfs.Query(s, (*sqlvfs.Tx).Journal)
	if err != nil || len(entries) == 0 || s.ReadOnly() {
		return err
	}
	r := &rescuer{planner: planner{ctx: ctx, opt: opt, report: newReporter(opt), host: h, store: s, name: name},
		copied: map[object]sqlvfs.Ino{}}
	in := string(entries[0])
	if !staging.Is(in) || path.Base(in) != in {
		return r.forgetJournal(errJournal)
	}
	r.staging, err = staging.Reopen(h.dir, in)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return fmt.Errorf("workspace %s: open %s, which a pull that was killed has left: %w", h.dir.Name(), in, err)
	}
	list, err := r.read(entries[1:])
	if err != nil {
		return r.forgetJournal(err)
	}
	if err := r.look(); err != nil || !r.sameTree || r.top == nil || !r.top.Attr.IsDir() {
		return err
	}
	written := devices{}
	for _, e := range list {
		if st, ok := r.placed(e); ok {
			written[st.Dev] = string(e.Path)
		}
	}
	if err := written.sync(h); err != nil {
		return err
	}
	for _, e := range list {
		if err := cmp.Or(r.interrupted(), r.entry(e)); err != nil {
			return fmt.Errorf("write %s: %w", opt.DB, err)
		}
	}
	return r.forgetJournal(nil)
}

// forgetJournal removes the journal and what was staged. why says what is wrong with it, if anything is.
func (r *rescuer) forgetJournal(why error) error {
	if why != nil {
		r.report.Note(r.opt.DB, why.Error())
	}
	r.store.View(func(tx *sqlvfs.Tx) error {
		tx.SetJournal(nil)
		return nil
	})
	if err := r.store.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", r.opt.DB, err)
	}
	if r.staging != nil {
		r.staging.Remove()
	}
	return nil
}

// read reads the journal's entries.
func (r *rescuer) read(entries [][]byte) (list []*journalEntry, err error) {
	for _, data := range entries {
		e := &journalEntry{}
		if json.Unmarshal(data, e) != nil || !r.carries(string(e.Path)) || len(e.Source) > 0 && !r.carries(string(e.Source)) {
			return nil, errJournal
		}
		list = append(list, e)
	}
	return list, nil
}

// carries tells whether push and pull have to do with a path.
func (r *rescuer) carries(rel string) bool {
	if rel == "." || len(rel) > maxPath {
		return rel == "."
	}
	at := "."
	for name := range strings.SplitSeq(rel, "/") {
		if at = join(at, name); !sqlvfs.ValidName(name) || skipped(at) != "" {
			return false
		}
	}
	d, name, err := r.host.openParent(rel)
	if err != nil {
		return true // nothing is there
	}
	defer d.Close()
	self, err := hostdir.Stat(d)
	if err != nil {
		return false
	}
	st, err := hostdir.StatAt(d, name)
	return err != nil || !r.host.db.Has(&self, name, &st)
}

// look reads what the database holds.
func (r *rescuer) look() (err error) {
	if r.id, err = r.host.tree(r.name); err != nil {
		return err
	}
	err = r.store.View(func(tx *sqlvfs.Tx) (err error) {
		if r.base, err = tx.Baselines(r.id); err == nil {
			err = r.loadTree(tx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", r.opt.DB, err)
	}
	return nil
}

// entry looks at what became of an operation.
func (r *rescuer) entry(e *journalEntry) error {
	at := string(e.Path)
	st, placed := r.placed(e)
	if e.Seen && !placed {
		r.store.View(func(tx *sqlvfs.Tx) error {
			tx.AddBaseline(r.id, at, &sqlvfs.Baseline{Mode: e.There, Fingerprint: e.Now})
			return nil
		})
	}
	switch {
	case e.Do == remove:
		return r.removed(at)
	case placed && e.There == 0:
		if err := r.hide(at); err != nil {
			return err
		}
	}
	switch {
	case e.Other != 0:
		return r.otherName(e)
	case len(e.Source) == 0 || !r.lost(e):
		return nil
	case e.Row == 0:
		return r.copyUp(e, &st, placed)
	}
	return r.refer(e, &st, placed)
}

// placed tells whether a path has what was to come there.
func (r *rescuer) placed(e *journalEntry) (unix.Stat_t, bool) {
	st, err := r.host.stat(string(e.Path))
	switch {
	case err != nil || e.Do == remove || kind(st.Mode) != kind(e.Attr.Mode):
		return st, false
	case e.Attr.IsDir():
		return st, true
	}
	return st, e.known(&st) || st.Dev != e.Is.Dev && st.Size == e.Is.Size && timespec(st.Mtim) == e.Is.Mtime
}

// known tells whether a file is the one that was staged. Its change time moves with its names.
func (e *journalEntry) known(st *unix.Stat_t) bool {
	return st.Ino == e.Is.Ino && st.Size == e.Is.Size && timespec(st.Mtim) == e.Is.Mtime
}

// lost tells whether the host has no more what the guest has of it.
func (r *rescuer) lost(e *journalEntry) bool {
	st, err := r.host.stat(string(e.Source))
	if err == nil && e.Attr.IsDir() {
		return kind(st.Mode) != unix.S_IFDIR || st.Ino != e.Version.Ino
	}
	return err != nil || fingerprintOf(&st) != e.Version
}

// staged opens the directory of what is staged, if it is what was staged.
func (r *rescuer) staged(e *journalEntry) (d *os.File, name string, st unix.Stat_t) {
	if len(e.Tmp) == 0 {
		return nil, "", st
	}
	d, name, err := r.staging.Parent(string(e.Tmp))
	if err != nil {
		return nil, "", st
	}
	if st, err = hostdir.StatAt(d, name); err == nil && e.known(&st) && kind(st.Mode) == kind(e.Attr.Mode) {
		return d, name, st
	}
	r.staging.Done(d)
	return nil, "", st
}

// refer has a row refer to what is in place, or take over what is staged.
func (r *rescuer) refer(e *journalEntry, st *unix.Stat_t, placed bool) error {
	n := r.tree.Node(e.Row)
	if n == nil || !n.Attr.IsRegular() || n.Origin == nil || n.Origin.Limit == 0 || n.Origin.Base != r.name ||
		n.Origin.Path != string(e.Source) || n.Origin.Fingerprint != e.Version && !n.Follows() {
		return nil
	}
	d, name, is := r.staged(e)
	switch {
	case placed:
		is = *st
	case d == nil:
		return nil // planning will say what is missing
	}
	if d != nil {
		defer r.staging.Done(d)
	}
	o := *n.Origin
	if placed {
		o.Path, o.Fingerprint, o.Mode, o.Hash = string(e.Path), fingerprintOf(&is), is.Mode, ""
	}
	if n.Follows() {
		n.Attr.Size, n.Attr.Mtime = is.Size, timespec(is.Mtim)
	}
	o.Limit = n.Attr.Size
	n.Origin = &o
	if placed {
		return setOrigin(r.store, n)
	}
	row, err := r.rows().Get(n.Ino)
	if err != nil {
		return err
	}
	defer r.rows().Put(row)
	if n.Follows() {
		if err := setOrigin(r.store, n); err != nil {
			return err
		}
	}
	return r.takeOver(row, d, name)
}

// takeOver brings the content of what is staged into the database.
func (r *rescuer) takeOver(row *sqlvfs.Inode, d *os.File, name string) error {
	f, err := hostdir.Open(d, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.store.Fill(row, f, false, func(int) error { return r.interrupted() })
}

// copyUp gives what shows through from the host a row, since the host has it elsewhere now.
func (r *rescuer) copyUp(e *journalEntry, st *unix.Stat_t, placed bool) error {
	dir, name, err := r.nameless(string(e.Path))
	if err != nil || dir == nil {
		return err
	}
	defer r.rows().Put(dir)
	attr := e.Attr
	d, tmp, is := r.staged(e)
	switch {
	case placed:
		is, attr = *st, attrOf(st)
	case e.Attr.IsDir():
	case d == nil:
		return nil // planning will say what is missing
	}
	if d != nil {
		defer r.staging.Done(d)
	}
	if ino, ok := r.copied[objectOf(&is)]; ok && attr.IsRegular() {
		row, err := r.rows().Get(ino)
		if err != nil {
			return err
		}
		defer r.rows().Put(row)
		return r.rows().Update(dir, name, row, func(*sqlvfs.Tx) {})
	}
	row, err := r.rows().Create(attr)
	if err != nil {
		return err
	}
	defer r.rows().Put(row)
	o := &sqlvfs.Origin{Base: r.name, Path: string(e.Path), Number: uint64(sqlvfs.MaxIno) + e.Version.Ino, Fingerprint: fingerprintOf(&is), Mode: is.Mode}
	switch {
	case attr.IsDir():
		return r.link(dir, name, row)
	case attr.IsSymlink():
		err = r.copySymlink(e, row, o, placed, d, tmp)
	default:
		o.Limit = is.Size
		err = r.rows().Change(row, func(tx *sqlvfs.Tx) {
			row.Attr.Size = is.Size
			tx.SetOrigin(row, o)
		})
		if err == nil && !placed {
			err = r.takeOver(row, d, tmp)
		}
		if err == nil {
			err = r.copyXattrs(e, row, placed, d, tmp)
		}
		if is.Nlink > 1 {
			r.copied[objectOf(&is)] = row.Ino
		}
	}
	if err != nil {
		return err
	}
	return r.rows().Update(dir, name, row, func(*sqlvfs.Tx) {})
}

func (r *rescuer) copySymlink(e *journalEntry, row *sqlvfs.Inode, o *sqlvfs.Origin, placed bool, d *os.File, tmp string) (err error) {
	target := ""
	if placed {
		target, err = r.host.readlink(string(e.Path))
	} else {
		target, err = hostdir.Readlink(d, tmp)
	}
	if err != nil {
		return err
	}
	return r.rows().Change(row, func(tx *sqlvfs.Tx) {
		tx.SetTarget(row, target)
		if placed {
			tx.SetOrigin(row, o)
		}
	})
}

func (r *rescuer) copyXattrs(e *journalEntry, row *sqlvfs.Inode, placed bool, d *os.File, tmp string) error {
	f, err := r.host.openFile(string(e.Path))
	if !placed {
		f, err = hostdir.Open(d, tmp, unix.O_RDONLY|unix.O_NONBLOCK)
	}
	if err != nil {
		return nil // who cannot read it sees none
	}
	defer f.Close()
	attrs, err := reading.Xattrs(f)
	if err != nil || len(attrs) == 0 {
		return nil
	}
	return r.rows().Do(func(tx *sqlvfs.Tx) error { return rows.SetXattrs(tx, row, attrs) })
}

// nameless returns the row of the directory of a path at which the guest has no row, or nil.
func (r *rescuer) nameless(rel string) (*sqlvfs.Inode, string, error) {
	dir, err := r.dir(path.Dir(rel))
	if err != nil || dir == nil {
		return nil, "", err
	}
	name := path.Base(rel)
	c, hidden, err := r.child(dir, name)
	if c.Ino != 0 || hidden || err != nil {
		r.rows().Put(dir)
		return nil, "", err
	}
	return dir, name, nil
}

// dir returns the row of a directory of the guest, or nil. One that shows through from the host gets one.
func (r *rescuer) dir(rel string) (*sqlvfs.Inode, error) {
	dir, err := r.rows().Get(r.top.Ino)
	if err != nil || rel == "." {
		return dir, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := r.below(dir, name)
		r.rows().Put(dir)
		if err != nil || next == nil {
			return nil, err
		}
		if !next.Attr.IsDir() {
			r.rows().Put(next)
			return nil, nil
		}
		dir = next
	}
	return dir, nil
}

func (r *rescuer) below(dir *sqlvfs.Inode, name string) (*sqlvfs.Inode, error) {
	c, hidden, err := r.child(dir, name)
	switch {
	case err != nil:
		return nil, err
	case c.Ino != 0:
		return r.rows().Get(c.Ino)
	case hidden || dir.Origin == nil || dir.Origin.Base != r.name:
		return nil, nil
	}
	at := join(dir.Origin.Path, name)
	st, err := r.host.stat(at)
	if err != nil || kind(st.Mode) != unix.S_IFDIR {
		return nil, nil
	}
	row, err := r.rows().Create(attrOf(&st))
	if err != nil {
		return nil, err
	}
	r.store.View(func(tx *sqlvfs.Tx) error {
		tx.SetOrigin(row, &sqlvfs.Origin{Base: r.name, Path: at, Number: uint64(sqlvfs.MaxIno) + st.Ino, Fingerprint: fingerprintOf(&st), Mode: st.Mode})
		return nil
	})
	return row, r.link(dir, name, row)
}

// child is an entry of a directory; Ino 0 says that there is none, and hidden whether the host's is hidden too.
func (r *rescuer) child(dir *sqlvfs.Inode, name string) (c sqlvfs.Child, hidden bool, err error) {
	err = r.store.View(func(tx *sqlvfs.Tx) (err error) {
		c, _, hidden, err = tx.Child(dir, name)
		return err
	})
	return c, hidden, err
}

// link gives the row of a directory that the guest sees a name. Its parent counts it already.
func (r *rescuer) link(dir *sqlvfs.Inode, name string, row *sqlvfs.Inode) error {
	return r.store.View(func(tx *sqlvfs.Tx) error {
		row.Attr.Nlink = 2
		tx.Dirty(row)
		return tx.Link(dir, name, row)
	})
}

// otherName gives a row that refers to a new file of the host the name of a file that is still the old one.
func (r *rescuer) otherName(e *journalEntry) error {
	row, err := r.rows().Get(e.Other)
	if err != nil {
		return err
	}
	defer r.rows().Put(row)
	o := row.Origin
	if o == nil || o.Base != r.name || !row.Attr.IsRegular() {
		return nil
	}
	st, err := r.host.stat(string(e.Path))
	if err != nil || fingerprintOf(&st) == o.Fingerprint || st.Ino != e.Now.Ino {
		return nil
	}
	dir, name, err := r.nameless(string(e.Path))
	if err != nil || dir == nil {
		return err
	}
	defer r.rows().Put(dir)
	return r.store.View(func(tx *sqlvfs.Tx) error {
		tx.AddBaseline(r.id, string(e.Path), &sqlvfs.Baseline{Mode: e.There, Fingerprint: e.Now})
		return tx.Link(dir, name, row)
	})
}

// removed has a directory that the guest has renamed show no more what is at its old path, if that is gone.
func (r *rescuer) removed(at string) error {
	n := r.origins[at]
	if n == nil || !n.Attr.IsDir() || r.places[n.Ino] == at {
		return nil
	}
	if st, err := r.host.stat(at); err == nil && kind(st.Mode) == unix.S_IFDIR {
		return nil
	}
	row, err := r.rows().Get(n.Ino)
	if err != nil {
		return err
	}
	defer r.rows().Put(row)
	return r.rows().Change(row, func(tx *sqlvfs.Tx) { tx.SetOrigin(row, nil) })
}

// hide has a directory that the guest has renamed not show what the pull has made at its old path.
func (r *rescuer) hide(at string) error {
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		n := r.origins[dir]
		if n == nil && dir != "." {
			continue
		}
		if n == nil || !n.Attr.IsDir() || r.places[n.Ino] == dir || dir == "." {
			return nil
		}
		in, name, err := r.nameless(join(r.places[n.Ino], strings.TrimPrefix(at, dir+"/")))
		if err != nil || in == nil {
			return err
		}
		defer r.rows().Put(in)
		return r.store.View(func(tx *sqlvfs.Tx) error { return tx.SetWhiteout(in, name) })
	}
}
