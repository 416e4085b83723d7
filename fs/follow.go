package fs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/riverlytech/art/sqlvfs"
)

// A file of the delta whose content is the host's, all of it or a part, refers to one version of the
// host's file. When there is another:
//   - a file that holds no content of its own, since only its mode, its times or its name were changed,
//     shows the host's new version. Nothing is mixed.
//   - if the content is the same, since the file was only touched, or copied over itself, the new version
//     is the one that the file refers to from then on.
//   - otherwise what the delta does not hold is lost, and reading it is an error. Most files hold all of
//     their content before it comes to that, see keep.go.

// withBase does what may need a file's origin, once more if it turns out that the host's new version
// will do. The Store's lock must not be held.
func (o *Overlay) withBase(n *node, do func() error) error {
	err := do()
	if !errors.Is(err, sqlvfs.ErrBaseChanged) {
		return err
	}
	if o.accept(n) {
		err = do()
	}
	if errors.Is(err, sqlvfs.ErrBaseChanged) {
		o.store.Lock()
		defer o.store.Unlock()
		if n.in.Origin != nil {
			err = o.baseChanged(n.path)
		}
	}
	return err
}

// accept makes a file refer to the version that the host has now, if that will do, and tells whether
// it does. Takes the Store's lock.
func (o *Overlay) accept(n *node) bool {
	// One after the other: who waits finds that it was accepted, or refused.
	o.accepting.Lock()
	defer o.accepting.Unlock()
	o.store.Lock()
	defer o.store.Unlock()
	was := n.in.Origin
	if was == nil || !n.based {
		return false
	}
	path := n.path
	o.store.Unlock()
	f, err := o.host.Open(path)
	o.store.Lock()
	if err != nil {
		return false
	}
	defer f.Close()
	switch {
	case n.in.Origin == nil || n.in.Origin.Fingerprint == f.Fingerprint:
		return true
	case n.in.Origin.Fingerprint != was.Fingerprint || n.refused == f.Fingerprint:
		return false
	}
	if follows, err := o.follows(n); err == nil && follows {
		o.show(n, f.attr, f.Fingerprint)
		return true
	}
	size := n.in.Attr.Size
	o.store.Unlock()
	same := f.same(was, size)
	o.store.Lock()
	if !same {
		n.refused = f.Fingerprint
	}
	if !same || n.in.Origin == nil || n.in.Origin.Fingerprint != was.Fingerprint {
		return false
	}
	now := *n.in.Origin
	now.Fingerprint = f.Fingerprint
	o.store.Refer(n.in, &now)
	return true
}

// same tells whether a file has the content that an origin's had, as far as an inode of a size needs it.
func (f *HostFile) same(was *sqlvfs.Origin, size int64) bool {
	switch {
	case was.Patched(f.Fingerprint, size):
		return true
	case f.Size != was.Size:
		return false
	case was.Hash == "":
		// Its change time alone moves when it gets another name or mode.
		return sameObject(f.Fingerprint, was.Fingerprint) && sameContent(f.Fingerprint, was.Fingerprint)
	}
	hash, err := f.hash(context.Background())
	return err == nil && hash == was.Hash
}

// hash is the SHA-256 of a file's content in the version that was opened.
func (f *HostFile) hash(ctx context.Context) (string, error) {
	h := sha256.New()
	buf := make([]byte, 256<<10)
	for off := int64(0); off < f.Size; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), f.Size-off)], off)
		if n == 0 {
			return "", errors.Join(err, ctx.Err(), sqlvfs.ErrBaseChanged)
		}
		h.Write(buf[:n])
		off += int64(n)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	if _, now, err := f.stat(); err != nil || now != f.Fingerprint {
		return "", errors.Join(err, sqlvfs.ErrBaseChanged)
	}
	return string(h.Sum(nil)), nil
}

// follows tells whether all of a file's content is the host's. Lock held.
func (o *Overlay) follows(n *node) (bool, error) {
	if n.in == nil || n.in.Origin == nil || !n.based || !n.in.Attr.IsRegular() {
		return false, nil
	}
	return o.store.Follows(n.in)
}

// follow brings a file whose content is the host's up to date with the host's. Lock held; it is let go of
// while the host is asked.
func (o *Overlay) follow(n *node) error {
	if follows, err := o.follows(n); !follows {
		return err
	}
	path, was := n.path, n.in.Origin
	n.holds++
	o.store.Unlock()
	attr, fp, err := o.host.Lstat(path)
	o.store.Lock()
	n.holds--
	if err != nil || !attr.IsRegular() || fp == was.Fingerprint || n.in.Origin != was {
		return nil // what is not there will be told when it is read
	}
	if follows, err := o.follows(n); !follows {
		return err
	}
	o.show(n, attr, fp)
	return nil
}

// show has a file show the host's version that is there now. Lock held.
func (o *Overlay) show(n *node, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) {
	now := *n.in.Origin
	if !sameContent(now.Fingerprint, fp) {
		n.in.Attr.Size, n.in.Attr.Mtime = attr.Size, attr.Mtime
		n.stale = true
		o.doubts.inode(n)
		o.cache.InvalidateAttr(n.ino)
	}
	now.Fingerprint, now.Limit, now.Hash = fp, attr.Size, ""
	o.store.Refer(n.in, &now)
}

// baseChanged notes that a partly copied file cannot be read any more, and returns the error for who
// tried to. Lock held.
func (o *Overlay) baseChanged(path string) error {
	err := fmt.Errorf("%w: %s", sqlvfs.ErrBaseChanged, path)
	if !slices.Contains(o.broken, path) {
		o.broken = append(o.broken, path)
		o.logf("%v", err)
	}
	return err
}

// Broken returns the files, by their paths in the base, that were partly copied when the host changed
// them, and could not be read for this reason.
func (o *Overlay) Broken() []string {
	o.store.Lock()
	defer o.store.Unlock()
	return slices.Clone(o.broken)
}
