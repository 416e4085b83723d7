// Package classify decides who changed what: from what the host and the guest have of an object now, and
// from what both had when they last agreed, it tells for each aspect of the object whose version counts.
// Push, pull, their dry runs and diff all decide by it. It reads nothing and changes nothing.
//
// An aspect that both sides have equal is agreed. One that a single side changed is that side's. One that
// both changed, differently, is a conflict. So a chmod on one side and a write on the other are both kept.
// The kind of an object (which includes whether there is one) stands above its other aspects: to delete an
// object, or to put something else in its place, conflicts with a change of its content or mode.
//
// What to do about a conflict is not decided here: see [Decision.Resolve].
package classify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind is what an object is.
type Kind uint8

// The kinds of objects that a workspace is made of.
const (
	None Kind = iota // there is none
	File
	Dir
	Symlink
)

// KindOf is the kind of an object with a mode.
func KindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Symlink
	}
	return None
}

// Content stands for the content of an object: equal values for equal content. [Contents] gives them out.
type Content uint8

// Owner is who an object belongs to.
type Owner struct{ UID, GID uint32 }

// State is what one side has of an object. Aspects that do not count, such as the mode of a symbolic link,
// or the owner where it cannot be set, are left zero on all sides.
type State struct {
	Kind    Kind
	Content Content // of a file, or the target of a symbolic link
	Mode    uint32  // permissions
	Owner   Owner
	Xattrs  string // extended attributes, in a form that equal ones have in common
}

// Unknown is a base's extended attributes where nobody wrote them down: it equals nothing that a side has.
const Unknown = "\x00unknown"

// XattrText is a form of extended attributes that equal ones have in common.
func XattrText(attrs map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		fmt.Fprintf(&b, "%q=%q\n", name, attrs[name])
	}
	return b.String()
}

// Contents returns what stands for the content of the two sides. The base's is 0. Only if both sides
// changed it must they be compared; content that cannot be compared is different.
func Contents(hostChanged, guestChanged bool, equal func() bool) (host, guest Content) {
	if hostChanged {
		host = 1
	}
	if guestChanged {
		guest = 2
	}
	if hostChanged && guestChanged && equal() {
		guest = host
	}
	return host, guest
}

// Side tells whose version of an aspect counts.
type Side uint8

// The sides.
const (
	Agreed Side = iota // they are equal
	Host
	Guest
	Conflict // both changed it, and they differ
)

// Of tells whose value of one aspect counts.
func Of[T comparable](base, host, guest T) Side {
	switch {
	case host == guest:
		return Agreed
	case guest == base:
		return Host
	case host == base:
		return Guest
	}
	return Conflict
}

// Change is what a side did to an object since both agreed.
type Change uint8

// What a side can do to an object. Made, Deleted and Replaced stand alone.
const (
	Made     Change = 1 << iota // there was none
	Deleted                     // there is none any more
	Replaced                    // it is of another kind
	Written                     // its content changed
	Chmod
	Chown
	Xattr
)

// Changed returns what a side did.
func Changed(base, now State) (c Change) {
	switch {
	case base.Kind == now.Kind:
	case base.Kind == None:
		return Made
	case now.Kind == None:
		return Deleted
	default:
		return Replaced
	}
	for _, aspect := range [...]struct {
		differs bool
		change  Change
	}{
		{base.Content != now.Content, Written},
		{base.Mode != now.Mode, Chmod},
		{base.Owner != now.Owner, Chown},
		{base.Xattrs != now.Xattrs, Xattr},
	} {
		if aspect.differs {
			c |= aspect.change
		}
	}
	return c
}

// Decision tells whose version counts, of each aspect of an object. Where the sides have different kinds,
// Kind says it for all of it.
type Decision struct {
	Kind, Content, Mode, Owner, Xattrs Side

	Host, Guest Change // what each side did
}

// Classify decides about an object.
func Classify(base, host, guest State) Decision {
	d := Decision{Host: Changed(base, host), Guest: Changed(base, guest)}
	if host.Kind != guest.Kind {
		d.Kind = Of(base.Kind, host.Kind, guest.Kind)
		const lost = Written | Chmod // by a deletion or a replacement
		if d.Kind == Host && d.Guest&lost != 0 || d.Kind == Guest && d.Host&lost != 0 {
			d.Kind = Conflict
		}
		return d
	}
	d.Content = of(base, host, guest, func(s State) Content { return s.Content })
	d.Mode = of(base, host, guest, func(s State) uint32 { return s.Mode })
	d.Owner = of(base, host, guest, func(s State) Owner { return s.Owner })
	d.Xattrs = of(base, host, guest, func(s State) string { return s.Xattrs })
	return d
}

// of is Of for an aspect of two objects of one kind. A base of another kind does not have that aspect.
func of[T comparable](base, host, guest State, aspect func(State) T) Side {
	h, g := aspect(host), aspect(guest)
	if base.Kind != host.Kind && h != g {
		return Conflict
	}
	return Of(aspect(base), h, g)
}

func (d *Decision) aspects() [5]*Side {
	return [...]*Side{&d.Kind, &d.Content, &d.Mode, &d.Owner, &d.Xattrs}
}

func (d Decision) any(side Side) bool {
	for _, s := range d.aspects() {
		if *s == side {
			return true
		}
	}
	return false
}

// Conflict reports whether both sides changed the same aspect.
func (d Decision) Conflict() bool { return d.any(Conflict) }

// Pull reports whether the host is to get something of the guest's, once conflicts are resolved.
func (d Decision) Pull() bool { return d.any(Guest) }

// Push reports whether the guest is to get something of the host's, once conflicts are resolved.
func (d Decision) Push() bool { return d.any(Host) }

// Resolve returns the decision with a side's version where there is a conflict.
func (d Decision) Resolve(side Side) Decision {
	for _, s := range d.aspects() {
		if *s == Conflict {
			*s = side
		}
	}
	return d
}

// Why tells in words what both sides did to an object that is in conflict.
func (d Decision) Why() string { return d.WhyOf("by the guest", "on the host") }

// WhyOf is Why with other words for who the sides are.
func (d Decision) WhyOf(guestSide, hostSide string) string {
	guest, host := d.Guest.words(), d.Host.words()
	if d.Kind != Conflict && d.Content != Conflict && d.Guest != Made {
		// Both changed no more than attributes: name those.
		var names []string
		for i, name := range [...]string{"mode", "owner", "extended attributes"} {
			if *d.aspects()[2+i] == Conflict {
				names = append(names, name)
			}
		}
		guest, host = strings.Join(names, " and ")+" changed", "changed"
	}
	return guest + " " + guestSide + " and " + host + " " + hostSide
}

func (c Change) words() string {
	switch c {
	case Made:
		return "made"
	case Deleted:
		return "deleted"
	}
	return "changed"
}
