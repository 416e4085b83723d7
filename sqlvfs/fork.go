package sqlvfs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// maxForksOf bounds the forks of one database.
const maxForksOf = 1000

// maxForkImage bounds what a fork begins with, which is read into memory: names of workspaces, which another program may have written.
const maxForkImage = 64 << 20

// ErrHasForks says that a database is needed by forks of it.
var ErrHasForks = errors.New("it has forks, which read from it")

// Fork is a fork of a database, as that knows of it. Whether the file is there is another question.
type Fork struct {
	Secret     []byte // that both know
	Path       string // where it was made
	Checkpoint int64  // that it is of, which stays as long as the fork is known
	Made       Timespec
}

// IsThere tells whether the fork is where it was made. Of what cannot be read nobody knows.
func (f *Fork) IsThere() bool {
	_, secret, err := ForkOf(f.Path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return bytes.Equal(secret, f.Secret)
}

// qForks bounds what is read: another program may have written the table.
const qForks = `SELECT secret, CAST(path AS BLOB), checkpoint, made, made_nsec FROM main.art_fork
	WHERE length(secret)=16 AND length(path)<4096 ORDER BY made, made_nsec, secret LIMIT 1000`

// Forks returns the forks of the database. (By the keys of [Moment.MergeKey] a fork knows what was merged of it: that is none.)
func (s *Store) Forks() (list []Fork, err error) {
	list, err = Query(s, func(tx *Tx) ([]Fork, error) { return forksOf(tx.meta) })
	if s.stack.Forked() {
		keys := mergeKeys(s.stack.Parents[0].Secret)
		list = slices.DeleteFunc(list, func(f Fork) bool { return bytes.Equal(f.Secret, keys[0]) || bytes.Equal(f.Secret, keys[1]) })
	}
	return list, err
}

func forksOf(c *conn) (list []Fork, err error) {
	if there, err := database.Has(c.Conn, "art_fork"); err != nil || !there {
		return nil, err
	}
	q := c.Prep(qForks)
	for c.Step(q) {
		f := Fork{q.ColumnBlob(0, nil), string(q.ColumnRawBlob(1)), q.ColumnInt64(2), scanTime(q, 3)}
		list = append(list, f)
	}
	return list, c.Done(q)
}

// ForksBelow returns the paths of the forks that are where they were made, if that is below a directory.
func (s *Store) ForksBelow(dir string) (paths []string, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	forks, err := s.Forks()
	for _, f := range forks {
		at := f.Path
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
		if rel, err := filepath.Rel(dir, at); err == nil && filepath.IsLocal(rel) && f.IsThere() {
			paths = append(paths, at)
		}
	}
	return paths, err
}

// NewSecret is what a fork and its parent are to have in common.
func NewSecret() []byte {
	secret := make([]byte, database.SecretSize)
	rand.Read(secret)
	return secret
}

// ForkToBe is a fork that is about to be made at a path. Both know the secret.
type ForkToBe struct {
	Path   string
	Secret []byte
}

// AddFork is [Store.AddForks] of one.
func (s *Store) AddFork(path string, secret []byte, at string) (Checkpoint, error) {
	return s.AddForks([]ForkToBe{{path, secret}}, at)
}

// AddForks has the database know of forks that are about to be made, of the checkpoint with a number or label, or of the present if
// that is "", of which a checkpoint is made then. It returns the checkpoint. They are durable when AddForks returns, or the database knows
// of none. Errors are those of [Store.Checkpoint], [ErrNoCheckpoint], [ErrReplaced], [ErrAgreed] and [ErrCorrupt].
func (s *Store) AddForks(list []ForkToBe, at string) (c Checkpoint, err error) {
	for _, f := range list {
		if len(f.Secret) != database.SecretSize || !filepath.IsAbs(f.Path) || len(f.Path) >= 4096 {
			return c, fmt.Errorf("fork: %q cannot be the path of one", f.Path)
		}
	}
	if at == "" {
		if c, err = s.checkpointNow(ForFork, "", false); err != nil {
			return c, err
		}
		made := c.ID
		at = fmt.Sprint(made)
		defer func() {
			if err != nil {
				err = errors.Join(err, s.unsynced(func(w *writer) error { return w.dropForFork(made) }))
			}
		}()
	}
	err = s.atWriter(func(w *writer) error {
		if c, err = findCheckpoint(w.conn, at); err != nil {
			return err
		}
		if err := w.shownWhole(&c); err != nil {
			return err
		}
		there, err := database.Has(w.Conn, "art_fork")
		if err == nil && !there {
			err = w.Exec(database.WhenNeeded["art_fork"])
		}
		if err != nil {
			return err
		}
		n, err := queryNumber(w.conn, "SELECT count(*) FROM main.art_fork")
		if err == nil && n+int64(len(list)) > maxForksOf {
			err = fmt.Errorf("it has %d forks, and can have no more than %d", n, maxForksOf)
		}
		for _, f := range list {
			if err == nil {
				err = do(w.conn, "INSERT INTO main.art_fork (secret, checkpoint, path, made, made_nsec) VALUES (?,?,?,?,?)", f.Secret, c.ID, []byte(f.Path), Now())
			}
		}
		return err
	})
	return c, err
}

// DropFork is [Store.DropForks] of one.
func (s *Store) DropFork(secret []byte) error { return s.DropForks([][]byte{secret}, false) }

// DropForks has the database forget forks, and with them the checkpoint that was made for them, if nothing else needs it; with keep, that
// stays.
func (s *Store) DropForks(secrets [][]byte, keep bool) error {
	return s.atWriter(func(w *writer) error {
		list, err := forksOf(w.conn)
		of := map[int64]bool{}
		for _, f := range list {
			if !slices.ContainsFunc(secrets, func(secret []byte) bool { return bytes.Equal(secret, f.Secret) }) {
				continue
			}
			of[f.Checkpoint] = true
			if err == nil {
				err = do(w.conn, "DELETE FROM main.art_fork WHERE secret=?", f.Secret)
			}
		}
		for id := range of {
			if err == nil && !keep {
				err = w.dropForFork(id)
			}
		}
		return err
	})
}

// dropForFork drops a checkpoint that was made for forks, if there is none any more and nobody else needs it.
func (w *writer) dropForFork(id int64) error {
	all, err := checkpointsOf(w.conn)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c Checkpoint) bool { return c.ID == id })
	needed := func(c Checkpoint) bool { return c.Restored == id || c.Redo == id }
	if i < 0 || all[i].Kind != ForFork || all[i].Label != "" || slices.ContainsFunc(all, needed) {
		return nil
	}
	held, err := heldOf(w.conn)
	if err != nil || held[id] {
		return err
	}
	if err := w.drop(&all[i]); err != nil || i > 0 {
		return err
	}
	w.newest, err = newestCheckpoint(w.conn)
	if err != nil {
		return err
	}
	return w.retire(id)
}

