package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// content is what a file holds, or a symbolic link leads to: of the host's, of the database's, or of both.
type content struct {
	io.ReaderAt
	size  int64
	close func()
}

func (c *content) Size() int64  { return c.size }
func (c *content) Close() error { c.close(); return nil }

func textContent(text string) *content {
	return &content{strings.NewReader(text), int64(len(text)), func() {}}
}

// hostContent is what the host has.
func (p *planner) hostContent(a *item) (*content, error) {
	if a.there == unix.S_IFLNK {
		target, err := p.host.readlink(a.path)
		return textContent(target), err
	}
	f, err := p.host.openFile(a.path)
	if err != nil {
		return nil, err
	}
	return &content{f, a.now.Size, func() { f.Close() }}, nil
}

// guestContent is what the guest has: in the database, in the host file that it is copied from, or in both. A
// host file that is not the version that is meant is an error: versions are never mixed.
func (p *planner) guestContent(a *item) (*content, error) {
	if a.attr.IsSymlink() {
		return textContent(a.target), nil
	}
	size := a.attr.Size
	if a.link != nil {
		a = a.link
	}
	var source io.ReaderAt
	c := &content{size: size, close: func() {}}
	if a.source != "" {
		f, err := p.openSource(a)
		if err != nil {
			return nil, err
		}
		source, c.close = f, func() { f.Close() }
	}
	if a.node == nil || a.whole {
		c.ReaderAt = source
		return c, nil
	}
	row, err := p.rows().get(a.node.Ino)
	if err != nil {
		c.close()
		return nil, err
	}
	closeSource := c.close
	c.close = func() {
		closeSource()
		p.rows().put(row)
	}
	c.ReaderAt = rowContent{p.store, row, source}
	return c, nil
}

// rowContent is what a row and its origin hold.
func (p *planner) rowContent(n *sqlvfs.Node) (*content, error) {
	var a item
	a.has(n)
	return p.guestContent(&a)
}

// rowContent is the content of a row. from has what the row does not hold.
type rowContent struct {
	store *sqlvfs.Store
	row   *sqlvfs.Inode
	from  io.ReaderAt
}

func (r rowContent) ReadAt(b []byte, off int64) (int, error) {
	return r.store.ReadAt(r.row, b, off, r.from)
}

// committedContent is that of a row which holds all of it, and which nobody changes meanwhile.
type committedContent struct {
	rows *sqlvfs.Committed
	ino  sqlvfs.Ino
}

func (r committedContent) ReadAt(b []byte, off int64) (int, error) {
	return len(b), r.rows.ReadAt(r.ino, b, off)
}

// head returns the beginning of the content, as much as there is.
func (c *content) head(limit int64) ([]byte, error) {
	data := make([]byte, min(c.size, limit))
	n, err := c.ReadAt(data, 0)
	if n == len(data) {
		return data, nil
	}
	return data[:n], cmp.Or(hostfs.Unwrap(err), errChanging)
}

// hash is the content's hash, in a baseline's way.
func (c *content) hash(ctx context.Context) ([]byte, error) {
	h := sha256.New()
	err := pieces(ctx, c, 0, c.size, func(data []byte, _ int64) error {
		h.Write(data)
		return nil
	})
	return h.Sum(nil), err
}

// hashes closes the content, and reports whether it has a hash.
func (c *content) hashes(ctx context.Context, want []byte) bool {
	defer c.close()
	hash, err := c.hash(ctx)
	return err == nil && bytes.Equal(hash, want)
}

func hashOf(target string) []byte {
	h := sha256.Sum256([]byte(target))
	return h[:]
}

var errDiffer = errors.New("the contents differ")

