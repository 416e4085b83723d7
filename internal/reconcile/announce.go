package reconcile

import (
	"path"
	"slices"

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
			if o.there != 0 || o.do == remove || o.do == keep || o.node == nil || o.in == nil || o.in.node == nil || o.in.node.Origin == nil {
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

// prepareSession has the session know what was written down, and wait if rows are going to depend on it.
func (p *puller) prepareSession() error {
	if p.session == nil {
		return nil
	}
	err := p.store.Sync()
	if err == nil && p.journaled {
		err = p.session.Hold()
	}
	return p.opt.writing(err)
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
