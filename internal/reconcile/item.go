package reconcile

import (
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// item is a path at which the sides may differ: what the host has there, what the guest has there, and what
// both had when they last agreed. From these follows the decision, and from that what is to be done.
type item struct {
	path string // below the workspace
	in   *item  // the directory that holds it; nil for the workspace itself

	was *sqlvfs.Baseline // what both sides last agreed about; nil: nothing

	there uint32             // type of what the host has; 0: nothing
	host  sqlvfs.Attr        // of that
	now   sqlvfs.Fingerprint // of that

	// What the guest has. Of a decision that mixes both sides, attr becomes what both are to have.
	attr   sqlvfs.Attr       // mode 0: nothing
	node   *sqlvfs.Node      // its row; nil: nothing, or it shows through from the host
	target string            // of a symbolic link
	link   *item             // it shows through from the host, which has it as another name of this one
	xattrs map[string]string // of a file that has a row

	// Where content is that the row does not hold.
	source  string             // host path, or ""
	from    string             // host path that it shows through from, in a directory that the guest has renamed
	version sqlvfs.Fingerprint // of the version of it that is meant
	whole   bool               // all content is there, whatever the row holds
	base    *sqlvfs.Baseline   // what the row's own content is known by then; nil: nothing is

	decision classify.Decision
	conflict string // why it is left alone unless the user forces it, or ""
	held     string // why it is held back unless the user allows it, or ""

	by         *item // of a directory: what takes its place
	instead    *item // removes the directory that it takes the place of
	lazy       bool  // of a directory: the host removed it, and it comes back only if something in it does
	left       bool  // it is not done
	resolved   bool  // a conflict: the user has said what becomes of each side's version
	incomplete bool  // of a directory: something below is not done

	op *operation // what is to be done; nil: nothing
}

// gone reports whether the guest has nothing at the path.
func (a *item) gone() bool { return a.attr.Mode == 0 }

// isDir reports whether it is a directory, or was before the guest removed it.
func (a *item) isDir() bool { return a.attr.IsDir() || a.gone() && a.there == unix.S_IFDIR }

// movedFrom returns where the host has had a directory that the guest has renamed; empty: it has not renamed it.
func (a *item) movedFrom(base string) string {
	from := a.source
	if n := a.node; n != nil && n.Origin != nil && n.Origin.Base == base {
		from = n.Origin.Path
	}
	if from == a.path {
		return ""
	}
	return from
}

// modeBits are what pull takes over of a mode. Set-user-ID and set-group-ID are not among them: on
// the host they would lend the caller's rights to whoever wrote the database.
const modeBits = 0o1777

// classify decides about an item.
func (p *planner) classify(a *item) {
	base, host, guest := p.states(a)
	a.decision = classify.Classify(base, host, guest)
	if a.was == nil && a.there != 0 {
		a.decision.Host = classify.Made // also where the guest removed the directory that it was made in
	}
}

// states returns what there is to classify of an item.
func (p *planner) states(a *item) (base, host, guest classify.State) {
	host.Kind, guest.Kind = classify.KindOf(a.there), classify.KindOf(a.attr.Mode)
	if a.was != nil {
		base.Kind = classify.KindOf(a.was.Mode)
	}
	switch {
	case host.Kind == guest.Kind && host.Kind != classify.None:
		p.attributes(a, &base, &host, &guest)
	case guest.Kind == classify.Dir && host.Kind == classify.None && p.within(a),
		base.Kind == classify.Dir && host.Kind == classify.None && guest.Kind != classify.Dir:
		base.Kind = classify.None // it is the guest's, whatever the host removed there
		return base, host, guest
	case guest.Kind == classify.Dir && base.Kind == classify.Dir && p.within(a):
		base.Kind = classify.None // both put something else in the place of a directory
		return base, host, guest
	case guest.Kind == classify.None && host.Kind == classify.Dir && base.Kind == classify.None:
		base.Kind = classify.Dir // its entries tell whether the guest knew it
		return base, host, guest
	case guest.Kind == classify.None && base.Kind == classify.None:
		base.Kind, host.Content = host.Kind, 1 // made where the guest removed all that it saw
		return base, host, guest
	}
	host.Content, guest.Content = p.contents(a, host.Kind, guest.Kind)
	return base, host, guest
}

// contents compares content as far as it must be known.
func (p *planner) contents(a *item, hostIs, guestIs classify.Kind) (host, guest classify.Content) {
	equal := func() bool {
		same, err := p.equalContent(a)
		return err == nil && same
	}
	has := func(is classify.Kind) bool { return is == classify.File || is == classify.Symlink }
	hostChanged, guestChanged := has(hostIs) && p.hostWrote(a), has(guestIs) && p.guestWrote(a)
	looksSame := hostIs == guestIs && a.host.Size == a.attr.Size && a.host.Mtime == a.attr.Mtime
	if guestChanged && !hostChanged && looksSame && equal() {
		guestChanged = false
	}
	return classify.Contents(hostChanged, guestChanged, equal)
}

// relinked reports whether the guest has made a name one of another file's: what the host changed of the file that was
// there is not for the others.
func (a *item) relinked() bool {
	return a.node != nil && a.attr.IsRegular() && a.attr.Nlink > 1 && a.was.Row != 0 && a.was.Row != a.node.Ino
}

// attributes fills in what objects of one kind may differ in beside their content. What the base had is
// known of the side that has not changed since. Of directories, no more is written down than their mode,
// and a mode that nobody knows is the host's.
func (p *planner) attributes(a *item, base, host, guest *classify.State) {
	hostSame, guestSame := a.was != nil && a.was.Fingerprint == a.now, !p.guestChanged(a)
	if host.Kind != classify.Symlink {
		host.Mode, guest.Mode = a.host.Mode&modeBits, a.attr.Mode&modeBits
		base.Mode = host.Mode
		if a.was != nil && kind(a.was.Mode) == a.there && a.was.Mode&0o7777 != 0 && !a.relinked() {
			base.Mode = a.was.Mode & modeBits
		}
	}
	if host.Kind == classify.Dir {
		base.Kind = classify.Dir
	}
	if p.asRoot && (a.was != nil || host.Kind == classify.Dir) {
		host.Owner = classify.Owner{UID: a.host.UID, GID: a.host.GID}
		p.keepOwner(a)
		guest.Owner = classify.Owner{UID: a.attr.UID, GID: a.attr.GID}
		base.Owner = host.Owner
		if !hostSame && guestSame {
			base.Owner = guest.Owner
		}
	}
	if host.Kind != classify.File || a.node == nil || guestSame {
		return
	}
	a.xattrs = a.node.Xattrs
	there, err := userXattrsOf(p.host.openFile(a.path))
	if err != nil {
		return // what cannot be read cannot be compared either
	}
	host.Xattrs, guest.Xattrs, base.Xattrs = classify.XattrText(there), classify.XattrText(a.xattrs), classify.Unknown
	if hostSame {
		base.Xattrs = host.Xattrs
	}
}

// keepOwner leaves a file of the host's its owner. What root's guest makes is root's, since it can give nothing
// away: in the place of somebody's file, that is nobody's wish.
func (p *planner) keepOwner(a *item) {
	if a.there == unix.S_IFREG && a.attr.UID == 0 && a.attr.GID == 0 {
		a.attr.UID, a.attr.GID = a.host.UID, a.host.GID
	}
}

// merge turns what the guest has into what both sides are to have, where each of them changed something
// else.
func (p *planner) merge(a *item) {
	d := a.decision
	if a.there != kind(a.attr.Mode) {
		return
	}
	p.mergeAttributes(a, a)
	if d.Content == classify.Host {
		a.source, a.version, a.whole, a.base = a.path, a.now, true, a.was
		a.attr.Size, a.attr.Mtime, a.attr.Atime = a.host.Size, a.host.Mtime, a.host.Atime
	}
}

// mergeAttributes is merge but for content; from is the name that the host has.
func (p *planner) mergeAttributes(a, from *item) {
	d := from.decision
	if d.Mode == classify.Host {
		a.attr.Mode = a.attr.Mode&^modeBits | from.host.Mode&modeBits
	}
	if d.Owner == classify.Host {
		a.attr.UID, a.attr.GID = from.host.UID, from.host.GID
	}
	if d.Xattrs == classify.Host || d.Xattrs == classify.Conflict {
		a.xattrs, _ = userXattrsOf(p.host.openFile(from.path))
	}
}

// within reports whether a directory came to its place by being renamed, or is all new: then it is
// made even if it is empty.
func (p *planner) within(a *item) bool {
	return a.was == nil || a.node == nil || a.was.Row != a.node.Ino
}
