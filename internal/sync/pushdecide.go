package sync

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// loadGuest reads the whole tree of the database as it was before the push, which is needed only
// where the host's differs from its baseline.
func (p *pusher) loadGuest() (*planner, error) {
	if p.guest != nil {
		return p.guest, nil
	}
	g := &planner{ctx: p.ctx, opt: p.opt, report: p.report, host: p.host, store: p.rows.store, name: p.name, base: p.base}
	p.rows.store.Lock()
	defer p.rows.store.Unlock()
	var err error
	if g.tree, err = p.rows.store.Snapshot(); err != nil {
		return nil, err
	}
	g.tree.Refer(p.referred)
	g.top = g.tree.Child(g.tree.Node(sqlvfs.RootIno), p.name)
	if g.top != nil && !g.top.Attr.IsDir() {
		g.top = nil
	}
	if err := g.index(p.tree); err != nil {
		return nil, err
	}
	if p.agreed, err = p.rows.store.Agreed(); err != nil {
		return nil, err
	}
	p.guest = g
	return g, nil
}

// at returns what the guest has at a path, what both sides last agreed about it, and what the host
// has; hidden tells whether the guest has hidden the host's without anything having been written down
// about it, as older versions did.
func (p *pusher) at(rel string, st *unix.Stat_t) (a *item, hidden bool, err error) {
	a = &item{path: rel}
	p2, err := p.loadGuest()
	if err != nil {
		return nil, false, err
	}
	p2.meet(a, st)
	dir := p2.top
	for name := range strings.SplitSeq(rel, "/") {
		if dir == nil || rel == "." {
			break
		}
		if !dir.Attr.IsDir() {
			dir, hidden = nil, true
			break
		}
		hidden = hidden || slices.Contains(dir.Whiteouts, name) && p2.tree.Child(dir, name) == nil
		dir = p2.tree.Child(dir, name)
	}
	if a.node = dir; dir != nil {
		a.attr, a.target = dir.Attr, dir.Target
	}
	a.was = p2.baselineOf(a)
	return a, hidden && a.was == nil, nil
}

// changed tells whether a file or a link of the host is to be stored. Most are not, and of these
// nothing but the attributes is looked at.
func (p *pusher) changed(d *folder, at string, st *unix.Stat_t) (bool, error) {
	b := p.base[at]
	if b != nil && b.Fingerprint == fingerprintOf(st) {
		if st.Nlink > 1 && !d.hidden {
			p.links[objectOf(st)] = &stored{ino: b.Row, hash: b.Hash}
		}
		return false, p.complete(at, st)
	}
	if p.rows.store == nil || d.live || d.fresh {
		return !d.live, nil
	}
	a, hidden, err := p.at(at, st)
	if err != nil {
		return false, p.storeFailed(err)
	}
	g := p.guest
	if !hidden && a.was != nil && !g.hostChanged(a) {
		if a.node != nil && a.was.Fingerprint != fingerprintOf(st) && !g.guestChanged(a) {
			return true, nil // touched: its times are new
		}
		return false, p.complete(at, st)
	}
	switch {
	case a.node == nil && a.was == nil && !hidden && !d.hidden:
		return true, nil // made on the host
	case a.node != nil && p.untouched(a, map[sqlvfs.Ino]bool{}):
		return true, nil
	case p.equalNow(a):
		return true, nil // only to be written down
	}
	return p.settle(at, a), nil
}

// equalNow tells whether both sides have the same at a path.
func (p *pusher) equalNow(a *item) bool {
	if a.node == nil || a.there != kind(a.attr.Mode) {
		return false
	}
	if a.there == unix.S_IFLNK {
		return p.guest.sameTarget(a)
	}
	if o := a.node.Origin; o != nil && o.Limit > 0 {
		a.source, a.version = o.Path, o.Fingerprint
	}
	same, err := p.guest.equal(a)
	return err == nil && same
}

// settle names a conflict, and tells whether the host's is taken.
func (p *pusher) settle(at string, a *item) bool {
	if p.opt.Force {
		return true
	}
	p.report.conflict(p.guestPath(at), conflictText(a))
	return false
}

// untouched tells whether the guest has changed nothing of what it has at a path, since it agreed with
// the host or with another directory of the host. seen guards against directories that hold
// themselves.
func (p *pusher) untouched(a *item, seen map[sqlvfs.Ino]bool) bool {
	n := a.node
	agreed := a.was == nil && p.agreed[n.Ino] == n.Attr.Ctime
	if !n.Attr.IsDir() {
		return agreed || a.was != nil && !p.guest.guestChanged(a)
	}
	if !agreed && (a.was == nil || a.was.Row != n.Ino) || seen[n.Ino] || len(a.path) > maxPath {
		return false
	}
	seen[n.Ino] = true
	for _, e := range n.Children {
		c := &item{path: join(a.path, e.Name), node: p.guest.tree.Node(e.Ino)}
		c.was = p.guest.baselineOf(c)
		if !p.untouched(c, seen) {
			return false
		}
	}
	return true
}

// complete brings into the database what a session has left on the host of a file that it changed a
// part of, so that the database does not need the host's any more.
func (p *pusher) complete(at string, st *unix.Stat_t) error {
	s, ok := p.supplied[at]
	if !ok || s.Limit == 0 || p.opt.DryRun || kind(st.Mode) != unix.S_IFREG {
		return nil
	}
	row, err := p.rows.get(s.Ino)
	if err != nil {
		return p.storeFailed(err)
	}
	defer p.rows.put(row)
	if row.Origin == nil || row.Origin.Fingerprint != fingerprintOf(st) {
		return nil
	}
	f, err := p.host.openFile(at)
	if err != nil {
		return err
	}
	defer f.Close()
	err = p.rows.store.Fill(row, f, st.Blocks*512 < st.Size, func(int) error { return p.ctx.Err() })
	if err != nil && p.ctx.Err() != nil {
		return &storeError{errInterrupted}
	}
	return err
}

