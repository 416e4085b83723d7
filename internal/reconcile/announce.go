package reconcile

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// announceNames has the names hidden that are about to be new on the host, below the guest's own entries. The guest may have
// moved or removed these by then, and would see what the host has got in their place.
func (p *puller) announceNames(order []*operation) error {
	if p.session == nil {
		return nil
	}
	return p.rows().do(func(tx *sqlvfs.Tx) error {
		for _, o := range order {
			if o.there != 0 || o.do == remove || o.do == keep || o.copyOf != nil || o.node == nil || o.in == nil || o.in.node == nil || o.in.node.Origin == nil {
				continue
			}
			name := path.Base(o.path)
			if slices.Contains(o.in.node.Whiteouts, name) {
				continue
			}
			if err := withRow(tx, o.in.node.Ino, func(dir *sqlvfs.Inode) error { return tx.SetWhiteout(dir, name) }); err != nil {
				return err
			}
			o.announced = true
		}
		return nil
	})
}

// prepareSession has the session know what was written down, and wait if rows are going to depend on it. What is printed then
// waits too: while a terminal takes nothing, the session must not stand still. What was staged is synced before, which may
// take long on a slow disk.
func (p *puller) prepareSession() error {
	if p.session == nil {
		return nil
	}
	err := p.store.Sync()
	if err == nil && p.depends {
		err = p.syncStaged()
	}
	p.report.Pause()
	if err == nil && p.depends {
		err = p.session.Hold()
	}
	return p.opt.writing(err)
}

// syncStaged makes durable what was staged.
func (p *puller) syncStaged() error {
	st, err := hostfs.Stat(p.host.dir)
	if err == nil {
		err = p.host.syncAt(".", st.Dev)
	}
	return p.host.failed(err)
}

// withdrawNames has the names show again that are not on the host after all.
func (p *puller) withdrawNames() error {
	for _, o := range p.ops {
		if !o.announced || o.done {
			continue
		}
		err := p.rows().with(o.in.node.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error { return tx.ClearWhiteout(dir, path.Base(o.path)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// commitCopies says where the copies are of what the guest has moved with a directory above. They have no rows; but the guest
// may have changed them since.
func (p *puller) commitCopies() {
	if p.session == nil || !p.sameTree {
		return
	}
	for _, a := range p.items {
		if a.from == "" || a.left || a.incomplete || !a.equal() {
			continue
		}
		st, err := p.copied(a)
		if err != nil || kind(st.Mode) != kind(a.attr.Mode) || a.attr.IsRegular() && (st.Size != a.attr.Size || hostfs.Timespec(st.Mtim) != a.attr.Mtime) {
			continue // someone changed it already
		}
		was := sqlvfs.Origin{Base: p.name, Path: a.from, Fingerprint: a.version}
		is := sqlvfs.Origin{Base: p.name, Path: a.path, Fingerprint: hostfs.Fingerprint(&st), Mode: st.Mode}
		p.rows().set(func(tx *sqlvfs.Tx) { tx.SetPlace(sqlvfs.Place{Tree: p.id, Was: was, Is: is}) })
	}
}

// copied returns what is in the place of a copy.
func (p *puller) copied(a *item) (unix.Stat_t, error) {
	if a.op == nil || !a.isDir() && a.attr.Nlink > 1 { // another link changes the first one
		return p.host.stat(a.path)
	}
	return p.placed(a.op)
}

// equal reports whether both sides have the same in the end.
func (a *item) equal() bool {
	if o := a.op; o != nil && o.do != keep && o.do != chmodDir {
		return o.done
	}
	return a.there == kind(a.attr.Mode) && a.decision.Kind == classify.Agreed && a.decision.Content == classify.Agreed
}
