package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Moment is the tree at a checkpoint, or as one commit has left it. It reads rows one by one, as they are asked for, and keeps
// nothing: to compare two moments, only what history has between them is looked at. One goroutine at a time may use it.
type Moment struct {
	s  *Store
	at *Checkpoint // nil: the present
}

// OpenMoments opens a database at two moments, given by the numbers or labels of checkpoints; "" is the present. A session may be
// running, which goes on.
func OpenMoments(path, from, to string) (a, b *Moment, err error) {
	// The later one first: history that the other finds then speaks of all that has changed until it.
	if b, err = openMoment(path, to); err != nil {
		return nil, nil, err
	}
	if a, err = openMoment(path, from); err != nil {
		b.Close()
		return nil, nil, err
	}
	return a, b, nil
}

func openMoment(path, at string) (*Moment, error) {
	s, err := Open(path, Options{ReadOnly: true, At: at})
	if err != nil {
		return nil, err
	}
	m := &Moment{s, s.tx.at}
	// A transaction sees one commit from its first query on.
	if err = s.tx.meta.Exec("BEGIN"); err == nil {
		_, err = m.Node(RootIno)
	}
	if err == nil {
		err = s.tx.checkAt() // it may have been dropped since it was found
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return m, nil
}

// Close ends it.
func (m *Moment) Close() error {
	m.s.tx.meta.Exec("COMMIT")
	return m.s.Close()
}

// Checkpoint is the one that it is at; nil: the present.
func (m *Moment) Checkpoint() *Checkpoint { return m.at }

// Checkpoints returns all checkpoints of its database, as [Store.Checkpoints].
func (m *Moment) Checkpoints() ([]Checkpoint, error) { return m.s.tx.checkpoints() }

// Replaced returns where it shows something of the host's that the host does not have any more, as [Store.Replaced] does.
func (m *Moment) Replaced() ([]ReplacedPath, error) { return m.s.tx.replaced() }

// Node returns an inode without its entries; nil if it is not there.
func (m *Moment) Node(ino Ino) (*Node, error) {
	tx := &m.s.tx
	var n *Node
	var bad error
	err := tx.each(qInode, func(q *sqlite3.Stmt) {
		n = &Node{Ino: ino}
		if n.Attr, bad = scanAttr(q); bad == nil {
			n.Origin, bad = scanOrigin(q)
		}
	}, ino)
	if err = cmp.Or(err, bad); err != nil || n == nil {
		return nil, err
	}
	switch n.Attr.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		err = tx.each(qTarget, func(q *sqlite3.Stmt) { n.Target = string(q.ColumnRawText(0)) }, ino)
		if err == nil && (n.Target == "" || len(n.Target) >= 4096) { // as in load
			err = fmt.Errorf("%w: symbolic link without a target, or with one too long", ErrCorrupt)
		}
		n.Attr.Size = int64(len(n.Target))
	case syscall.S_IFREG:
		if n.Origin != nil && n.Origin.Limit > 0 {
			held, qerr := queryNumber(tx.meta, "SELECT EXISTS (SELECT 1 FROM fs_data WHERE ino=?)", ino)
			n.Holds, err = held != 0, qerr
		}
	}
	if err == nil {
		err = tx.each(qXattrs, func(q *sqlite3.Stmt) {
			if name := string(q.ColumnRawText(0)); strings.HasPrefix(name, "user.") {
				if n.Xattrs == nil {
					n.Xattrs = map[string]string{}
				}
				n.Xattrs[name] = string(q.ColumnRawBlob(1))
			}
		}, ino)
	}
	return n, err
}

// Entry returns what a name in a directory leads to; 0: it has no such entry.
func (m *Moment) Entry(dir Ino, name string) (ino Ino, err error) {
	err = m.s.tx.each("SELECT ino FROM fs_dentry WHERE parent_ino=? AND name=?", func(q *sqlite3.Stmt) { ino = Ino(q.ColumnInt64(0)) }, dir, name)
	if ino == RootIno || ino == dir || !ValidName(name) {
		ino = 0 // as in loadDir
	}
	return ino, err
}

