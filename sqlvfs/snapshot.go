package sqlvfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Snapshot is all of a tree but its content, as one commit has left it.
type Snapshot struct {
	nodes map[Ino]*Node
	// Unseen are entries that no directory can show: their names are none, they lead to the root or
	// to their own directory, or to an inode that is not there or makes no sense.
	Unseen []Unseen
}

// Node is an inode of a snapshot.
type Node struct {
	Ino       Ino
	Attr      Attr
	Target    string            // of a symbolic link
	Origin    *Origin           // nil: it stands for itself
	Children  []Entry           // of a directory, by name
	Whiteouts []string          // of a directory
	Xattrs    map[string]string // extended attributes in the namespace of users (xattr(7))
	Holds     bool              // of a file with an origin: it holds some of its content itself
}

// Entry is a name in a directory of a snapshot.
type Entry struct {
	Name string
	Ino  Ino
}

// Unseen is an entry that cannot be.
type Unseen struct {
	Dir  Ino
	Name string
	Why  string
}

// Node returns an inode, or nil.
func (t *Snapshot) Node(ino Ino) *Node { return t.nodes[ino] }

// Child returns what an entry of a directory leads to, or nil.
func (t *Snapshot) Child(dir *Node, name string) *Node {
	i, ok := slices.BinarySearchFunc(dir.Children, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return nil
	}
	return t.nodes[dir.Children[i].Ino]
}

// All calls f for every inode, in no order.
func (t *Snapshot) All(f func(*Node)) {
	for _, n := range t.nodes {
		f(n)
	}
}

const (
	qAllInodes = `SELECT i.mode, i.nlink, i.uid, i.gid, i.rdev, i.size,
		i.atime, i.atime_nsec, i.mtime, i.mtime_nsec, i.ctime, i.ctime_nsec,
		b.name, f.base_ino, o.path, o.dev, o.base_ino, o.size, o.mtime, o.mtime_nsec, o.ctime, o.ctime_nsec, o.data_limit, o.base_mode, o.hash, o.until, i.ino,
		ifnull(o.data_limit, 0) > 0 AND EXISTS (SELECT 1 FROM fs_data c WHERE c.ino=i.ino)
		FROM fs_inode i LEFT JOIN art_origin o ON o.ino=i.ino
		LEFT JOIN art_base b ON b.id=o.base LEFT JOIN fs_origin f ON f.delta_ino=i.ino`
	qAllInodesOnly = `SELECT i.mode, i.nlink, i.uid, i.gid, i.rdev, i.size,
		i.atime, i.atime_nsec, i.mtime, i.mtime_nsec, i.ctime, i.ctime_nsec,
		NULL, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, i.ino, 0 FROM fs_inode i`
	qAllEntries   = `SELECT parent_ino, name, ino FROM fs_dentry ORDER BY parent_ino, name`
	qAllTargets   = `SELECT ino, target FROM fs_symlink`
	qAllWhiteouts = `SELECT parent_ino, name FROM art_whiteout`
	qAllXattrs    = `SELECT ino, name, value FROM art_xattr WHERE name >= 'user.' AND name < 'user/'`
	qNoRows       = `SELECT 0, '', '' WHERE 0`
)