// folder decides about a directory of the host, and stores what changed of its own attributes.
func (p *pusher) folder(d *folder, st *unix.Stat_t) error {
	d.hidden, d.live = d.in.hidden, d.in.live
	b := p.base[d.rel]
	if b != nil && b.Row != 0 && kind(b.Mode) == unix.S_IFDIR && b.Mode == st.Mode && !d.hidden {
		return nil // its times follow from its entries
	}
	if p.rows.store == nil || d.in.fresh {
		_, err := p.putDir(d, st)
		return err
	}
	a, hidden, err := p.at(d.rel, st)
	if err != nil {
		return err
	}
	if a.node != nil && a.node.Attr.IsDir() {
		d.hidden, d.live = false, false
		if a.was != nil && a.was.Mode&0o7777 != 0 && a.node.Attr.Mode != a.was.Mode {
			if !p.guest.hostChanged(a) || a.node.Attr.Mode != st.Mode && !p.settle(d.rel, a) {
				return nil // the guest's mode stays
			}
		}
		_, err := p.putDir(d, st)
		return err
	}
	if n := p.guest.origins[d.rel]; n != nil && a.node == nil && n.Attr.IsDir() {
		d.hidden, d.live = true, true // the guest has renamed it
		return nil
	}
	if d.live && a.was == nil {
		return nil
	}
	if a.was != nil && kind(a.was.Mode) == unix.S_IFDIR || hidden || d.hidden {
		d.hidden, d.live = true, false // the guest has removed or replaced it; its files tell the rest
		return nil
	}
	removed := a.node == nil && a.was != nil
	if (removed || a.node != nil && !p.untouched(a, nil)) && !p.settle(d.rel, a) {
		d.hidden, d.live = true, true
		return nil
	}
	_, err = p.putDir(d, st)
	return err
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
	_, err = p.putDir(d, &st)
	return err
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
	var err error
	d.row, err = p.existing(d.in.row, d.name, unix.S_IFDIR)
	return err
}

// deleted removes from the database what the host has removed.
func (p *pusher) deleted() error {
	if p.rows.store == nil {
		return nil
	}
	var gone []string
	check := func(at string) error {
		if at == "." || skipped(at) != "" {
			return nil
		}
		_, err := p.host.stat(at)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			gone = append(gone, at)
		}
		return p.ctx.Err()
	}
	for at := range p.base {
		if !p.seen[at] {
			if check(at) != nil {
				return errInterrupted
			}
		}
	}
	for at := range p.supplied {
		if p.base[at] == nil && !p.seen[at] {
			if check(at) != nil {
				return errInterrupted
			}
		}
	}
	// What is in a directory comes before it.
	slices.SortFunc(gone, func(a, b string) int { return cmp.Compare(b, a) })
	for _, at := range gone {
		if err := p.delete(at); err != nil {
			return p.storeFailed(err)
		}
	}
	return nil
}

// delete removes a path from the database that the host has no more.
func (p *pusher) delete(at string) error {
	a, _, err := p.at(at, &unix.Stat_t{})
	if err != nil {
		return err
	}
	if a.was == nil {
		return nil
	}
	if a.node == nil {
		p.setBaseline(at, nil) // both have removed it
		return nil
	}
	if a.node.Attr.IsDir() != (kind(a.was.Mode) == unix.S_IFDIR) || !a.node.Attr.IsDir() && p.guest.guestChanged(a) {
		if !p.settle(at, a) {
			return nil
		}
	} else if a.node.Attr.IsDir() && a.was.Row != a.node.Ino {
		return nil // another one, that the guest has made
	}
	dir, err := p.rows.walk(p.name, path.Dir(at))
	if err != nil || dir == nil {
		return err
	}
	defer p.rows.put(dir)
	row, err := p.rows.child(dir, path.Base(at))
	if err != nil || row == nil {
		return err
	}
	defer p.rows.put(row)
	if row.Attr.IsDir() {
		empty, err := p.rows.empty(row)
		if err != nil || !empty && !p.opt.DryRun {
			return err // it holds what the guest has made
		}
	}
	if !p.opt.DryRun {
		if err := p.rows.remove(dir, path.Base(at), row.Ino); err != nil {
			return err
		}
		p.setBaseline(at, nil)
	}
	p.report.line("DEL  %s", p.report.name(p.guestPath(at)))
	return nil
}

// setBaseline writes down what both sides agree about; nil says that there is nothing any more.
func (p *pusher) setBaseline(at string, b *sqlvfs.Baseline) {
	if p.opt.DryRun {
		return
	}
	p.rows.store.Lock()
	p.rows.store.SetBaseline(p.tree, at, b)
	p.rows.store.Unlock()
}

// agree writes down that a row is what the host has at a path.
func (p *pusher) agree(at string, st *unix.Stat_t, row *sqlvfs.Inode, hash []byte) {
	if p.opt.DryRun {
		return
	}
	p.setBaseline(at, &sqlvfs.Baseline{
		Mode: st.Mode, Fingerprint: fingerprintOf(st), Hash: hash, Row: row.Ino, RowCtime: row.Attr.Ctime,
	})
}
