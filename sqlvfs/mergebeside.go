package sqlvfs

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Beside a session that writes the database, a merge is made in a fork of that: what the fork has rows of its own of, or hides, is what the
// merge has changed. The writer takes these rows over, if none of them has changed in the tree since the fork was made. For whom has inodes
// open it is as if the tree had gone back, see restored.go.

// maxMergeFile bounds the file of a merge, in bytes.
const maxMergeFile = 1 << 40

// MergedFork is a fork in which a merge was made, for the writer of its parent.
type MergedFork struct {
	c      *conn
	name   string
	file   *os.File
	of     int64 // the checkpoint of the parent
	maxIno Ino   // the highest number of an inode then
	inodes []Ino // that the merge has changed, up to that
}

var mergedForks atomic.Int64 // how many there were

// FoldLog makes one file of a fork that nobody has open and its log, as [Store.OpenMerged] is to read it.
func FoldLog(fork string) (err error) {
	c, err := database.Connect(fork, sqlite3.OPEN_READWRITE, database.HostFiles)
	if err != nil {
		return err
	}
	mode := ""
	err = database.ForRows(c.Conn, "PRAGMA main.journal_mode=DELETE", func(q *sqlite3.Stmt) { mode = q.ColumnText(0) })
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	if err == nil && mode != "delete" {
		err = fmt.Errorf("%s is in use", fork)
	}
	return err
}

