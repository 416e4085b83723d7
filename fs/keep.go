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

// removedFiles returns those that are not kept open yet.
func (t *tx) removedFiles() (list []removedFile) {
	for _, n := range t.nodes {
		if n.base == nil || n.base.kept != nil {
			continue
		}
		switch o := n.base; {
		case n.in == nil && o.gone && o.attr.IsRegular():
			list = append(list, removedFile{n, o.path, o.fp})
		case n.nameless() && n.needsOrigin() && n.in.Origin.Base == t.name:
			list = append(list, removedFile{n, o.path, n.in.Origin.Fingerprint})
		}
	}
	return list
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
