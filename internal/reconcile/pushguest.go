package reconcile

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// loadGuest reads the whole tree of the database as it was before the push, which is needed only
// where the host's differs from its baseline.
func (p *pusher) loadGuest() error {
	if p.tree != nil {
		return nil
	}
	if p.store == nil {
		p.tree = &sqlvfs.Snapshot{}
		p.index()
		return nil
	}
	err := p.store.View(func(tx *sqlvfs.Tx) (err error) {
		if p.agreed, err = tx.Agreed(); err == nil {
			err = p.loadTree(tx)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.findAbsent(); err != nil {
		return err
	}
	if p.absent != nil {
		p.top = nil
	}
	p.copiedUp = map[object]*sqlvfs.Node{}
	for _, n := range p.origins {
		if o := n.Origin; p.sameTree && n.Attr.IsRegular() && (p.named[n.Ino] > 0 || ownContent(n)) && n.Attr.Nlink > 0 {
			of := object{o.Dev, o.Fingerprint.Ino}
			if was := p.copiedUp[of]; was == nil || n.Ino < was.Ino { // not by the order of a map
				p.copiedUp[of] = n
			}
		}
	}
	return nil
}

// at returns what the guest has at a path, what both sides last agreed about it, and what the host
// has; hidden reports whether the host's does not show through there.
func (p *pusher) at(rel string, st *unix.Stat_t) (a *item, hidden bool, err error) {
	if err := p.loadGuest(); err != nil {
		return nil, false, err
	}
	a = &item{path: rel}
	p.meet(a, st)
	n, hidden := p.node(rel)
	a.has(n)
	a.was = p.baselineOf(a)
	return a, hidden, nil
}

// node returns the row at a path, or nil; hidden reports whether the host's does not show through there.
func (p *pusher) node(rel string) (n *sqlvfs.Node, hidden bool) {
	if p.top == nil {
		return nil, false
	}
	n, dir, rest := p.walk(rel)
	return n, n == nil && hides(dir, rest)
}

// has notes what the guest has.
func (a *item) has(n *sqlvfs.Node) {
	if a.node = n; n == nil {
		return
	}
	a.attr, a.target = n.Attr, n.Target
	if o := n.Origin; o != nil && o.Limit > 0 && n.Attr.IsRegular() {
		a.source, a.version = o.Path, o.Fingerprint
	}
}

// elsewhere returns the row that stands for a host file which has none at its path, and the baseline of
// both: the guest renamed it, or changed it under another of the host's names, or the host renamed what
// the guest changed.
func (p *pusher) elsewhere(a *item, removed bool) (*sqlvfs.Node, *sqlvfs.Baseline) {
	stands := func(n *sqlvfs.Node) bool { return n != nil && n.Attr.IsRegular() && len(p.names(n.Ino)) > 0 }
	if n := p.origins[a.path]; p.sameTree && stands(n) {
		return n, a.was
	}
	if b := a.was; b != nil && b.Row != 0 && stands(p.tree.Node(b.Row)) {
		return p.tree.Node(b.Row), b
	}
	n, was := p.copiedUp[object{a.now.Dev, a.now.Ino}], a.was
	if stands(n) || n != nil && !removed && p.named[n.Ino] == 0 { // it shows under the host's other names
		if was == nil {
			was = p.base[n.Origin.Path]
		}
		if was == nil {
			was = n.Baseline()
		}
		replaced := removed && a.was != nil && a.was.Row != 0 && a.was.Row != n.Ino // what the guest removed here was another file
		if !replaced && (a.was != nil || p.nameOf(n.Origin.Path, a) || p.movedFrom(a, was)) {
			return n, was
		}
	}
	if a.was != nil || removed {
		return nil, nil
	}
	from := p.pathOf(object{a.now.Dev, a.now.Ino})
	was = p.base[from]
	if was == nil || was.Row == 0 || !p.nameOf(from, a) && !p.movedFrom(a, was) {
		return nil, nil
	}
	if n := p.tree.Node(was.Row); stands(n) && was.RowCtime != n.Attr.Ctime {
		return n, was
	}
	return nil, nil
}

// ownContent reports whether a row has other content than the host file that it was copied up from had.
func ownContent(n *sqlvfs.Node) bool {
	o := n.Origin
	return n.Holds || o.Limit < n.Attr.Size || o.Size != n.Attr.Size
}

// nameOf reports whether a path is another name of a file of the host.
func (p *pusher) nameOf(at string, a *item) bool {
	st, err := p.host.stat(at)
	return err == nil && objectOf(&st) == object{a.now.Dev, a.now.Ino}
}

// movedFrom reports whether a file is one that both sides knew under another name. The number alone does not:
// file systems use it again.
func (p *pusher) movedFrom(a *item, was *sqlvfs.Baseline) bool {
	if a.now.Size != was.Size || a.now.Mtime != was.Mtime {
		return false
	}
	if was.Hash == nil {
		return true
	}
	host, err := p.hostContent(a)
	return err == nil && host.hashes(p.ctx, was.Hash)
}

// pathOf returns where a host file was when both sides last agreed.
func (p *pusher) pathOf(o object) string {
	if p.paths == nil {
		p.paths = make(map[object]string, len(p.base))
		for at, b := range p.base {
			if kind(b.Mode) == unix.S_IFREG && b.Row != 0 {
				of := object{b.Dev, b.Fingerprint.Ino}
				if was, ok := p.paths[of]; !ok || at < was {
					p.paths[of] = at
				}
			}
		}
	}
	return p.paths[o]
}

// names returns the names that a file's row has in the workspace, in order.
func (p *pusher) names(ino sqlvfs.Ino) []string {
	if p.rowNames == nil {
		p.rowNames = map[sqlvfs.Ino][]string{}
		for dir, at := range p.places {
			for _, e := range p.tree.Node(dir).Children {
				p.rowNames[e.Ino] = append(p.rowNames[e.Ino], join(at, e.Name))
			}
		}
		for _, names := range p.rowNames {
			slices.Sort(names) // not by the order of a map
		}
	}
	return p.rowNames[ino]
}

// states returns what there is to classify. removed reports whether the guest has no such name, though both
// sides had it.
func (p *pusher) states(a *item, removed bool) (base, host, guest classify.State) {
	host.Kind, guest.Kind = classify.KindOf(a.there), classify.KindOf(a.attr.Mode)
	if a.was != nil {
		base.Kind = classify.KindOf(a.was.Mode)
	}
	switch {
	case removed && a.node == nil && a.was == nil: // older versions did not write down what the guest removed
		base.Kind, host.Content = host.Kind, 1
		return base, host, guest
	case !removed && a.node == nil: // it shows the host's
		guest.Kind = base.Kind
		if base.Kind == host.Kind && a.was != nil && host.Kind != classify.Symlink && a.was.Mode&0o7777 != 0 {
			base.Mode, host.Mode = a.was.Mode&modeBits, a.host.Mode&modeBits
			guest.Mode = base.Mode
		}
	case a.node != nil && host.Kind == guest.Kind:
		p.attributes(a, &base, &host, &guest)
	}
	untouched := a.node == nil || p.untouched(a, map[sqlvfs.Ino]bool{})
	if untouched && a.was == nil {
		base = guest // whatever it agreed with, it has not been changed since
	}
	hostWrote := base.Kind != host.Kind || p.hostWrote(a)
	stored := a.node != nil && a.was != nil && a.was.Row == a.node.Ino && p.written[a.node.Ino]
	guestWrote := base.Kind != guest.Kind || !untouched && !stored && (a.attr.IsDir() || p.guestWrote(a))
	if host.Kind == classify.Dir && guest.Kind == classify.Dir {
		return base, host, guest
	}
	host.Content, guest.Content = classify.Contents(hostWrote, guestWrote, func() bool {
		same, err := p.equalContent(a)
		return err == nil && same && a.node != nil
	})
	return base, host, guest
}

// untouched reports whether the guest has changed nothing of what it has at a path, since it agreed with
// the host or with another directory of the host. seen guards against directories that hold
// themselves.
func (p *pusher) untouched(a *item, seen map[sqlvfs.Ino]bool) bool {
	n := a.node
	agreed := a.was == nil && p.agreed[n.Ino] == n.Attr.Ctime
	if !n.Attr.IsDir() {
		return agreed || a.was != nil && a.was.Row == n.Ino && a.was.RowCtime == n.Attr.Ctime
	}
	if !agreed && (a.was == nil || a.was.Row != n.Ino) || seen[n.Ino] || len(a.path) > maxPath {
		return false
	}
	seen[n.Ino] = true
	for _, e := range n.Children {
		c := &item{path: join(a.path, e.Name), node: p.tree.Node(e.Ino)}
		c.was = p.baselineOf(c)
		if !p.untouched(c, seen) {
			return false
		}
	}
	return true
}

// gone reports whether an error says that the host has nothing at a path.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