// OpenMerged opens a fork in which a merge was made, and closes the file with it. It may be anything.
func (s *Store) OpenMerged(f *os.File) (m *MergedFork, err error) {
	defer database.CatchOutOfMemory(&err)
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxMergeFile) {
		err = errors.New("receive a merge: it is no database")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	m = &MergedFork{file: f, name: fmt.Sprintf("/art-merge-%d", mergedForks.Add(1))}
	readervfs.Create(m.name, sizedFile{f, info.Size()})
	defer func() {
		if err != nil {
			m.Close()
			m, err = nil, fmt.Errorf("receive a merge: %w", database.Explain(err))
		}
	}()
	if m.c, err = database.Connect(m.name, sqlite3.OPEN_READONLY, "vfs=reader"); err != nil {
		return m, err
	}
	app, version, err := database.Marks(m.c.Conn)
	if err == nil && (app != ApplicationID || version != SchemaVersion) {
		err = fmt.Errorf("%w: its layout is %d", ErrCorrupt, version)
	}
	if err != nil {
		return m, err
	}
	list, whole, err := database.Deviations(m.c.Conn)
	if err == nil && (len(list) > 0 || !whole) {
		err = fmt.Errorf("%w: its tables are not those of a fork", ErrCorrupt)
	}
	if err != nil {
		return m, err
	}
	p, err := database.ReadParent(m.c.Conn)
	switch {
	case err != nil:
		return m, err
	case p == nil:
		return m, fmt.Errorf("%w: it is no fork", ErrCorrupt)
	}
	forks, err := s.Forks()
	if err == nil && !slices.ContainsFunc(forks, func(f Fork) bool { return string(f.Secret) == string(p.Secret) && f.Checkpoint == p.Checkpoint }) {
		err = fmt.Errorf("%w: it is no fork of this database", ErrCorrupt)
	}
	if err != nil {
		return m, err
	}
	m.of, m.maxIno = p.Checkpoint, Ino(p.MaxIno)
	for _, k := range database.AllKept {
		query := fmt.Sprintf("SELECT %s FROM %s WHERE %[1]s<=?1 UNION SELECT key1 FROM art_hidden WHERE of_table='%[2]s'", k.Key[0], k.Table)
		q := bind(m.c.Prep(query), m.maxIno)
		for m.c.Step(q) {
			m.inodes = append(m.inodes, Ino(q.ColumnInt64(0)))
		}
		if err := m.c.Done(q); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Close closes it.
func (m *MergedFork) Close() {
	if m.c != nil {
		m.c.Close()
	}
	readervfs.Delete(m.name)
	m.file.Close()
}

// sizedFile is a file as readervfs needs it.
type sizedFile struct {
	*os.File
	size int64
}

func (f sizedFile) Size() (int64, error) { return f.size, nil }

// LiveIn returns the live inodes that a merge changes.
func (s *Store) LiveIn(m *MergedFork) (list []RestoredInode, err error) {
	err = s.View(func(tx *Tx) error {
		seen := map[Ino]bool{}
		for _, ino := range m.inodes {
			if in := tx.live[ino]; in != nil && !seen[ino] {
				seen[ino] = true
				list = append(list, RestoredInode{In: in, Number: in.Number()})
			}
		}
		return nil
	})
	return list, err
}

// TakeMerged has the tree become what a fork has made of it. What it was before is a checkpoint. All of it is one transaction and one step,
// durable when TakeMerged returns. follow is as that of [Store.GoBack]. The error is [ErrOvertaken] if something of it has changed since
// the fork was made, with which nothing has changed, as with any other.
func (s *Store) TakeMerged(m *MergedFork, follow func(*Tx, *Restored)) (Checkpoint, error) {
	return s.backAs(func() (Checkpoint, *Restored, error) { return s.writer.takeMerged(m) }, follow)
}

// takeMerged is TakeMerged in one transaction.
func (w *writer) takeMerged(m *MergedFork) (done Checkpoint, restored *Restored, err error) {
	before := w.newest
	q := w.Prep("ATTACH ?1 AS merged")
	u := url.URL{Scheme: "file", OmitHost: true, Path: m.name, RawQuery: "vfs=reader"}
	q.BindText(1, u.String())
	if err := w.Run(q); err != nil {
		return done, nil, err
	}
	defer func() {
		w.Forget() // a statement that reads it keeps it attached
		if w.Exec("DETACH merged") != nil {
			w.disconnect() // what was committed counts
		}
	}()
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return done, nil, err
	}
	w.wrote = true
	defer func() {
		if err != nil {
			w.newest = before
			clear(w.bases)
			clear(w.trees)
		}
	}()
	defer database.End(w.Conn, &err)
	defer database.CatchOutOfMemory(&err)
	since, err := w.mergeable(m)
	if err != nil {
		return done, nil, err
	}
	if err := w.beforeMerge(m); err != nil {
		return done, nil, err
	}
	top := w.store.tx.nextIno - 1
	if err := w.putMerged(m, top); err != nil {
		return done, nil, err
	}
	end, err := w.store.highestIno(w.conn, false)
	if err != nil {
		return done, nil, err
	}
	if err := w.soundMerge(&Checkpoint{ID: m.of, maxIno: w.newest.maxIno}, top); err != nil {
		if since && errors.Is(err, ErrCorrupt) {
			err = ErrOvertaken // as where both have moved a directory into that of the other
		}
		return done, nil, err
	}
	if restored, err = w.restored(true); err != nil {
		return done, nil, err
	}
	if err := w.cameMerged(restored, top); err != nil {
		return done, nil, err
	}
	w.store.tx.nextIno = max(w.store.tx.nextIno, end+1)
	return w.newest, restored, nil
}

// mergeable makes sure that a merge can be taken over as it is, and tells whether anything has changed since.
func (w *writer) mergeable(m *MergedFork) (since bool, err error) {
	n, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM art_journal)")
	if err == nil && n != 0 {
		err = ErrJournal
	}
	if err != nil {
		return false, err
	}
	of, err := checkpointOf(w.conn, m.of)
	if err == nil && (of.ID != m.of || of.maxIno != m.maxIno) {
		err = fmt.Errorf("%w: checkpoint %d", ErrNoCheckpoint, m.of)
	}
	if err == nil {
		err = w.soundCheckpoint(m.of)
	}
	if err != nil {
		return false, err
	}
	if since = of.ID != w.newest.ID; !since {
		since, err = w.changedSince(&of)
	}
	if err == nil && !since {
		since, err = w.agreedSince(&of)
	}
	if err != nil {
		return since, err
	}
	for _, k := range slices.Concat(database.AllKept, []*database.Kept{database.KeptBaseline}) {
		// A name in a directory that leads to an inode which was made since is not in history, where there was none.
		query := "SELECT EXISTS (SELECT 1 FROM (" + mergedRows(k, 0, 0) + ") t JOIN " + k.Old + " h ON " + k.Equal("h", "t") + " WHERE h.checkpoint>=?1)"
		if k.Entry {
			query += " OR EXISTS (SELECT 1 FROM (" + mergedRows(k, 0, 0) + ") t JOIN fs_dentry p ON " + k.Equal("p", "t") + " WHERE p.ino>?2)"
		}
		q := w.Prep(query)
		n := int64(0)
		if w.Step(bind(q, []any{m.of, m.maxIno}[:q.BindCount()]...)) {
			n = q.ColumnInt64(0)
		}
		if err := w.Done(q); err != nil {
			return since, err
		}
		if n != 0 {
			return since, ErrOvertaken
		}
	}
	return since, nil
}

