package reconcile

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// folder decides about a directory of the host, and stores what changed of its own attributes.
func (p *pusher) folder(d *folder, st *unix.Stat_t) error {
	d.hidden, d.live, d.left = d.in.hidden, d.in.live, d.in.left
	b := p.base[d.rel]
	if b != nil && b.Row != 0 && kind(b.Mode) == unix.S_IFDIR && b.Mode == st.Mode && !d.hidden {
		return nil // its times follow from its entries
	}
	a, hidden, err := p.at(d.rel, st)
	if err != nil {
		return err
	}
	isDir := a.node != nil && a.node.Attr.IsDir()
	hidden = hidden && a.was == nil && !d.in.fresh
	n := p.origins[d.rel]
	switch {
	case isDir:
		d.hidden, d.live = false, false
	case n != nil && a.node == nil && n.Attr.IsDir():
		d.hidden, d.live = true, true // the guest has renamed it
		return nil
	case d.live && a.was == nil:
		return nil
	case a.was != nil && kind(a.was.Mode) == unix.S_IFDIR || hidden || d.hidden:
		d.hidden, d.live = true, false // the guest has removed or replaced it; its files tell the rest
		return nil
	case p.beside && a.node == nil && p.shown(d.rel, d.in) != "":
		d.fresh = d.in.fresh
		return nil
	}
	d.fresh = !isDir
	if !p.limit.Has(d.rel) {
		return nil // it is made when it is to hold something
	}
	base, host, guest := p.states(a, a.node == nil && a.was != nil)
	a.decision = classify.Classify(base, host, guest)
	f := &found{item: a, at: d.rel}
	p.resolveConflicts([]*found{f})
	if f.left || f.decision.Mode == classify.Guest {
		d.hidden, d.live, d.left = d.hidden || !isDir, d.live || !isDir, d.left || !isDir
		return nil
	}
	return p.putDir(d, st)
}

// ensure finds a directory's row, or makes it where the guest has none and it is to hold something.
func (p *pusher) ensure(d *folder) error {
	if d.in == nil {
		return nil
	}
	if err := p.ensure(d.in); err != nil {
		return err
	}
	if err := p.resolve(d); err != nil || d.row != nil || p.opt.DryRun {
		return err
	}
	st, err := p.host.stat(d.rel)
	if err != nil {
		return err
	}
	d.hidden, d.live = false, false
	return p.putDir(d, &st)
}

// resolve finds a directory's row.
func (p *pusher) resolve(d *folder) error {
	if d.looked || d.row != nil || d.in == nil {
		return nil
	}
	if err := p.resolve(d.in); err != nil || d.in.row == nil {
		return err
	}
	d.looked = true
	if p.late && !slices.Contains(p.reopened, d) {
		p.reopened = append(p.reopened, d)
	}
	var err error
	d.row, err = p.existing(d.in.row, d.name, unix.S_IFDIR)
	return err
}

// putDir makes an entry a directory with the host's attributes, and d.row its row. It prints one of
// which more than the times changed: those follow from its entries. A new directory has its origin
// at the host's path, so that what appears there after the push still shows in a session; in a self-contained database,
// where that would not show elsewhere either, it has none.
func (p *pusher) putDir(d *folder, st *unix.Stat_t) error {
	if err := p.ensure(d.in); err != nil {
		return err
	}
	if err := p.resolve(d); err != nil {
		return err
	}
	attr := attrOf(st)
	changed := d.row == nil || !sameOwnerAndMode(&d.row.Attr, &attr)
	if !p.opt.DryRun {
		if err := p.makeDir(d, st); err != nil {
			return err
		}
		p.agree(d.rel, st, d.row, nil)
	}
	if changed && d.rel != "." {
		p.report.Line("DIR  %s (%s)", p.report.Name(p.guestPath(d.rel)), p.inoText(d.row, false))
	}
	return nil
}

func (p *pusher) makeDir(d *folder, st *unix.Stat_t) error {
	attr := attrOf(st)
	fresh := d.row == nil
	if fresh {
		row, err := p.rows().create(attr)
		if err != nil {
			return err
		}
		d.row = row
	}
	d.in.changed = d.in.changed || fresh
	return p.rows().update(d.in.row, d.name, d.row, func(tx *sqlvfs.Tx) {
		p.setAttr(d.row, attr)
		if o := d.row.Origin; fresh && !p.contained() || d.rel == "." && o != nil && o.Fingerprint.Ino != st.Ino {
			tx.SetOrigin(d.row, &sqlvfs.Origin{
				Base: p.name, Path: d.rel, Number: uint64(d.row.Ino), Fingerprint: hostfs.Fingerprint(st), Mode: st.Mode,
			})
		}
	})
}