// Entries returns the entries of a directory.
func (m *Moment) Entries(dir Ino) (list []Entry, err error) {
	err = m.s.tx.each("SELECT name, ino FROM fs_dentry WHERE parent_ino=?", func(q *sqlite3.Stmt) {
		e := Entry{string(q.ColumnRawText(0)), Ino(q.ColumnInt64(1))}
		if ValidName(e.Name) && e.Ino != RootIno && e.Ino != dir {
			list = append(list, e)
		}
	}, dir)
	return list, err
}

// Whiteouts returns the names that a directory hides.
func (m *Moment) Whiteouts(dir Ino) (list []string, err error) {
	err = m.s.tx.each(qWhiteouts, func(q *sqlite3.Stmt) { list = append(list, string(q.ColumnRawText(0))) }, dir)
	return list, err
}

// HasWhiteout tells whether a directory hides a name.
func (m *Moment) HasWhiteout(dir Ino, name string) (bool, error) {
	n, err := queryNumber(m.s.tx.meta, "SELECT EXISTS (SELECT 1 FROM art_whiteout WHERE parent_ino=? AND name=?)", dir, name)
	return n != 0, err
}

// ReadAt reads content of a regular file at an offset. base supplies what shows through from the origin; without one that is an
// error, [ErrNoBase].
func (m *Moment) ReadAt(n *Node, p []byte, off int64, base io.ReaderAt) error {
	s, c := m.s, m.s.tx.meta
	size := s.chunkSize
	if err := s.readRowsOf(c, n.Ino, off, p); err != nil || n.Origin == nil || n.Origin.Limit <= off || len(p) == 0 {
		return err
	}
	own := map[int64]bool{}
	err := s.tx.each("SELECT chunk_index FROM fs_data WHERE ino=? AND chunk_index BETWEEN ? AND ?",
		func(q *sqlite3.Stmt) { own[q.ColumnInt64(0)] = true }, n.Ino, off/size, (off+int64(len(p))-1)/size)
	if err != nil {
		return err
	}
	end := min(off+int64(len(p)), n.Origin.Limit)
	for at := off; at < end; {
		next := min((at/size+1)*size, end)
		if !own[at/size] {
			if base == nil {
				return fmt.Errorf("%w: inode %d", ErrNoBase, n.Ino)
			}
			if got, err := base.ReadAt(p[at-off:next-off], at); int64(got) < next-at {
				if err == nil || errors.Is(err, io.EOF) {
					err = fmt.Errorf("%w: inode %d", ErrBaseChanged, n.Ino)
				}
				return err
			}
		}
		at = next
	}
	return nil
}

// NameIn is a name in a directory.
type NameIn struct {
	Dir  Ino
	Name string
}

// Difference is where two moments of a tree may differ.
type Difference struct {
	Inodes  map[Ino]bool            // of these, something may be another
	Content map[Ino]bool            // of these, so may the content of files that were there before
	Names   map[Ino]map[string]bool // and of directories these entries, or what is below them
	Top     Ino                     // up to this number, an inode is the same in both

	several map[Ino]bool               // of these inodes, those that may have had several names, and are no directories
	entries map[*Moment]map[Ino]uint32 // of each moment, how many entries lead to these inodes
}

