package reconcile

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/sqlvfs"
)

// What was done is written down in the database as the new baselines, and rows whose content comes
// from the host refer to the files that are in place now. These hold all of the guest's content, so
// a row's own chunks stay valid too, and the fingerprint proves which version is meant.

// commit writes down all that was done, and that nothing more is to be: the journal goes. Of what could not be
// removed, it is written down that the guest had seen it.
func (p *puller) commit() error {
	if p.exports {
		return nil
	}
	// What is gone last: of a row that was copied up from there, and has come to another place, the former one is written down. And by
	// then each directory refers to the place that it keeps: see forget.
	var gone []*operation
	for _, a := range p.ops {
		switch {
		case a.do == remove || a.node == nil:
			gone = append(gone, a)
			continue
		case !a.done:
			continue
		}
		if err := p.commitOne(a); err != nil {
			return p.opt.writing(err)
		}
	}
	err := p.commitDirs()
	for _, a := range gone {
		if err == nil && (a.done || a.do == remove) {
			err = p.commitOne(a)
		}
	}
	if err == nil {
		err = p.notePulled()
	}
	if err == nil && p.session == nil {
		err = p.commitKept()
	}
	if err == nil {
		err = p.withdrawNames()
	}
	if err != nil {
		return p.opt.writing(err)
	}
	p.commitCopies()
	if p.sameTree && !p.unkept {
		p.rows().set(func(tx *sqlvfs.Tx) { tx.SetJournal(nil) })
	}
	return nil
}

// commitDirs writes down directories that nothing was to be done to: those that are new to one of
// the sides, and those that the guest renamed to where the host has one already. Directories whose
// rows refer to another place, and that are whole here, refer to this one from now on.
func (p *puller) commitDirs() error {
	for _, a := range p.dirs {
		if a.node == nil || a.left || a.do == mkdir && !a.done || !p.limit.Has(a.path) {
			continue
		}
		o := a.node.Origin
		moved := o != nil && (o.Path != a.path || a.path == "." && !p.sameTree)
		if a.was != nil && !(moved && !a.incomplete) {
			continue
		}
		if err := p.commitOne(a); err != nil {
			return err
		}
	}
	return nil
}

func (p *puller) commitOne(a *operation) error {
	if a.copyOf != nil {
		return nil // the guest has it under another name; see commitKept
	}
	if !a.done && a.do == remove {
		return p.rows().do(func(tx *sqlvfs.Tx) error {
			tx.AddBaseline(p.id, a.path, &sqlvfs.Baseline{Mode: a.host.Mode, Fingerprint: a.now})
			return nil
		})
	}
	if a.node == nil {
		if a.do == remove || a.agreed {
			return p.forget(a)
		}
		return nil // copied from the host: the database shows the host's
	}
	st, err := p.placed(a)
	if err != nil {
		p.fail(a.item, err)
		return nil
	}
	if n := p.origins[a.path]; n != nil && n != a.node && a.replaces() && p.named[n.Ino] == 0 {
		err := p.rows().do(func(tx *sqlvfs.Tx) error { return p.dropOrigin(tx, a.path) })
		if err != nil {
			return err
		}
	}
	b := &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(&st), Hash: a.hash, Row: a.node.Ino}
	return p.rows().with(b.Row, func(tx *sqlvfs.Tx, row *sqlvfs.Inode) error {
		if a.part {
			// Both agree about that part, and the guest has changed it: no row ever has a change time of zero.
			tx.SetBaseline(p.id, a.path, b)
			return nil
		}
		if a.xattrs != nil && a.decision.Xattrs == classify.Host {
			if err := setRowXattrs(tx, row, a.xattrs); err != nil {
				return err
			}
		}
		if a.attr.IsRegular() && (st.Size != a.attr.Size || !a.agreed && hostfs.Timespec(st.Mtim) != a.attr.Mtime) {
			return nil // someone changed the host's file already: the next pull will see it
		}
		b.RowCtime = row.Attr.Ctime
		if b.Hash == nil && a.was != nil && a.was.Fingerprint == a.now && !a.replaces() {
			b.Hash = a.was.Hash
		}
		if a.decision.Push() || a.base != nil {
			p.takeHosts(tx, a, row, b)
		}
		b.Mode = b.Mode&^modeBits | row.Attr.Mode&modeBits // a default access control list may have left less of it
		tx.SetBaseline(p.id, a.path, b)
		p.moveOrigin(tx, a, row, &st)
		p.releaseBeside(tx, a, row, &st)
		return nil
	})
}

