package reconcile

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

var errLoop = errors.New("directory has more than one place in the database")

// gather finds the items: every path that has a row, or that the guest has removed, or that came along with a
// directory that it renamed. The error is one that ends the run.
func (p *planner) gather() error {
	root := &item{path: ".", attr: p.top.Attr, node: p.top}
	st, err := hostfs.Stat(p.host.dir)
	if err != nil {
		return p.host.failed(err)
	}
	p.meet(root, &st)
	root.was = p.baselineOf(root)
	p.addItem(root)
	if err := p.gatherDir(root); err != nil {
		return err
	}
	if err := p.gatherLinks(root); err != nil {
		return err
	}
	for _, u := range p.tree.Unseen {
		if dir := p.entered[u.Dir]; dir != nil {
			p.report.Fail(p.hostPath(dir.path)+"/"+u.Name, fmt.Errorf("not an entry that can be: %s", u.Why))
			dir.lacks()
		}
	}
	return nil
}

// addItem classifies an item, and keeps it.
func (p *planner) addItem(a *item) {
	p.classify(a)
	p.items = append(p.items, a)
}

// gatherDir gathers what is in a directory of the database.
func (p *planner) gatherDir(a *item) error {
	// Linux knows no hard links to directories, so whatever comes twice is made up: a loop, or a
	// tree that unfolds without end.
	if p.entered[a.node.Ino] != nil {
		p.policy.fail(a, errLoop)
		return nil
	}
	p.entered[a.node.Ino] = a
	d, err := p.openThere(a)
	if err != nil {
		if !errors.Is(err, unix.EACCES) || p.knowsBelow(a) {
			p.policy.fail(a, err)
		}
		return nil
	}
	hidden := make(map[string]bool, len(a.node.Children)+len(a.node.Whiteouts))
	// Descending may go deep: the descriptor is closed before it.
	var below []*item
	for _, e := range a.node.Children {
		if err := p.interrupted(); err != nil {
			d.close()
			return err
		}
		hidden[e.Name] = true
		if c := p.gatherEntry(a, d, e.Name, p.tree.Node(e.Ino)); c != nil {
			below = append(below, c)
		}
	}
	gone := p.gone(a, d, hidden)
	for _, name := range a.node.Whiteouts {
		hidden[name] = true
	}
	err = p.gatherGone(a, d, gone)
	d.close()
	if err != nil {
		return err
	}
	for _, c := range below {
		if err := p.gatherDir(c); err != nil {
			return err
		}
	}
	if o := a.node.Origin; o != nil && o.Path != a.path {
		p.renamed = append(p.renamed, a)
		return p.gatherRenamed(a, o, hidden)
	}
	return nil
}

// knowsBelow tells whether anything of what is below a directory is the guest's, or was agreed on. If not, it does not matter that the
// host lets nobody read it.
func (p *planner) knowsBelow(a *item) bool {
	o := a.node.Origin
	return len(a.node.Children)+len(a.node.Whiteouts)+len(p.byDir[a.path]) > 0 || o != nil && o.Path != a.path
}

// gatherEntry gathers one entry of a directory, except what is below it. A directory to enter it returns.
func (p *planner) gatherEntry(in *item, d dir, name string, n *sqlvfs.Node) *item {
	a := &item{path: join(in.path, name), in: in, node: n, attr: n.Attr, target: n.Target, xattrs: n.Xattrs}
	if !p.look(a, d, name) {
		return nil
	}
	a.was = p.baselineOf(a)
	switch kind(a.attr.Mode) {
	case unix.S_IFDIR:
		p.addItem(a)
		return a
	case unix.S_IFREG:
		p.gatherFile(a)
	case unix.S_IFLNK:
		if p.guestChanged(a) {
			p.addReplacing(a)
		}
	default:
		p.report.Note(p.hostPath(a.path), "skipped: it is a "+hostfs.KindName(a.attr.Mode))
	}
	return nil
}