// atWriter has the writer do something in a transaction of its own, which is durable when atWriter returns.
func (s *Store) atWriter(f func(*writer) error) error { return s.atWriterAnd((*writer).sync, f) }

// unsynced is atWriter of what is durable with what comes later.
func (s *Store) unsynced(f func(*writer) error) error {
	return s.atWriterAnd(func(*writer) error { return nil }, f)
}

func (s *Store) atWriterAnd(sync func(*writer) error, f func(*writer) error) error {
	unlock, err := s.lockWriter()
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Unlock()
	defer s.mu.Lock()
	w := s.writer
	err = w.connect()
	if err == nil {
		err = w.transact(func() error { return f(w) })
	}
	if err == nil {
		err = sync(w)
	}
	return w.Cause(err)
}

// shownWhole makes sure that the tree can be shown whole as it was at a checkpoint.
func (w *writer) shownWhole(c *Checkpoint) error {
	if err := w.soundCheckpoint(c.ID); err != nil {
		return err
	}
	agreed, err := queryNumber(w.conn, "SELECT CAST(value AS INTEGER) FROM fs_config WHERE key='art_agreed'")
	switch {
	case err != nil:
		return err
	case c.ID <= agreed:
		return fmt.Errorf("checkpoint %d: %w", c.ID, ErrAgreed)
	}
	if replaced, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM art_old_baseline WHERE checkpoint>=? AND replaced=1)", c.ID); err != nil || replaced == 0 {
		return err
	}
	at := w.store.stack.At(c.ID, int64(c.maxIno))
	shown, err := at.Overlaid(w.store.connectReader)
	if err != nil {
		return err
	}
	defer shown.Close()
	return asShownAt(c, (&writer{conn: shown, store: w.store}).showsReplaced(c, nil))
}

