package fs

import (
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// What the guest has removed, a program may have open still: its content is the host's, by its path. A pull is going to
// remove that, or to put another file in its place. So before it does, such files are opened, and stay open until the kernel
// forgets the inode.

// removedFile is one that is in use without a name, and whose content is in the base.
type removedFile struct {
	n       *node
	path    string
	version sqlvfs.Fingerprint
}

// noteRemoved notes a node that may have become such a file: to look for them among all nodes would take long.
func (t *tx) noteRemoved(n *node) {
	if n.unnamed() {
		t.removed[n] = true
	}
}

// removedFiles returns those that are not kept open yet.
func (t *tx) removedFiles() (list []removedFile) {
	for n := range t.removed {
		if !n.unnamed() {
			delete(t.removed, n)
		} else if r, ok := t.removedFile(n); ok {
			list = append(list, r)
		}
	}
	return list
}

// removedFile tells whether a node is one that is not kept open yet.
func (t *tx) removedFile(n *node) (removedFile, bool) {
	switch o := n.base; {
	case o == nil || o.kept != nil:
	case n.in == nil && n.unnamed():
		return removedFile{n, o.path, o.fp}, true
	case n.nameless() && n.needsOrigin() && n.in.Origin.Base == t.name:
		return removedFile{n, o.path, n.in.Origin.Fingerprint}, true
	}
	return removedFile{}, false
}

// unnamed tells whether a file has no name any more.
func (n *node) unnamed() bool {
	return n.nameless() || n.in == nil && n.base != nil && n.base.gone && n.base.attr.IsRegular()
}

// nameless tells whether a file of the delta has lost all of its names.
func (n *node) nameless() bool {
	return n.in != nil && n.in.Attr.Nlink == 0 && n.in.Attr.IsRegular()
}

// keep keeps a file open, if it was opened in the version that the node is of.
func (t *tx) keep(r removedFile, f *HostFile) {
	if t.nodes[r.n.ino] != r.n || r.n.base.kept != nil || !sameVersion(r.version, f.Fingerprint) {
		f.Close()
		return
	}
	r.n.base.kept = f
	if r.n.in == nil {
		r.n.base.fp = f.Fingerprint
	}
}

// keepRemoved keeps such files open. It is no part of a step.
func (o *Overlay) keepRemoved() {
	var list []removedFile
	o.view(func(t *tx) error {
		if t.host != nil {
			list = t.removedFiles()
		}
		return nil
	})
	for _, r := range list {
		if f, err := o.host.Open(r.path); err == nil { // else who reads it is told
			o.view(func(t *tx) error {
				t.keep(r, f)
				return nil
			})
		}
	}
}

// keepRemoved is [Overlay.keepRemoved] for a step that waits for the host in any case.
func (t *tx) keepRemoved() {
	if t.host == nil {
		return
	}
	for _, r := range t.removedFiles() {
		if f, err := t.host.Open(r.path); err == nil {
			t.keep(r, f)
		}
	}
}

// sameVersion compares all that is of an object and its content. Its change time moves when it loses a name.
func sameVersion(a, b sqlvfs.Fingerprint) bool { return hostfs.SameObject(a, b) && sameContent(a, b) }
