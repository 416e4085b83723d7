package fs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// A file of the delta whose content is the host's, all of it or a part, refers to one version of the
// host's file. When there is another:
//   - a file that holds no content of its own, since only its mode, its times or its name were changed,
//     shows the host's new version. Nothing is mixed.
//   - if the content is the same, since the file was only touched, or copied over itself, the new version
//     is the one that the file refers to from then on.
//   - otherwise what the delta does not hold is lost, and reading it is an error. Most files hold all of
//     their content before it comes to that, see backfill.go.

// withOrigin does what may need a file's origin, once more if it turns out that the host's new version
// will do. It is no part of a step.
func (o *Overlay) withOrigin(n *node, do func() error) error {
	err := do()
	if errors.Is(err, sqlvfs.ErrBaseChanged) && o.accept(n) {
		err = do()
	}
	return o.noteChanged(n, err)
}

// noteChanged notes that a partly copied file cannot be read any more, if that is what an error says, and returns the
// error for who tried to.
func (o *Overlay) noteChanged(n *node, err error) error {
	if !errors.Is(err, sqlvfs.ErrBaseChanged) {
		return err
	}
	o.view(func(t *tx) error {
		if n.in == nil || n.in.Origin == nil {
			return nil
		}
		path := n.in.Origin.Path
		err = fmt.Errorf("%w: %s", sqlvfs.ErrBaseChanged, path)
		if !slices.Contains(t.broken, path) {
			t.broken = append(t.broken, path)
			t.logf("%v", err)
		}
		return nil
	})
	return err
}

// accept makes a file refer to the version that the host has now, if that will do, and tells whether
// it does.
func (o *Overlay) accept(n *node) (accepted bool) {
	// One after the other: the next one finds that the version was accepted, or refused.
	o.accepting.Lock()
	defer o.accepting.Unlock()
	var f *HostFile
	var was *sqlvfs.Origin // to compare with f; nil: it is decided
	var size int64
	o.view(func(t *tx) error {
		if n.in == nil || n.in.Origin == nil || n.base == nil {
			return nil
		}
		origin := n.in.Origin
		host, err := t.openFile(n.base.path)
		if err != nil {
			return err
		}
		f = host
		follows, err := t.follows(n)
		switch {
		case origin.Fingerprint == f.Fingerprint:
			accepted = true
		case n.base.refused == f.Fingerprint:
		case err == nil && follows:
			t.show(n, f.attr, f.Fingerprint)
			accepted = true
		default:
			was, size = origin, n.in.Attr.Size
		}
		return nil
	})
	if f != nil {
		defer f.Close()
	}
	if was == nil {
		return accepted
	}
	same := f.same(was, size)
	o.view(func(t *tx) error {
		switch {
		case n.in == nil || n.base == nil:
		case !same:
			n.base.refused = f.Fingerprint
		case n.in.Origin != nil && n.in.Origin.Fingerprint == was.Fingerprint:
			now := *n.in.Origin
			now.Fingerprint = f.Fingerprint
			t.db.Refer(n.in, &now)
			accepted = true
		}
		return nil
	})
	return accepted
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
		return hostfs.SameObject(f.Fingerprint, was.Fingerprint) && sameContent(f.Fingerprint, was.Fingerprint)
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

// follows tells whether all of a file's content is the host's.
func (t *tx) follows(n *node) (bool, error) {
	if n.in == nil || n.in.Origin == nil || n.base == nil || !n.in.Attr.IsRegular() {
		return false, nil
	}
	return t.db.Follows(n.in)
}

// follow brings a file whose content is the host's up to date with the host's.
func (t *tx) follow(n *node) error {
	if follows, err := t.follows(n); !follows {
		return err
	}
	now, err := t.lstat(n.base.path)
	if err != nil {
		return err
	}
	n.in.Attr.Pages = now.attr.Pages
	// What is not there will be told when it is read.
	if now.err == nil && now.attr.IsRegular() && now.fp != n.in.Origin.Fingerprint {
		t.show(n, now.attr, now.fp)
	}
	return nil
}

// show has a file show the host's version that is there now.
func (t *tx) show(n *node, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) {
	now := *n.in.Origin
	if !sameContent(now.Fingerprint, fp) {
		n.in.Attr.Size, n.in.Attr.Mtime = attr.Size, attr.Mtime
		if !slices.Contains(t.made, n) { // of a new node the kernel has nothing; and it would be new in each try, where the store takes no changes
			n.base.stale = true
		}
		t.pending.inode(n)
		t.cache.InvalidateAttr(n.ino)
	}
	now.Fingerprint, now.Limit, now.Hash = fp, attr.Size, ""
	t.db.Refer(n.in, &now)
}

// Broken returns the files, by their paths in the base, that were partly copied when the host changed
// them, and could not be read for this reason.
func (o *Overlay) Broken() (paths []string) {
	o.view(func(t *tx) error {
		paths = slices.Clone(t.broken)
		return nil
	})
	return paths
}
