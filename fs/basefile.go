package fs

import (
	"slices"

	"github.com/riverlytech/art/sqlvfs"
)

// maxOpened is how many files of the base stay open between two reads.
//
// The kernel says neither when a program opens a file nor when the last one closes it, so a file is opened when it is
// read. One that was not read to its end at once stays open, so that it stays what it was if the host puts another in
// its place, until enough others have been opened since.
const maxOpened = 256

// openBase returns the node's file in the base, open, for the caller to close. If it is open but not in the version that
// is wanted, it is opened anew: what the host now has there may be that.
func (t *tx) openBase(n *node, want sqlvfs.Fingerprint) (*HostFile, error) {
	if n.base == nil {
		return nil, sqlvfs.ErrNoBase
	}
	if f := n.base.kept; f != nil && sameVersion(f.Fingerprint, want) {
		return f.acquire(), nil
	}
	if f := n.base.file; f != nil && f.Fingerprint != want {
		t.closeFile(n)
	}
	if n.base.file == nil {
		f, err := t.openFile(n.base.path)
		if err != nil {
			return nil, err
		}
		n.base.file = f
		t.opened = append(t.opened, n)
		if len(t.opened) > maxOpened {
			t.closeFile(t.opened[0])
		}
	}
	return n.base.file.acquire(), nil
}

// closeFile closes a node's file in the base, for those who have it only when they are done.
func (t *tx) closeFile(n *node) {
	if n.base.file == nil {
		return
	}
	i := slices.Index(t.opened, n)
	t.opened = slices.Delete(t.opened, i, i+1)
	n.base.file.Close()
	n.base.file = nil
}