func (p *planner) gatherFile(a *item) {
	if !p.guestChanged(a) {
		if a.attr.Nlink > 1 && a.there == unix.S_IFREG {
			p.addItem(a) // other names of the row may be linked to it
		}
		return
	}
	if o := a.node.Origin; o != nil && o.Limit > 0 {
		a.source, a.version = o.Path, o.Fingerprint
		if o.Base != p.name {
			p.policy.fail(a, fmt.Errorf("its content is in another workspace: %s", o.Base))
			return
		}
		if o.Path != a.path && p.hides(o.Path, o.Fingerprint) {
			p.leaveHidden(a, o.Path)
			return
		}
	}
	p.follow(a)
	p.addReplacing(a)
}

// follow finds out what the host has changed of a file that the guest has renamed: if the guest has not
// written to it, it gets that under its new name.
func (p *planner) follow(a *item) {
	from, was := p.formerly(a.node)
	if was == nil || from == a.path || !a.attr.IsRegular() || p.base[a.path] != nil && p.base[a.path].Row == a.node.Ino {
		return // it is where it was, perhaps under one of several names
	}
	if n, shown := p.guestAt(from); n != nil || shown != "" {
		return // it has both names, or something else has the old one
	}
	st, err := p.host.stat(from)
	if err != nil || p.hides(from, hostfs.Fingerprint(&st)) || kind(st.Mode) != unix.S_IFREG || hostfs.Fingerprint(&st) == was.Fingerprint {
		return
	}
	old := *a
	old.path, old.was = from, was
	p.meet(&old, &st)
	p.classify(&old)
	if old.decision.Conflict() || old.decision.Content != classify.Host {
		return
	}
	p.merge(&old)
	a.attr, a.xattrs, a.source, a.version, a.whole, a.base = old.attr, old.xattrs, old.source, old.version, true, was
	p.moved[from] = a
}

// formerly returns the path at which a row and the host last agreed, and about what.
func (p *planner) formerly(n *sqlvfs.Node) (string, *sqlvfs.Baseline) {
	if o := n.Origin; o != nil && o.Base == p.name && p.sameTree {
		return o.Path, n.Baseline()
	}
	at := p.rowPaths[n.Ino]
	return at, p.base[at]
}

// addReplacing adds an item that may take the place of something, and after it what is in a directory there.
func (p *planner) addReplacing(a *item) {
	p.addItem(a)
	if a.there == unix.S_IFDIR {
		a.instead = &item{path: a.path, in: a.in, there: a.there, host: a.host, now: a.now, was: a.was, by: a}
		p.gatherRemoval(a.instead, false) // an error says that the run is interrupted, which will be seen again
	}
}

// openThere opens the directory that the host has at an item's path, if it has one.
func (p *planner) openThere(a *item) (dir, error) {
	if a.there != unix.S_IFDIR {
		return dir{}, nil
	}
	return p.host.read(a.path)
}

// look finds out what the host has at an item's path. It returns false for a path that is not
// to be touched.
func (p *planner) look(a *item, d dir, name string) bool {
	if len(a.path) > maxPath {
		p.policy.fail(a, errTooLong)
		return false
	}
	if p.ofGit(a.path) {
		return false
	}
	if why := skipped(a.path); why != "" {
		p.report.Note(p.hostPath(a.path), why)
		return false
	}
	st, err := d.stat(name)
	if err != nil {
		if refusedName(err) && p.wants(a) {
			p.refused = cmp.Or(p.refused, fmt.Errorf("%s: %w", p.hostPath(a.path), err))
		}
		p.policy.fail(a, err)
		return false
	}
	if d.hasDatabase(name, &st) {
		p.report.Note(p.hostPath(a.path), "skipped: the database itself is there")
		return false
	}
	p.meet(a, &st)
	return true
}

// meet notes what the host has at an item's path.
func (p *planner) meet(a *item, st *unix.Stat_t) {
	if a.there = kind(st.Mode); a.there != 0 {
		a.host, a.now = attrOf(st), hostfs.Fingerprint(st)
		a.host.Nlink = uint32(min(st.Nlink, 1<<31))
	}
}
