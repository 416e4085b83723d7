package sqlvfs

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Baselines, and what is known of the workspaces, say what the host and the database have agreed on. They go back with the tree:
// then whatever the host has changed since counts as the host's, and what the older tree does not have yet is nothing that the guest has
// deleted. Where a pull of ours has changed the host, what both agree on since does not go back ([Tx.NotePulled]): there the older tree is
// a change of the guest's.
//
// Of what a pull replaces or removes on the host, history has a copy (copies.go). Where it has none, since an older program has pulled, or
// it is of a checkpoint that a fork is of, or of one before, or since there was no room, or it was too large, or could not be read, and the
// older tree shows it, or has a part of it, the tree cannot be what it was, and does not go back.

// ErrReplaced says that the host does not have any more what a checkpoint shows of it, and that there is no copy.
var ErrReplaced = errors.New("a pull has since replaced or removed on the host what it shows of that")

// ErrJournal says that a pull is to be finished first.
var ErrJournal = errors.New("a pull was interrupted")

// ErrAgreed says that a checkpoint was made by a program that kept no history of what both sides had agreed on, before a push, a pull
// or a reset.
var ErrAgreed = errors.New("it is older than a push, pull or reset of an older version")

// pathOf is a path of a workspace.
type pathOf struct {
	tree Tree
	path string
}

// NotePulled writes down that a pull has brought to the host what the tree has at a path of a workspace, whatever became of that before:
// what both have agreed on there does not go back with the tree, and so an older tree is a change of the guest's against what the pull has
// left. left is that; nil: nothing is there.
func (tx *Tx) NotePulled(t Tree, path string, left *Baseline) {
	tx.begin()
	if tx.gather.pulled == nil {
		tx.gather.pulled = map[pathOf]*Baseline{}
	}
	tx.gather.pulled[pathOf{t, path}] = left
	tx.gather.bytes += len(path)
}

func (w *writer) putPulled(b *batch) error {
	if len(b.pulled) == 0 {
		return nil
	}
	held, err := newestHeld(w.conn) // a fork reads what was agreed on then
	if err != nil {
		return err
	}
	for k, left := range b.pulled {
		tree, err := w.tree(k.tree)
		for _, pin := range database.KeptBaseline.Pin {
			if err == nil && held != 0 {
				err = do(w.conn, pin, held, tree, []byte(k.path))
			}
		}
		if err == nil {
			err = do(w.conn, "DELETE FROM art_old_baseline WHERE tree=? AND path=? AND checkpoint>? AND replaced IS NOT 1", tree, []byte(k.path), held)
		}
		if err == nil && left != nil && w.newest.ID > held {
			f := &left.Fingerprint
			err = do(w.conn, database.KeptBaseline.PutOld, tree, []byte(k.path), w.newest.ID, int64(1), left.Mode, int64(f.Dev), int64(f.Ino), f.Size, f.Mtime, f.Ctime, left.Hash,
				left.Row, left.RowCtime)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteReplaced writes down that a pull is about to replace or remove what the host has at a path of a workspace, and that nobody has a
// copy.
func (w *writer) noteReplaced(tree int64, path string) error {
	if err := w.keepAgreed(database.KeptBaseline, tree, []byte(path)); err != nil {
		return err
	}
	return do(w.conn, "UPDATE art_old_baseline SET replaced=1 WHERE tree=? AND path=? AND checkpoint=?", tree, []byte(path), w.newest.ID)
}

// keepAgreed has the history know what a row of what was agreed on was, or that there was none.
func (w *writer) keepAgreed(k *database.Kept, key ...any) error {
	if w.newest.ID == 0 {
		return nil
	}
	return do(w.conn, k.Put, append([]any{w.newest.ID, w.newest.maxIno}, key...)...)
}

// agreedSince tells whether anything was agreed on since a checkpoint.
func (w *writer) agreedSince(c *Checkpoint) (bool, error) {
	n, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM art_old_baseline WHERE checkpoint>=?1) OR EXISTS (SELECT 1 FROM art_old_workspace WHERE checkpoint>=?1)", c.ID)
	return n != 0, err
}

// restoreAgreed brings back what the host and the tree had agreed on at a checkpoint, after the tree or a part of it, for the same paths.
// What it is has become history under the newest one. The error is one of those above if that cannot be.
func (w *writer) restoreAgreed(to *Checkpoint, p *part) error {
	n, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM art_journal)")
	if err != nil {
		return err
	}
	agreed, err := queryNumber(w.conn, "SELECT CAST(value AS INTEGER) FROM fs_config WHERE key='art_agreed'")
	switch {
	case err != nil:
		return err
	case n != 0:
		return fmt.Errorf("checkpoint %d: %w", to.ID, ErrJournal)
	case to.ID <= agreed:
		return fmt.Errorf("checkpoint %d: %w", to.ID, ErrAgreed)
	}
	if since, err := w.agreedSince(to); err != nil || !since {
		return err
	}
	values := []any{w.newest.ID, w.newest.maxIno, to.ID}
	if p == nil {
		for _, k := range database.HostKept {
			if err := w.bringBack(k, k.Restoration("", w.store.stack.Forked()), values); err != nil {
				return err
			}
		}
	} else {
		for _, at := range p.paths {
			name, below, _ := strings.Cut(at, "/")
			only := " AND tree IN (SELECT id FROM art_tree WHERE name=?4)"
			if below != "" {
				only += " AND (CAST(path AS BLOB)=CAST(?5 AS BLOB) OR substr(CAST(path AS BLOB), 1, length(CAST(?5 AS BLOB))+1)=CAST(?5||'/' AS BLOB))"
			}
			err := w.bringBack(database.KeptBaseline, database.KeptBaseline.Restoration(only, w.store.stack.Forked()), append(values[:3:3], name, below))
			if err != nil {
				return err
			}
		}
	}
	return w.showsReplaced(to, p)
}

// showsReplaced returns [ErrReplaced] if the tree, or the part of it, which has come back, shows what a pull has replaced on the host
// since.
func (w *writer) showsReplaced(to *Checkpoint, p *part) error {
	list, err := w.replaced(to, p, 1)
	if err == nil && len(list) > 0 {
		err = fmt.Errorf("%s: %w", path.Join(list[0].Workspace, list[0].Path), ErrReplaced)
	}
	return err
}

// ReplacedPath is a path of a workspace at which the host does not have any more what a checkpoint shows of it.
type ReplacedPath struct{ Workspace, Path string }

// Replaced returns where the checkpoint that the store shows has something of the host's that a pull has replaced or removed since, by
// workspace and path. There is nothing of that at present.
func (s *Store) Replaced() ([]ReplacedPath, error) {
	return Query(s, func(tx *Tx) ([]ReplacedPath, error) { return tx.replaced() })
}

func (tx *Tx) replaced() ([]ReplacedPath, error) {
	if tx.at == nil {
		return nil, nil
	}
	return (&writer{conn: tx.meta}).replaced(tx.at, nil, math.MaxInt)
}

// replaced returns at most so many paths at which the tree that the connection shows, or the part of it, has what a pull has replaced on
// the host since a checkpoint.
func (w *writer) replaced(to *Checkpoint, p *part, most int) (all []ReplacedPath, err error) {
	paths := map[string][]string{} // by workspace
	q := bind(w.Prep(`SELECT DISTINCT t.name, h.path FROM art_old_baseline h JOIN art_tree t ON t.id=h.tree WHERE h.checkpoint>=? AND h.replaced=1
		ORDER BY t.name, h.path`), to.ID)
	for w.Step(q) {
		name := string(q.ColumnRawText(0))
		paths[name] = append(paths[name], string(q.ColumnRawBlob(1)))
	}
	if err := w.Done(q); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		s, err := w.shownOf(name, p)
		if err != nil {
			return nil, err
		}
		for _, at := range paths[name] {
			shows, err := s.shows(at)
			if err != nil {
				return nil, err
			}
			if shows {
				if all = append(all, ReplacedPath{name, at}); len(all) == most {
					return all, nil
				}
			}
		}
	}
	return all, nil
}

