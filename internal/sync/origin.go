package sync

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// renewOrigins lets rows whose content comes from the host refer to the files that are in place
// now. These hold all of the guest's content, so a row's own chunks stay valid too, and the
// fingerprint proves which version is meant. Rows that need no host file stay without.
//
// A directory that the guest renamed and that was made under its new name refers to that one from
// now on, so that the old one is not needed any more.
//
// Should the process be killed before this is committed, the host already has everything, and the
// next pull finds files that are the same with another fingerprint.
func (p *puller) renewOrigins() error {
	for _, a := range p.actions {
		if !a.renew || !a.done || a.incomplete {
			continue
		}
		st, err := p.host.stat(a.path)
		if err != nil {
			p.fail(a, err)
			continue
		}
		if err := p.renewOrigin(a, &st); err != nil {
			return fmt.Errorf("write %s: %w", p.opt.DB, err)
		}
	}
	return nil
}

func (p *puller) renewOrigin(a *action, st *unix.Stat_t) error {
	p.store.Lock()
	defer p.store.Unlock()
	if err := p.store.Ready(); err != nil {
		return err
	}
	row, err := p.store.Get(a.ino)
	if err != nil {
		return err
	}
	defer p.store.Put(row)
	if row.Origin == nil || kind(st.Mode) != kind(row.Attr.Mode) ||
		row.Attr.IsRegular() && (st.Size != row.Attr.Size || timespec(st.Mtim) != row.Attr.Mtime) {
		return nil // someone changed the host's file already: the next pull will see it
	}
	o := sqlvfs.Origin{Base: p.name, Path: a.path, Number: row.Origin.Number, Fingerprint: fingerprintOf(st)}
	if row.Origin.Limit > 0 {
		o.Limit = row.Attr.Size
	}
	p.store.SetOrigin(row, &o)
	return nil
}
