package database

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// A fork is a database that has rows of its own alone, and reads the others from the database that it was forked from, its parent, as they
// were at a checkpoint. Each connection has the parent attached, and temporary views in the place of the tables ([ViewsOf]), so what reads
// the tree reads both. What writes it writes the fork's own tables: a row of its own takes the place of the parent's, and what it deletes
// of the parent's is hidden. The parent is never written, and may go on: it knows of the fork, and keeps the checkpoint.

// ErrParent says that the database which a fork was made of cannot be read as it was.
var ErrParent = errors.New("the database that it is a fork of cannot be used")

var errUnknown = errors.New("it does not know of this fork, or has no such checkpoint any more")

// parentError says which that is, why, and what to do about it: whoever opens a fork may come upon it.
type parentError struct {
	path  string
	cause error
}

func (e *parentError) Error() string   { return fmt.Sprintf("%v: %s: %v", ErrParent, e.path, e.cause) }
func (e *parentError) Unwrap() []error { return []error{ErrParent, e.cause} }

// Hint is what to do.
func (e *parentError) Hint() string {
	return "a fork reads from the database that it was made of, which has to be where it was: put it back there"
}

const (
	// SecretSize is the length of what a fork and its parent have in common, in bytes.
	SecretSize = 16
	// MaxParents is how many databases one may lie over. SQLite attaches ten at most (https://sqlite.org/limits.html).
	MaxParents = 8
	// maxNumber is the highest of a checkpoint and of an inode.
	maxNumber = 1<<52 - 1
)

// Parent is a database that another one is a fork of.
type Parent struct {
	Path       string
	Secret     []byte
	Checkpoint int64
	MaxIno     int64
}

// qParent yields a fork's parent.
const qParent = "SELECT CAST(path AS BLOB), secret, checkpoint, max_ino FROM main.art_parent LIMIT 2"

// ReadParent returns what a database of the newest layout is a fork of; nil: of none.
func ReadParent(c *sqlite3.Conn) (p *Parent, err error) {
	there, err := Has(c, "art_parent")
	if err != nil || !there {
		return nil, err
	}
	hides, err := Has(c, "art_hidden")
	if err != nil {
		return nil, err
	}
	n := 0
	err = ForRows(c, qParent, func(q *sqlite3.Stmt) {
		n++
		p = &Parent{string(q.ColumnRawBlob(0)), q.ColumnBlob(1, nil), q.ColumnInt64(2), q.ColumnInt64(3)}
	})
	if err == nil && (n != 1 || !hides || !filepath.IsAbs(p.Path) || len(p.Path) >= 4096 || len(p.Secret) != SecretSize ||
		p.Checkpoint < 1 || p.Checkpoint > maxNumber || p.MaxIno < 1 || p.MaxIno > maxNumber) {
		err = fmt.Errorf("%w: what it says of that cannot be", ErrParent)
	}
	return p, err
}

// Stack is a database with those that it lies over, the nearest first. Of one that stands for itself, it is empty.
type Stack struct {
	Layers  []Layer // the first is the database itself; nil: that alone, at present
	Parents []Parent
	Subst   map[string]string // statements that connections ask in another form, if there are layers
}

// Descend finds out what the database on a connection lies over, and makes sure that it can be read.
func Descend(c *sqlite3.Conn) (s Stack, err error) {
	app, err := PragmaInt(c, "application_id")
	if err != nil {
		return s, err
	}
	version, err := PragmaInt(c, "user_version")
	if err != nil || app != ApplicationID || version < Since["art_parent"] {
		return s, err // it knows no forks
	}
	p, err := ReadParent(c)
	if err != nil || p == nil {
		return s, err
	}
	return Over(p)
}

// Over is what a fork of a parent lies over. Its parents have the paths at which they are found now, without symbolic links: all that
// reads them reads the same ones, and SQLite has their logs there.
func Over(p *Parent) (s Stack, err error) {
	for p != nil {
		if len(s.Parents) == MaxParents {
			return s, fmt.Errorf("%w: it is a fork of a fork, and so on, more than %d times", ErrParent, MaxParents)
		}
		above, found := p.Path, *p
		if real, err := filepath.EvalSymlinks(p.Path); err == nil {
			found.Path = real
		}
		s.Parents = append(s.Parents, found)
		if p, err = found.inspect(); err != nil {
			return s, &parentError{above, Explain(err)}
		}
	}
	s.Layers = []Layer{{Schema: "main"}}
	for i, p := range s.Parents {
		s.Layers = append(s.Layers, Layer{Schema: fmt.Sprintf("parent%d", i+1), Checkpoint: p.Checkpoint, MaxIno: p.MaxIno})
	}
	return s, nil
}