// Since returns where the tree may differ from what it was at an earlier moment: by history, which knows all rows that
// have changed since, and by the numbers of inodes, which grow. No other part of the tree is read.
func (m *Moment) Since(earlier *Moment) (*Difference, error) {
	first, last := int64(math.MaxInt64), int64(math.MaxInt64)
	top, end := MaxIno, MaxIno
	if c := earlier.at; c != nil {
		first, top = c.ID, c.maxIno
	}
	if c := m.at; c != nil {
		last, end = c.ID, c.maxIno
	}
	d := newDifference()
	tx := &earlier.s.tx
	for _, k := range database.AllKept {
		key, seen := k.Key[0], d.Inodes
		switch {
		case k == database.KeptDentry || k == database.KeptWhiteout:
			key += ", name"
		case k == database.KeptInode:
			key += ", " + qSeveral
		case k == database.KeptData:
			seen = d.Content
		}
		err := tx.each("SELECT DISTINCT "+key+" FROM main."+k.Old+" WHERE checkpoint>=? AND checkpoint<?", func(q *sqlite3.Stmt) {
			ino := Ino(q.ColumnInt64(0))
			d.Inodes[ino], seen[ino] = true, true
			switch {
			case k == database.KeptInode:
				d.haveSeveral(ino, q)
			case q.ColumnCount() > 1:
				d.name(ino, string(q.ColumnRawText(1)))
			}
		}, first, last)
		if err != nil {
			return nil, err
		}
	}
	err := m.s.tx.each("SELECT ino, "+qSeveral+" FROM fs_inode WHERE ino>? AND ino<=?", func(q *sqlite3.Stmt) {
		ino := Ino(q.ColumnInt64(0))
		d.Inodes[ino] = true
		d.haveSeveral(ino, q)
	}, top, end)
	for _, m := range []*Moment{earlier, m} {
		if err == nil {
			err = m.climb(d)
		}
	}
	return d, err
}

// qSeveral is what haveSeveral is asked of: that a row is of a file that has several names.
const qSeveral = "nlink>1 AND mode&61440<>16384"

// haveSeveral notes what a query's second column says.
func (d *Difference) haveSeveral(ino Ino, q *sqlite3.Stmt) {
	if q.ColumnInt64(1) != 0 {
		d.several[ino] = true
	}
}

func newDifference() *Difference {
	return &Difference{Inodes: map[Ino]bool{}, Content: map[Ino]bool{}, Names: map[Ino]map[string]bool{}, Top: MaxIno,
		several: map[Ino]bool{}, entries: map[*Moment]map[Ino]uint32{}}
}

func (d *Difference) name(dir Ino, name string) {
	if d.Names[dir] == nil {
		d.Names[dir] = map[string]bool{}
	}
	d.Names[dir][name] = true
}

// climb adds the names on all ways from the root to what may differ.
func (m *Moment) climb(d *Difference) (err error) {
	all := slices.AppendSeq(slices.Collect(maps.Keys(d.Inodes)), maps.Keys(d.Names))
	d.entries[m], err = m.climbFrom(d, all)
	return err
}

// climbFrom adds the names on all ways from the root to some inodes, and returns how many entries lead to each. No index has the inodes that
// names lead to, so names are read once for each level of the tree.
func (m *Moment) climbFrom(d *Difference, from []Ino) (map[Ino]uint32, error) {
	seen, entries := map[Ino]bool{RootIno: true}, make(map[Ino]uint32, len(from))
	var todo []Ino
	add := func(ino Ino) {
		if !seen[ino] {
			seen[ino] = true
			todo = append(todo, ino)
		}
	}
	for _, ino := range from {
		add(ino)
	}
	for len(todo) > 0 {
		slices.Sort(todo)
		list := numbers(todo)
		todo = nil
		err := m.s.tx.each("SELECT parent_ino, name, ino FROM fs_dentry WHERE ino IN (SELECT value FROM json_each(?))", func(q *sqlite3.Stmt) {
			dir := Ino(q.ColumnInt64(0))
			d.name(dir, string(q.ColumnRawText(1)))
			entries[Ino(q.ColumnInt64(2))]++
			add(dir)
		}, list)
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// numbers is a list as JSON has it.
func numbers(list []Ino) string {
	text := []byte{'['}
	for i, ino := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(ino), 10)
	}
	return string(append(text, ']'))
}

// Workspaces returns what is known of the workspaces, as [Tx.Workspaces].
func (m *Moment) Workspaces() ([]Workspace, error) { return m.s.tx.Workspaces() }