// beforeMerge makes a checkpoint of what is there, or says of the one that was made for the fork what it was made for.
func (w *writer) beforeMerge(m *MergedFork) error {
	changed, err := w.changedFor(BeforeMerge)
	if err != nil {
		return err
	}
	if changed {
		now := Checkpoint{Kind: BeforeMerge, Session: w.store.tx.session.id}
		if err := w.insertCheckpoint(&now); err != nil {
			return err
		}
		w.newest = now
		return nil
	}
	if w.newest.ID == m.of && w.newest.Kind == ForFork {
		w.newest.Kind = BeforeMerge
		return do(w.conn, "UPDATE art_checkpoint SET kind=? WHERE id=?", string(BeforeMerge), m.of)
	}
	return nil
}

// treeOf is a query of the number that a tree of a merge has here.
func treeOf(id string) string {
	return "(SELECT b.id FROM main.art_tree b JOIN merged.art_tree m ON m.name=b.name AND m.ino=b.ino AND m.birth=b.birth AND m.birth_nsec=b.birth_nsec WHERE m.id=" + id + ")"
}

// mergedRows is a query of the rows that a merge has changed, with whether they are there. Inodes above the first number get others, from
// the second on.
func mergedRows(k *database.Kept, above, top Ino) string {
	number := func(c string) string {
		if above == top {
			return c
		}
		return fmt.Sprintf("iif(%[1]s>%[2]d, %[1]s+%[3]d, %[1]s)", c, above, top-above)
	}
	columns := func(from string) string {
		var list []string
		for i, c := range slices.Concat(k.Key, k.Values) {
			is := from + c
			switch {
			case i == 0 && !k.Host, k.Entry && c == "ino":
				is = number(is)
			case k.Table == "fs_origin" && c == "base_ino": // what shows to programs is the inode's own number where it has none of the host's
				is = fmt.Sprintf("iif(%[1]s=p.delta_ino, %[2]s, %[1]s)", is, number("p.delta_ino"))
			case k.Table == "art_origin" && c == "base":
				is = "(SELECT b.id FROM main.art_base b JOIN merged.art_base m ON m.name=b.name WHERE m.id=" + is + ")"
			case k == database.KeptBaseline && c == "tree":
				is = treeOf(is)
			}
			list = append(list, is+" AS "+c)
		}
		return strings.Join(list, ", ")
	}
	own := "SELECT " + columns("p.") + ", 1 AS there FROM merged." + k.Table + " p"
	if k.Table == "art_workspace" {
		return own
	}
	hidden := []string{"key1", "key2"}
	var none []string
	for i, c := range slices.Concat(k.Key, k.Values) {
		if i < len(k.Key) {
			none = append(none, "p."+hidden[i]+" AS "+c)
		} else {
			none = append(none, "NULL")
		}
	}
	if k == database.KeptBaseline {
		none[0] = treeOf("p.key1") + " AS tree"
	}
	key := "x." + k.Key[0] + "=p.key1"
	if len(k.Key) > 1 {
		key += " AND x." + k.Key[1] + "=p.key2"
	}
	return own + " UNION ALL SELECT " + strings.Join(none, ", ") + ", 0 FROM merged.art_hidden p WHERE p.of_table='" + k.Table +
		"' AND NOT EXISTS (SELECT 1 FROM merged." + k.Table + " x WHERE " + key + ")"
}

