package reconcile

import (
	"cmp"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// deleted removes from the database what the host has removed.
func (p *pusher) deleted() error {
	if p.store == nil {
		return nil
	}
	var list []string
	look := func(at string) {
		if at == "." || p.seen[at] || !p.limit.Has(at) || skipped(at) != "" || p.ctx.Err() != nil {
			return
		}
		if _, err := p.host.stat(at); gone(err) {
			list = append(list, at)
		}
	}
	for at := range p.base {
		look(at)
	}
	for at := range p.supplied {
		if p.base[at] == nil {
			look(at)
		}
	}
	if p.ctx.Err() != nil {
		return errInterrupted
	}
	// What is in a directory comes before it.
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(b, a) })
	less := map[sqlvfs.Ino]int{} // entries that directories have lost
	for _, at := range list {
		if err := p.delete(at, less); err != nil {
			return p.storeFailed(err)
		}
	}
	return nil
}

// delete removes a path from the database that the host has no more.
func (p *pusher) delete(at string, less map[sqlvfs.Ino]int) error {
	a, _, err := p.at(at, &unix.Stat_t{})
	if err != nil {
		return err
	}
	n := a.node
	dir, _ := p.node(path.Dir(at))
	switch {
	case a.was == nil:
		return nil
	case n == nil || dir == nil || p.within(at):
		p.setBaseline(at, nil) // both have removed it
		return nil
	}
	isDir := n.Attr.IsDir() && kind(a.was.Mode) == unix.S_IFDIR
	if !isDir {
		base, host, guest := p.states(a, false)
		a.decision = classify.Classify(base, host, guest)
		f := &found{item: a, at: at}
		p.leaveLinked([]*found{f})
		// What the guest changed lives on under the names that the host has left.
		if !p.kept[n.Ino] {
			p.resolveConflicts([]*found{f})
		}
		if f.left {
			return nil
		}
	} else if a.was.Row != n.Ino || less[n.Ino] < len(n.Children) {
		return nil // another one, that the guest has made, or what it holds is the guest's
	}
	if !p.opt.DryRun {
		removed, err := p.deleteEntry(at, n.Ino)
		if err != nil || !removed {
			return err
		}
		p.setBaseline(at, nil)
	}
	less[dir.Ino]++
	p.report.Line("DEL  %s", p.report.Name(p.guestPath(at)))
	return nil
}

// within reports whether a path was in a directory that something else took the place of.
func (p *pusher) within(at string) bool {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if p.replaced[dir] {
			return true
		}
	}
	return false
}

// deleteEntry removes an entry, unless another one has taken its place, or it holds something.
func (p *pusher) deleteEntry(at string, ino sqlvfs.Ino) (removed bool, err error) {
	dir, err := p.rows().walk(p.name, path.Dir(at))
	if err != nil || dir == nil {
		return false, err
	}
	defer p.rows().put(dir)
	row, err := p.rows().child(dir, path.Base(at))
	if err != nil || row == nil || row.Ino != ino {
		p.rows().put(row)
		return false, err
	}
	defer p.rows().put(row)
	if row.Attr.IsDir() {
		if empty, err := p.rows().empty(row); err != nil || !empty {
			return false, err
		}
	}
	return true, p.rows().do(func(tx *sqlvfs.Tx) error {
		if err := dropEntry(tx, dir, path.Base(at), ino); err != nil {
			return err
		}
		// A pull beside a session has hidden what it brought below the guest's own, and the host may have that name again.
		if o := dir.Origin; o != nil && (o.Base != p.name || o.Path != path.Dir(at)) {
			return nil
		}
		return tx.ClearWhiteout(dir, path.Base(at))
	})
}

// setBaseline writes down what both sides agree about; nil says that there is nothing any more.
func (p *pusher) setBaseline(at string, b *sqlvfs.Baseline) {
	if p.opt.DryRun {
		return
	}
	p.rows().set(func(tx *sqlvfs.Tx) { tx.SetBaseline(p.id, at, b) })
}
