package reconcile

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// A row of which some content is the host's refers to one version of a host file. Before anything is
// compared, it is made to refer to the version that is there now, if that will do (see package fs,
// origin.go): it has the same content, by its hash, or all of the row's content is the host's, or a pull
// that was killed has made it of the one that was there (inplace.go).

// revalidated is a row that refers to another version now.
type revalidated struct {
	*sqlvfs.Node
	was  sqlvfs.Fingerprint // what it revalidated to
	same bool               // the content is the same
}

// revalidate brings the rows of a workspace up to date with the host's files, and returns those that it did. In a
// store that is read-only, they are not.
func revalidate(ctx context.Context, h *host, s *sqlvfs.Store, workspace string) ([]revalidated, error) {
	var nameless []sqlvfs.Ino
	list, err := sqlvfs.Query(s, func(tx *sqlvfs.Tx) (list []*sqlvfs.Node, err error) {
		if nameless, err = tx.Nameless(workspace); err == nil {
			list, err = tx.Dependents(workspace)
		}
		return list, err
	})
	if err != nil {
		return nil, err
	}
	var done []revalidated
	for _, n := range list {
		st, err := h.stat(n.Origin.Path)
		now := hostfs.Fingerprint(&st)
		switch {
		case err != nil || kind(st.Mode) != unix.S_IFREG:
			continue // planning will say what is missing
		case slices.Contains(nameless, n.Ino):
			continue // it tells what the guest has seen of what it removed
		case now == n.Origin.Fingerprint && n.Origin.Until != 0:
			done = append(done, revalidated{n, now, true}) // a session has come upon it
			continue
		case now == n.Origin.Fingerprint || !stillValid(ctx, h, n, &st):
			continue
		}
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		r := revalidated{n, n.Origin.Fingerprint, !n.Follows()}
		updateOrigin(n, &st)
		done = append(done, r)
		if s.ReadOnly() {
			continue
		}
		if err := setOrigin(s, n); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// updateOrigin makes a row refer to another version of a file.
func updateOrigin(n *sqlvfs.Node, st *unix.Stat_t) {
	o := *n.Origin
	if n.Follows() {
		if o.Size != st.Size || o.Mtime != hostfs.Timespec(st.Mtim) {
			n.Attr.Size, n.Attr.Mtime = st.Size, hostfs.Timespec(st.Mtim)
		}
		o.Limit, o.Hash = st.Size, ""
	}
	o.Fingerprint = hostfs.Fingerprint(st)
	n.Refer(&o)
}

func setOrigin(s *sqlvfs.Store, n *sqlvfs.Node) error {
	return rows{s}.with(n.Ino, func(tx *sqlvfs.Tx, row *sqlvfs.Inode) error {
		row.Attr.Size, row.Attr.Mtime = n.Attr.Size, n.Attr.Mtime
		tx.Refer(row, n.Origin)
		return nil
	})
}

// stillValid reports whether a row may refer to the version of a file that the host has now.
func stillValid(ctx context.Context, h *host, n *sqlvfs.Node, st *unix.Stat_t) bool {
	o, now := n.Origin, hostfs.Fingerprint(st)
	switch {
	case n.Follows() || o.Patched(now, n.Attr.Size):
		return true
	case o.Size != now.Size:
		return false
	case o.Hash == "":
		// Its change time alone moves when it gets another name or mode.
		return o.Dev == now.Dev && o.Fingerprint.Ino == now.Ino && o.Mtime == now.Mtime
	}
	f, err := h.openFile(o.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	if hash, err := (&content{ReaderAt: f, size: now.Size}).hash(ctx); err != nil || string(hash) != o.Hash {
		return false
	}
	after, err := hostfs.Stat(f)
	return err == nil && hostfs.Fingerprint(&after) == now
}

// rebase has what both sides last agreed about be the versions that rows refer to now.
func rebase(tx *sqlvfs.Tx, tree sqlvfs.Tree, base map[string]*sqlvfs.Baseline, list []revalidated) {
	for _, r := range list {
		at := r.Origin.Path
		b := base[at]
		patched := r.Origin.Until != 0
		if b == nil || !r.same || b.Fingerprint != r.was && !patched {
			continue
		}
		now := *b
		now.Fingerprint = r.Origin.Fingerprint
		if patched {
			now.Hash = nil
		}
		base[at] = &now
		if !tx.ReadOnly() {
			tx.SetBaseline(tree, at, &now)
		}
	}
}

// newer returns the rows by their numbers, for who has read them before.
func newer(list []revalidated) map[sqlvfs.Ino]*sqlvfs.Node {
	nodes := map[sqlvfs.Ino]*sqlvfs.Node{}
	for _, r := range list {
		nodes[r.Ino] = r.Node
	}
	return nodes
}