// putMerged takes over the rows that a merge has changed. What it has made gets numbers above one.
func (w *writer) putMerged(m *MergedFork, top Ino) error {
	if err := w.define(); err != nil {
		return err
	}
	n, err := queryNumber(w.conn, `SELECT count(*) FROM merged.art_base WHERE (typeof(name) <> 'text' OR NOT valid_name(name)) AND name NOT IN (SELECT name FROM main.art_base)`)
	if err == nil && n != 0 {
		err = fmt.Errorf("%w: a workspace of the merge has a name that cannot be", ErrCorrupt)
	}
	if err != nil {
		return err
	}
	if err := w.Exec(restoreTables + `;
		INSERT OR IGNORE INTO main.art_base (name) SELECT name FROM merged.art_base;
		INSERT OR IGNORE INTO main.art_tree (name, ino, birth, birth_nsec) SELECT name, ino, birth, birth_nsec FROM merged.art_tree`); err != nil {
		return err
	}
	lost := false
	values := []any{w.newest.ID, w.newest.maxIno}
	for _, k := range slices.Concat(database.AllKept, []*database.Kept{database.KeptBaseline}) {
		keys, named, second := "a", "a AS "+k.Key[0], "0"
		if len(k.Key) > 1 {
			keys, named, second = "a, b", named+", b AS "+k.Key[1], k.Key[1]
		}
		rows := mergedRows(k, m.maxIno, top)
		hide := "SELECT 1"
		if w.store.stack.Forked() {
			hide = k.HideRows("(u." + strings.Join(k.Key, ", u.") + ") IN (SELECT " + keys + " FROM temp.art_changed WHERE there=0)")
		}
		err := w.bringBack(k, []string{
			"DELETE FROM temp.art_changed",
			"INSERT INTO temp.art_changed SELECT " + k.Key[0] + ", " + second + ", 0, there FROM (" + rows + ")",
			k.PutAll("(SELECT " + named + " FROM temp.art_changed)"),
			hide,
			"DELETE FROM main." + k.Table + " WHERE (" + strings.Join(k.Key, ", ") + ") IN (SELECT " + keys + " FROM temp.art_changed WHERE there=0)",
			"INSERT OR REPLACE INTO main." + k.Table + " (" + k.Rows("") + ") SELECT " + k.Rows("") + " FROM (" + rows + ") WHERE there=1",
		}, values)
		if err == nil && k == database.KeptInode {
			if err = w.holdOrphans(); err == nil {
				lost, err = w.holdInodes(true)
			}
		}
		if err != nil {
			return err
		}
		n, err := queryNumber(w.conn, "SELECT count(*) FROM temp.art_changed t JOIN main."+k.Table+" p ON (p."+strings.Join(k.Key, ", p.")+")=("+keys+") WHERE "+k.Bad("p."))
		if err == nil && n != 0 {
			err = fmt.Errorf("%w: a row of %s of the merge cannot be", ErrCorrupt, k.Table)
		}
		if err != nil {
			return err
		}
	}
	if lost {
		for _, k := range heldTables {
			if err := w.bringBack(k, withoutInode(k, true), values); err != nil {
				return err
			}
		}
	}
	return w.Exec(releaseHeld)
}

// cameMerged adds the inodes that a merge has made of the host's objects, of which somebody may have live ones.
func (w *writer) cameMerged(r *Restored, top Ino) error {
	var came []Ino
	q := bind(w.Prep("SELECT delta_ino, base_ino FROM main.fs_origin WHERE delta_ino>?1 AND base_ino<>delta_ino"), top)
	for w.Step(q) {
		c := CameInode{Ino(q.ColumnInt64(0)), uint64(q.ColumnInt64(1))}
		r.Came, came = append(r.Came, c), append(came, c.Ino)
	}
	if err := w.Done(q); err != nil {
		return err
	}
	for _, ino := range came {
		q := bind(w.Prep("SELECT name FROM main.fs_dentry WHERE parent_ino=?1 UNION SELECT name FROM main.art_whiteout WHERE parent_ino=?1"), ino)
		for w.Step(q) {
			r.Names = append(r.Names, RestoredName{Dir: ino, Name: string(q.ColumnRawText(0))})
		}
		if err := w.Done(q); err != nil {
			return err
		}
	}
	return nil
}
