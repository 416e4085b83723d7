package fs

import (
	"slices"

	"github.com/riverlytech/art/sqlvfs"
)

// maxOpened is how many files of the base stay open between two reads.
const maxOpened = 256

// opened is a file of the base that is open for reading. The kernel says neither when a program opens
// a file nor when the last one closes it, so a file is opened when it is read. One that was not read
// to its end at once stays open, so that it stays what it was if the host puts another in its place,
// until enough others have been opened since.
type opened struct {
	*HostFile
	node    *node // nil: not its any more
	readers int
}

// openBase returns the node's file in the base, open, for the caller to give back with closeBase. If
// it is open but not in the version that is wanted, it is opened anew: what the host now has there
// may be that.
func (t *tx) openBase(n *node, want sqlvfs.Fingerprint) (*opened, error) {
	if n.opened != nil && n.opened.Fingerprint != want {
		t.shut(n.opened)
	}
	if f := n.opened; f != nil {
		f.readers++
		return f, nil
	}
	if !n.based {
		return nil, sqlvfs.ErrNoBase
	}
	host, err := t.open(n.path)
	if err != nil {
		return nil, err
	}
	f := &opened{HostFile: host, node: n, readers: 1}
	n.opened = f
	t.opened = append(t.opened, f)
	if len(t.opened) > maxOpened {
		t.shut(t.opened[0])
	}
	return f, nil
}

// closeBase ends the use of a file of the base. done says that it is not worth keeping.
func (t *tx) closeBase(f *opened, done bool) {
	f.readers--
	switch {
	case f.readers > 0:
	case f.node == nil:
		f.Close()
	case done:
		t.shut(f)
	}
}

// shut closes a file of the base as soon as nobody reads it.
func (t *tx) shut(f *opened) {
	if i := slices.Index(t.opened, f); i >= 0 {
		t.opened = slices.Delete(t.opened, i, i+1)
	}
	f.node.opened, f.node = nil, nil
	if f.readers == 0 {
		f.Close()
	}
}