// MakeFork is [NewForks.Make] of one fork, of which [Store.AddFork] has told its parent.
func MakeFork(parentPath, path string, secret []byte, at Checkpoint) error {
	n, err := BeginForks([]ForkToBe{{path, secret}})
	if err != nil {
		return err
	}
	defer n.Discard()
	return n.Make(parentPath, at)
}

// NewForks are forks of one moment in the making, of which there are no files yet by their names. They are the same but for their secrets:
// one is made, and written once for each.
type NewForks struct {
	list  []ForkToBe
	file  *database.NewFile // which never gets its name
	empty chan emptied
}

// emptied is a connection to a database with tables and without rows, or why there is none.
type emptied struct {
	c   *conn
	err error
}

// BeginForks begins forks while the database that they are to be of is told. Discard ends it. The error is fs.ErrExist if a path is taken.
func BeginForks(list []ForkToBe) (*NewForks, error) {
	for _, f := range list {
		var there unix.Stat_t
		err := unix.Lstat(f.Path, &there)
		switch {
		case err == nil:
			err = fs.ErrExist
		case errors.Is(err, unix.ENOENT):
			err = unix.Access(filepath.Dir(f.Path), unix.W_OK|unix.X_OK)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	file, err := database.MakeNew(list[0].Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list[0].Path, err)
	}
	n := &NewForks{list, file, make(chan emptied, 1)}
	go func() {
		c, err := emptyFork(file.Tmp)
		n.empty <- emptied{c, err}
	}()
	return n, nil
}

// Make makes the forks of a database, which [Store.AddForks] has told of them, at a checkpoint. All files are there, whole and durable, or
// none; one that has the path already is left alone, and the error is fs.ErrExist. A session that writes the parent goes on meanwhile.
func (n *NewForks) Make(parentPath string, at Checkpoint) (err error) {
	defer database.CatchOutOfMemory(&err)
	if parentPath, err = filepath.EvalSymlinks(parentPath); err == nil {
		parentPath, err = filepath.Abs(parentPath)
	}
	if err != nil {
		return err
	}
	first := n.list[0].Secret
	if err := n.fill(&database.Parent{Path: parentPath, Secret: first, Checkpoint: at.ID, MaxIno: int64(at.maxIno)}); err != nil {
		return database.Explain(err)
	}
	data, err := n.file.Read(maxForkImage)
	n.file.Discard() // who is killed leaves as little as can be
	if err != nil {
		return err
	}
	secret := bytes.Index(data, first)
	if secret < 0 || bytes.Count(data, first) != 1 {
		return fmt.Errorf("%w: a fork does not have its secret once", ErrCorrupt)
	}
	var files []*database.NewFile
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	for _, f := range n.list {
		file, err := database.MakeNew(f.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		files = append(files, file)
		copy(data[secret:], f.Secret)
		if err := file.Write(data); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return database.PlaceAll(files)
}

// Discard removes what was begun, but for what was made.
func (n *NewForks) Discard() {
	if n.empty != nil {
		if e := <-n.empty; e.err == nil {
			e.c.Close()
		}
		n.empty = nil
	}
	n.file.Discard()
}

// What a fork has of its own from the beginning: what is read beside the tree, and is little.
const forkRows = `INSERT INTO main.fs_config (key, value) SELECT key, value FROM parent1.fs_config WHERE key IN ('chunk_size', 'schema_version') OR key >= 'art_hold:' AND key < 'art_hold;';
INSERT INTO main.art_base (id, name) SELECT id, name FROM parent1.art_base;
INSERT INTO main.art_tree (id, name, ino, birth, birth_nsec) SELECT id, name, ino, birth, birth_nsec FROM parent1.art_tree;
`

// emptyFork makes the tables of a fork in an empty file. Whether that survives a power cut is the caller's care.
func emptyFork(file string) (_ *conn, err error) {
	defer database.CatchOutOfMemory(&err)
	c, err := database.Connect(file, sqlite3.OPEN_READWRITE, database.HostFiles)
	if err != nil {
		return nil, err
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA page_size=%d; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;", database.PageSize) + database.FormatTables + database.ArtTables +
		database.WhenNeeded["art_parent"] + ";" + database.WhenNeeded["art_hidden"] + ";" +
		fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", ApplicationID, SchemaVersion)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// fill makes a fork of a parent, and closes the file.
func (n *NewForks) fill(own *database.Parent) error {
	stack, err := database.Over(own)
	if err != nil {
		return err
	}
	e := <-n.empty
	n.empty = nil
	if e.err != nil {
		return e.err
	}
	c := e.c
	defer c.Close()
	k := database.KeptWorkspace
	if err := stack.Overlay(c, k); err != nil {
		return err
	}
	if err := c.Exec("BEGIN;" + forkRows + "INSERT INTO main." + k.Table + " (" + k.Rows("") + ") SELECT " + k.Rows("u.") + " FROM under_" + k.Table + " u"); err != nil {
		return err
	}
	if err := do(c, "INSERT INTO main.art_parent (id, path, secret, checkpoint, max_ino) VALUES (1,?,?,?,?)", []byte(own.Path), own.Secret, own.Checkpoint, own.MaxIno); err != nil {
		return err
	}
	// Other tools, which do not know the parent, are to give no number twice either.
	if err := do(c, "INSERT INTO main.sqlite_sequence (name, seq) VALUES ('fs_inode', ?)", own.MaxIno); err != nil {
		return err
	}
	return c.Exec("COMMIT; PRAGMA main.journal_mode=WAL")
}

// Untouched tells whether a fork has nothing of its own: its tree is, and has been at all of its checkpoints, what the checkpoint is that
// it is of, but for access times. The store must be open for writing.
func (s *Store) Untouched() (bool, error) {
	if !s.stack.Forked() {
		return false, nil
	}
	q := "SELECT NOT EXISTS (SELECT 1 FROM main.art_hidden)"
	for _, k := range database.AllKept {
		if k == database.KeptBirth { // that of an inode never changes
			continue
		}
		key, all := "", ""
		for i, column := range slices.Concat(k.Key, k.Values) {
			same := " AND u." + column + " IS m." + column
			if i < len(k.Key) {
				key += same
			}
			if !strings.HasPrefix(column, "atime") {
				all += same
			}
		}
		below := "EXISTS (SELECT 1 FROM under_" + k.Table + " u WHERE 1"
		q += " AND NOT EXISTS (SELECT 1 FROM main." + k.Table + " m WHERE NOT " + below + all + "))" +
			" AND NOT EXISTS (SELECT 1 FROM main." + k.Old + " m WHERE iif(m.there, NOT " + below + all + "), " + below + key + ")))"
	}
	n := int64(0)
	err := s.unsynced(func(w *writer) (err error) { // it has views of what is below
		n, err = queryNumber(w.conn, q)
		return err
	})
	return n != 0, err
}

// Parents returns the paths of the database that this one is a fork of, of that one's parent, and so on, without symbolic links.
func (s *Store) Parents() (paths []string) {
	for _, p := range s.stack.Parents {
		paths = append(paths, p.Path)
	}
	return paths
}

// Eldest returns the path of the database that one, and its parent, and so on, say that they are forks of: of one that is no fork, its own.
func Eldest(path string) (string, error) {
	for range database.MaxParents + 1 {
		parent, _, err := ForkOf(path)
		if err != nil || parent == "" {
			return path, err
		}
		path = parent
	}
	return "", ErrParent
}

// ForkOf returns what a database says it is a fork of: the path and the secret; "": of none. It is anybody's word.
func ForkOf(path string) (parent string, secret []byte, err error) {
	defer database.CatchOutOfMemory(&err)
	if _, err := database.Inspect(path, true, false); err != nil {
		return "", nil, err
	}
	c, err := database.ConnectReadOnly(path, database.HostFiles)
	if err != nil {
		return "", nil, database.Explain(err)
	}
	defer c.Close()
	app, version, err := admit(c.Conn)
	if err != nil || app != ApplicationID || version < database.Since["art_parent"] {
		return "", nil, database.Explain(err)
	}
	p, err := database.ReadParent(c.Conn)
	if err != nil || p == nil {
		return "", nil, err
	}
	return p.Path, p.Secret, nil
}