// Forked tells whether the database is a fork.
func (s *Stack) Forked() bool { return len(s.Parents) > 0 }

// At is the same with the database itself shown at a checkpoint.
func (s *Stack) At(checkpoint, maxIno int64) Stack {
	first := Layer{Schema: "main", Checkpoint: checkpoint, MaxIno: maxIno}
	if !s.Forked() {
		return Stack{Layers: []Layer{first}, Subst: s.Subst}
	}
	return Stack{append([]Layer{first}, s.Layers[1:]...), s.Parents, s.Subst}
}

// RowsAt is a query of the rows that a table of the database had at a checkpoint.
func (s *Stack) RowsAt(k *Kept, checkpoint, maxIno int64) string {
	return k.rows(s.At(checkpoint, maxIno).Layers)
}

// inspect makes sure that a parent knows of the fork, and still has the checkpoint, and returns its own parent.
func (p *Parent) inspect() (*Parent, error) {
	if _, err := Inspect(p.Path, true, false); err != nil {
		return nil, err
	}
	c, err := ConnectReadOnly(p.Path, HostFiles)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	app, version, err := Marks(c.Conn)
	switch {
	case err != nil:
		return nil, err
	case app != ApplicationID || version < Since["art_parent"]: // the tables of a tree are the same since
		return nil, fmt.Errorf("%w: its layout is %d, and that of its forks %d", ErrCorrupt, version, SchemaVersion)
	}
	list, _, err := Deviations(c.Conn)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if !d.Harmless {
			return nil, fmt.Errorf("%w: %s", ErrCorrupt, d.Text)
		}
	}
	if known, err := Has(c.Conn, "art_fork"); err != nil {
		return nil, err
	} else if !known {
		return nil, errUnknown
	}
	q := c.Prep("SELECT count(*) FROM art_fork f JOIN art_checkpoint c ON c.id=f.checkpoint WHERE f.secret=?1 AND c.id=?2 AND c.max_ino=?3")
	q.BindBlob(1, p.Secret)
	q.BindInt64(2, p.Checkpoint)
	q.BindInt64(3, p.MaxIno)
	known := c.Step(q) && q.ColumnInt64(0) > 0
	if err := c.Done(q); err != nil {
		return nil, err
	}
	if !known {
		return nil, errUnknown
	}
	return ReadParent(c.Conn)
}

// uri names the parent for ATTACH. It is opened as the database itself is, but where it cannot be written. Like [ConnectReadOnly], that
// leaves nothing beside it that a reader makes.
func (p *Parent) uri() string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: p.Path, RawQuery: HostFiles}
	dir := syscall.Access(filepath.Dir(p.Path), 2)
	if dir != nil || syscall.Access(p.Path, 2) != nil {
		u.RawQuery += "&mode=ro"
		if _, err := os.Stat(p.Path + "-wal"); err != nil && dir != nil {
			u.RawQuery += "&immutable=1"
		}
	}
	return u.String()
}

// Overlay has a connection read all layers, and those below the first apart as far as some tables go: who writes, all.
func (s *Stack) Overlay(c *Conn, under ...*Kept) error {
	if s.Layers == nil {
		return nil
	}
	for i := range s.Parents {
		q := c.Prep("ATTACH ?1 AS " + s.Layers[i+1].Schema)
		q.BindText(1, s.Parents[i].uri())
		if err := c.Run(q); err != nil {
			return &parentError{s.Parents[i].Path, err}
		}
	}
	c.Forget() // statements that read the tables
	if c.Subst == nil {
		c.Subst = map[string]string{}
	}
	maps.Copy(c.Subst, s.Subst)
	// query_only, which a connection for reading has set, refuses temporary views too.
	reads, err := PragmaInt(c.Conn, "query_only")
	if err != nil {
		return err
	}
	return c.Exec("PRAGMA query_only=OFF;" + ViewsOf(s.Layers, under...) + fmt.Sprintf("PRAGMA query_only=%d", reads))
}

// Overlaid opens a connection that reads all layers, as Overlay has it.
func (s *Stack) Overlaid(open func() (*Conn, error), under ...*Kept) (*Conn, error) {
	c, err := open()
	if err != nil {
		return nil, err
	}
	if err := s.Overlay(c, under...); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