// equalContent reports whether the host has the guest's content.
func (p *planner) equalContent(a *item) (bool, error) {
	own := a.node != nil && !a.whole && a.source == a.path && a.version == a.now // what the row does not hold is the host's
	switch {
	case a.there != kind(a.attr.Mode):
		return false, nil
	case own && !a.node.Holds:
		return true, nil
	case a.host.Size != a.attr.Size:
		return false, nil
	}
	host, err := p.hostContent(a)
	if err != nil {
		return false, err
	}
	defer host.close()
	guest, err := p.guestContent(a)
	if err != nil {
		return false, err
	}
	defer guest.close()
	var held *sqlvfs.Committed
	limit := int64(0) // up to which only what the row holds is compared
	if own && a.node.Origin != nil {
		limit = min(a.node.Origin.Limit, a.attr.Size)
		if held, err = p.store.Committed(); err != nil {
			return false, err
		}
		defer held.Close()
	}
	there := takeBuffer(min(bufferSize, a.attr.Size))
	defer dropBuffer(there)
	for off, end := int64(0), int64(0); off < a.attr.Size; off = end {
		if off < limit {
			if off, err = held.Next(a.node.Ino, off, limit); err != nil {
				return false, err
			}
		}
		end = min(off+bufferSize, a.attr.Size)
		err := pieces(p.ctx, guest, off, end, func(data []byte, off int64) error {
			if n, err := host.ReadAt(there[:len(data)], off); n < len(data) {
				return cmp.Or(hostfs.Unwrap(err), errDiffer)
			}
			if !bytes.Equal(data, there[:len(data)]) {
				return errDiffer
			}
			return nil
		})
		if err != nil {
			if errors.Is(err, errDiffer) {
				err = nil
			}
			return false, err
		}
	}
	return true, nil
}

// openSource opens the host file that content comes from.
func (p *planner) openSource(a *item) (*os.File, error) {
	f, err := p.host.openFile(a.source)
	if err == nil {
		var st unix.Stat_t
		switch st, err = hostfs.Stat(f); {
		case err != nil:
		case hostfs.Fingerprint(&st) != a.version:
			err = sqlvfs.ErrBaseChanged
		case a.source != a.path && p.hides(a.source, a.version):
			err = errHidden
		}
		if err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, &sourceError{p.hostPath(a.source), err}
	}
	return f, nil
}

// sourceThere reports whether the host file that content comes from is the version that is meant.
func (p *planner) sourceThere(a *item) bool {
	if a.source == a.path {
		return a.now == a.version
	}
	st, err := p.host.stat(a.source)
	return err == nil && hostfs.Fingerprint(&st) == a.version
}

// sourceError says why content that is on the host only cannot be had.
type sourceError struct {
	where string
	err   error
}

func (e *sourceError) Error() string {
	return "its content is in " + e.where + " on the host: " + e.err.Error()
}
func (e *sourceError) Unwrap() error { return e.err }

// brokenSource reports whether an error means that the host has changed or removed a file of which the
// guest had changed a part.
func brokenSource(err error) bool { return errors.As(err, new(*sourceError)) }

// A large file that both sides have changed, the guest in part, cannot be put together any more: the rest of
// the guest's version was in a version of the host's that is gone (see package fs, backfill.go, for what is done
// before it comes to that). The two are never mixed. So not even the user's word brings it; what the guest
// wrote may be put beside, or given up.

// lost reports whether the rest of a file's content is gone.
func (p *planner) lost(a *item) bool {
	return a.node != nil && !a.whole && a.source != "" && !p.sourceThere(a)
}

// lostText says what there is of a file whose rest is gone; of any other, nothing.
func (p *planner) lostText(a *item) string {
	if !p.lost(a) {
		return ""
	}
	held := p.heldBytes(a)
	if held == 0 {
		return "its content was in " + p.report.ErrName(p.hostPath(a.source)) + " on the host, which is gone"
	}
	return fmt.Sprintf("%s: %d bytes of the guest's %d are in the database, the rest was in the host's version before",
		a.decision.Why(), held, a.attr.Size)
}

// why says why an item is in conflict.
func (p *planner) why(a *item) string { return cmp.Or(p.lostText(a), a.decision.Why()) }

// heldBytes is how much of a file's content the database holds.
func (p *planner) heldBytes(a *item) int64 {
	rows, err := p.store.Committed()
	if err != nil {
		return 0
	}
	defer rows.Close()
	chunks, _, err := rows.Held(a.node.Ino)
	if err != nil {
		return 0
	}
	return min(chunks*p.store.ChunkSize(), a.attr.Size)
}

// broken implements policy.
func (p *puller) broken(a *item) {
	p.report.Stays(p.hostPath(a.path), a.conflict+
		"; --force cannot bring it: --keep-both puts what there is beside it, and art reset gives it up")
}

// keepPart has what the guest wrote of a file go beside the host's, each byte in its place.
func (p *puller) keepPart(b *item) {
	p.report.Note(p.hostPath(b.path), fmt.Sprintf("it has the %d bytes that the guest wrote, and zeros for the rest, which was in the host's version before", p.heldBytes(b)))
	b.source = ""
}