// Snapshot reads the whole tree. Of changes, those that are committed count; a session may be
// running.
func (tx *Tx) Snapshot() (*Snapshot, error) {
	if !tx.frozen {
		// One transaction: all queries see the same commit.
		if err := tx.meta.Exec("BEGIN"); err != nil {
			return nil, err
		}
		defer tx.meta.Exec("COMMIT")
	}
	t := &Snapshot{nodes: map[Ino]*Node{}}
	broken := map[Ino]error{}
	err := tx.each(qAllInodes, func(q *sqlite3.Stmt) {
		n, err := tx.scanNode(q)
		if err != nil {
			broken[n.Ino] = err
			return
		}
		t.nodes[n.Ino] = n
	})
	if err == nil {
		err = tx.each(qAllTargets, func(q *sqlite3.Stmt) {
			if n := t.nodes[Ino(q.ColumnInt64(0))]; n != nil {
				n.Target = string(q.ColumnRawText(1))
				n.Attr.Size = int64(len(n.Target))
			}
		})
	}
	for ino, n := range t.nodes {
		if n.Attr.IsSymlink() && (n.Target == "" || len(n.Target) >= 4096) { // as in load
			broken[ino] = fmt.Errorf("%w: symbolic link without a target, or with one too long", ErrCorrupt)
			delete(t.nodes, ino)
		}
	}
	if err == nil {
		err = tx.each(qAllEntries, func(q *sqlite3.Stmt) {
			t.enter(Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1)), Ino(q.ColumnInt64(2)), broken)
		})
	}
	if err == nil {
		err = tx.each(qAllWhiteouts, func(q *sqlite3.Stmt) {
			if n := t.nodes[Ino(q.ColumnInt64(0))]; n != nil {
				n.Whiteouts = append(n.Whiteouts, string(q.ColumnRawText(1)))
			}
		})
	}
	if err == nil {
		err = tx.each(qAllXattrs, func(q *sqlite3.Stmt) {
			if n := t.nodes[Ino(q.ColumnInt64(0))]; n != nil {
				if n.Xattrs == nil {
					n.Xattrs = map[string]string{}
				}
				n.Xattrs[string(q.ColumnRawText(1))] = string(q.ColumnRawBlob(2))
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return t, nil
}

// Refer replaces the origins of files, and what follows from them, by those of newer nodes.
func (t *Snapshot) Refer(newer map[Ino]*Node) {
	for ino, n := range newer {
		if old := t.nodes[ino]; old != nil {
			old.Refer(n.Origin)
			old.Attr.Size, old.Attr.Mtime = n.Attr.Size, n.Attr.Mtime
		}
	}
}

// Refer has a node refer to another version of its origin's object, as [Tx.Refer] has an inode.
func (n *Node) Refer(o *Origin) {
	stayChanged(&n.Attr, n.Origin, o)
	n.Origin = o
}

// enter adds an entry to the directory that it is in.
func (t *Snapshot) enter(dir Ino, name string, ino Ino, broken map[Ino]error) {
	why := ""
	switch {
	case !ValidName(name):
		why = "no file can have this name"
	case ino == RootIno || ino == dir:
		why = "it leads to the root or to itself"
	case broken[ino] != nil:
		why = broken[ino].Error()
	case t.nodes[ino] == nil:
		why = "it has no inode"
	}
	if why != "" {
		t.Unseen = append(t.Unseen, Unseen{dir, name, why})
		return
	}
	if d := t.nodes[dir]; d != nil && d.Attr.IsDir() {
		d.Children = append(d.Children, Entry{name, ino})
	}
}

// qDependents are the files whose content is, in part, that of an origin in one workspace.
const qDependents = qAllInodes + ` WHERE o.data_limit > 0 AND b.name=?`

// Dependents returns the files of which some content may come from an origin in a workspace. Of changes,
// those that are committed count.
func (tx *Tx) Dependents(workspace string) ([]*Node, error) {
	var list []*Node
	err := tx.each(qDependents, func(q *sqlite3.Stmt) {
		if n, err := tx.scanNode(q); err == nil && n.Attr.IsRegular() {
			list = append(list, n)
		}
	}, workspace)
	return list, err
}

// scanNode reads a row of qAllInodes.
func (tx *Tx) scanNode(q *sqlite3.Stmt) (*Node, error) {
	n := &Node{Ino: Ino(q.ColumnInt64(26)), Holds: q.ColumnBool(27)}
	var err error
	if n.Attr, err = scanAttr(q); err == nil {
		n.Origin, err = scanOrigin(q)
		n.Origin = tx.moved.origin(n.Ino, n.Origin)
	}
	return n, err
}

// Follows tells whether all of a file's content is its origin's, as [Tx.Follows].
func (n *Node) Follows() bool {
	o := n.Origin
	return o != nil && o.Limit > 0 && o.Limit == o.Size && n.Attr.Size == o.Size && !n.Holds
}
