package reconcile

import (
	"cmp"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
)

// verb is what an operation does to a path of the host.
type verb int

const (
	keep       verb = iota // nothing, but both sides are equal now, which is to be written down
	mkdir                  // make a directory
	chmodDir               // set a directory's mode
	write                  // write a file
	attributes             // set a file's mode, times and extended attributes; its content is right
	hardLink               // make it another name of a file
	symlink                // make a symbolic link
	remove                 // remove it
)

// operation is what is to be done to one path of the host, and how far it has come.
type operation struct {
	*item
	do     verb
	other  *item  // of a hard link: the file that it is another name of
	part   bool   // a part of the guest's changes is pulled: the rest stays the guest's
	bytes  []byte // of that: the content
	copyOf *item  // it goes under another name, beside this one, which is in conflict
	agreed bool   // keep: also where nothing of the guest's was pulled

	patch bool // of a file: its changed chunks are written into the host's

	tmp  string       // its name in the staging directory, once it is there
	tree *operation   // the new directory that it is staged in, or is; nil: it is staged on its own
	hash []byte       // of its content, once it is staged
	is   *unix.Stat_t // what is in its place when it is done; nil: that is not known yet
	err  error        // why it could not be staged

	after     []*operation // what is to be done before
	turn      turn
	done      bool
	touched   bool // of a directory: an entry was changed
	announced bool // see announceNames
}

// replaces reports whether what the host has at the path goes.
func (o *operation) replaces() bool {
	return o.there != 0 && o.do != keep && o.do != chmodDir && o.do != attributes && (o.do != mkdir || o.there != unix.S_IFDIR)
}

// plan adds what is to be done about an item, and before it the directories that it needs.
func (p *planner) plan(a *item, o *operation) {
	if o.do != keep && o.do != chmodDir {
		if !p.need(a.in) {
			p.leave(a)
			return
		}
		if a.in != nil && a.in.op != nil {
			a.in.op.touched = true
		}
	}
	o.item, a.op = a, o
}

// planFile plans what brings the guest's version of a file.
func (p *planner) planFile(a *item) {
	first := a.link
	if a.node != nil && a.attr.Nlink > 1 && !a.whole {
		if first = p.files[a.node.Ino]; first == nil || first.left || first.op == nil && first.there != unix.S_IFREG {
			first, p.files[a.node.Ino] = nil, a
		}
	} else if a.node == nil && first == nil && a.attr.Nlink > 1 {
		if first = p.copies[a.version]; first == nil || first.left {
			first, p.copies[a.version] = nil, a
		}
	}
	d := a.decision
	if first != nil && first.decision.Content == classify.Host && a.there == unix.S_IFREG && d.Kind == classify.Agreed && d.Content == classify.Agreed &&
		!sameObject(a, first) {
		first = nil // what both have here is not given up for what the host wrote under the other name
	}
	may := func() bool { return d.Pull() || p.asked(a) }
	placed := first != nil && (first.op == nil || first.op.do == keep || first.op.do == attributes)
	switch {
	case d.Kind == classify.Host:
		return // what the host has put there stays, or that it has nothing: the guest has only given the file another name
	case a.attr.IsSymlink():
		if d.Pull() || p.retimed(a) && may() {
			p.plan(a, &operation{do: symlink})
			return
		}
	case placed && a.there == unix.S_IFREG && sameObject(a, first): // it is that already
	case first != nil && d.Content == classify.Host && first.decision.Content != classify.Host:
		return // what the host wrote stays; the other name gets what the guest has
	case first != nil && (d.Pull() || p.guestChanged(a)) && may():
		if first.decision.Content == classify.Host { // what the host wrote to it
			a.attr, a.whole, a.base = first.attr, true, first.was
			a.attr.Size, a.attr.Mtime = first.host.Size, first.host.Mtime
		}
		p.plan(a, &operation{do: hardLink, other: first})
		return
	case d.Kind == classify.Guest || d.Content == classify.Guest:
		p.planWrite(a)
		return
	case d.Pull() || p.retimed(a) && may():
		if a.host.Nlink > 1 || a.attr.Nlink > 1 { // names may be outside of the workspace: it is written anew
			a.source, a.version, a.whole = a.path, a.now, true
			p.planWrite(a)
			return
		}
		p.plan(a, &operation{do: attributes})
		return
	}
	if a.node != nil && !d.Push() && p.guestChanged(a) {
		p.agree(a)
	}
}

func (p *planner) planWrite(a *item) {
	if a.source != "" && !p.sourceThere(a) {
		a.conflict = cmp.Or(a.conflict, p.lostText(a))
		p.policy.broken(a)
		p.leave(a)
		return
	}
	p.plan(a, &operation{do: write})
}

// retimed reports whether nothing but the guest's time of a file is news to the host: where both were found to be equal, each has its own.
func (p *planner) retimed(a *item) bool {
	return a.there == kind(a.attr.Mode) && a.was != nil && a.was.Fingerprint == a.now && a.host.Mtime != a.attr.Mtime && p.guestChanged(a) &&
		!a.decision.Push() && (a.node == nil || a.was.RowCtime != a.node.Attr.Ctime)
}

// agree notes that both sides are equal.
func (p *planner) agree(a *item) {
	if p.limit.Has(a.path) {
		p.plan(a, &operation{do: keep, agreed: true, done: true})
	}
}

// need plans a directory that the host has no more, or has something else in the place of.
func (p *planner) need(d *item) bool {
	switch {
	case d == nil:
		return true
	case d.left:
		return d.there == unix.S_IFDIR
	case !d.lazy:
		return true
	}
	d.lazy = false
	if d.there != 0 {
		d.decision.Kind = classify.Conflict
	}
	if !p.need(d.in) || !p.permitted(d) {
		p.leave(d)
		return false
	}
	p.plan(d, &operation{do: mkdir})
	return true
}