// shown is what a tree shows of a workspace on the host.
type shown struct {
	w    *writer
	top  bool             // all of it, since it has no row
	dirs map[string][]Ino // rows of directories, by the path of their origin
	on   map[string]bool  // paths of origins that something is read from, and those above
	bare []string         // paths of the host's of which all shows
}

func (w *writer) shownOf(workspace string, p *part) (*shown, error) {
	s := &shown{w: w, dirs: map[string][]Ino{}, on: map[string]bool{}}
	only := ""
	if p != nil {
		only = " AND o.ino IN (SELECT ino FROM temp.art_part WHERE names=1)"
		s.bare = p.bare(workspace)
		for _, at := range s.bare {
			s.see(at)
		}
	} else {
		entered, err := w.named(RootIno, workspace)
		if err != nil {
			return nil, err
		}
		s.top = !entered
	}
	q := bind(w.Prep(`SELECT o.ino, o.path, i.mode & 61440 FROM art_origin o JOIN art_base b ON b.id=o.base JOIN fs_inode i ON i.ino=o.ino
		WHERE b.name=? AND (o.data_limit>0 OR i.mode & 61440 = 16384)`+only), workspace)
	for w.Step(q) {
		at := string(q.ColumnRawBlob(1))
		if q.ColumnInt64(2) == 16384 {
			s.dirs[at] = append(s.dirs[at], Ino(q.ColumnInt64(0)))
		}
		s.see(at)
	}
	return s, w.Done(q)
}

// see notes that something is read at a path of the host's.
func (s *shown) see(at string) {
	for ; at != "." && at != "/" && !s.on[at]; at = path.Dir(at) {
		s.on[at] = true
	}
}

// named tells whether a directory has an entry, or hides one.
func (w *writer) named(dir Ino, name string) (bool, error) {
	n, err := queryNumber(w.conn, `SELECT EXISTS (SELECT 1 FROM fs_dentry WHERE parent_ino=?1 AND name=?2)
		OR EXISTS (SELECT 1 FROM art_whiteout WHERE parent_ino=?1 AND name=?2)`, dir, name)
	return n != 0, err
}

// shows tells whether the tree shows what the host has at a path, or below it, or has a part of it.
func (s *shown) shows(at string) (bool, error) {
	if s.top || s.on[at] || slices.ContainsFunc(s.bare, func(top string) bool { return top == "." || strings.HasPrefix(at, top+"/") }) {
		return true, nil
	}
	for at != "." && at != "/" {
		dir, name := path.Dir(at), path.Base(at)
		for _, ino := range s.dirs[dir] {
			if hidden, err := s.w.named(ino, name); err != nil || !hidden {
				return true, err
			}
		}
		at = dir
	}
	return false, nil
}