// moveOrigin has a row refer to what is in its place now.
func (p *puller) moveOrigin(tx *sqlvfs.Tx, a *operation, row *sqlvfs.Inode, st *unix.Stat_t) {
	was := row.Origin
	if was == nil || a.incomplete || a.do == hardLink {
		return
	}
	if was.Path != a.path && was.Base == p.name {
		tx.AddBaseline(p.id, was.Path, row.Baseline())
	}
	o := sqlvfs.Origin{Base: p.name, Path: a.path, Number: was.Number, Fingerprint: hostfs.Fingerprint(st), Mode: st.Mode}
	if was.Limit > 0 {
		o.Limit = row.Attr.Size
	}
	tx.SetOrigin(row, &o)
}

// takeHosts gives a row what the host alone changed of an object that the guest changed in other respects.
// Content that the row holds is left to the next push: the baseline is that of the row's then.
func (p *puller) takeHosts(tx *sqlvfs.Tx, a *operation, row *sqlvfs.Inode, b *sqlvfs.Baseline) {
	row.Attr.Mode = row.Attr.Mode&^modeBits | a.attr.Mode&modeBits
	row.Attr.UID, row.Attr.GID = a.attr.UID, a.attr.GID
	tx.Dirty(row)
	switch {
	case a.base == nil:
	case row.Origin != nil && row.Origin.Limit > 0 && !a.node.Holds:
		row.Attr.Size, row.Attr.Mtime = a.attr.Size, a.attr.Mtime
	default:
		b.Fingerprint = sqlvfs.Fingerprint{Size: row.Attr.Size, Mtime: row.Attr.Mtime}
		b.Hash = a.base.Hash
	}
}

// placed returns what is in an action's place.
func (p *puller) placed(a *operation) (unix.Stat_t, error) {
	if a.is != nil {
		return *a.is, nil
	}
	return p.host.stat(a.path)
}

// forget takes back what is known of a path that is on neither side any more. A directory that the guest has renamed, and that is not whole
// yet where it is now, still shows what the host has at its old place, and goes on hiding the name there.
func (p *puller) forget(a *operation) error {
	return p.rows().do(func(tx *sqlvfs.Tx) error {
		if by := a.by; by == nil || by.op == nil || !by.op.done { // else that says what is agreed on there
			tx.SetBaseline(p.id, a.path, nil)
		}
		if a.there == 0 {
			p.forgetBelow(tx, a.path)
		}
		if err := p.dropOrigin(tx, a.path); err != nil || a.in.node == nil {
			return err
		}
		return withRow(tx, a.in.node.Ino, func(dir *sqlvfs.Inode) error {
			if o := dir.Origin; o != nil && (o.Base != p.name || o.Path != a.in.path) {
				return nil
			}
			return tx.ReleaseWhiteout(dir, path.Base(a.path))
		})
	})
}

// forgetBelow takes back what is known of a path and those below it.
func (p *planner) forgetBelow(tx *sqlvfs.Tx, rel string) {
	for at := range p.base {
		if (selection.Limit{rel}).Has(at) {
			tx.SetBaseline(p.id, at, nil)
		}
	}
}

// dropOrigin cuts the tie between a host file that is gone and the row that was copied up from it: what the
// host may make under that name later is another file. The row of a file that had several names on the host, of
// which the guest removed this one, is deleted, so that the others are the host's again.
func (p *puller) dropOrigin(tx *sqlvfs.Tx, at string) error {
	n := p.origins[at]
	if n == nil || n.Attr.IsDir() || p.session != nil { // it keeps its number as long as programs may know it
		return nil
	}
	return withRow(tx, n.Ino, func(row *sqlvfs.Inode) error {
		o := row.Origin
		switch {
		case o == nil || o.Path != at:
		case p.showing[n.Ino]:
		case p.named[n.Ino] == 0 && !ownContent(n):
			row.Attr.Nlink = 0
			tx.Dirty(row)
		case p.named[n.Ino] > 0 && o.Limit == 0:
			row.Attr.Nlink = min(row.Attr.Nlink, p.named[n.Ino]) // it counted the host's other names too
			tx.SetOrigin(row, nil)
		}
		return nil
	})
}
