// Package database is what the store and fsck share of a database's file: connections that run no code of a hostile
// schema's, the tables of every layout, what deviates from them, the writer's lock, files in the making, and errors.
package database

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
)

// qNothing yields nothing. It stands in for what could not be prepared, so that callers need one
// error path only; later nothing may be prepared at all. An unknown pragma does nothing
// (https://sqlite.org/pragma.html) and does not read the schema, which may be damaged.
const qNothing = `PRAGMA art_nothing`

// Conn is a connection with its prepared statements. One goroutine at a time may use it.
type Conn struct {
	*sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	Subst map[string]string // statements that this database needs in another form
	err   error             // of the last prep, for done
	reads string            // the database's path, if the connection may write and is not to
}

// maxRow is the longest row that is read, in bytes. The longest that is written is a chunk.
const maxRow = MaxChunkSize + 1<<20

// HostFiles are the parameters of [Connect] for files of the host.
const HostFiles = "vfs=" + diskvfs.Name

// Connect opens a connection that runs no code of the database's: no triggers, no views, no
// constraints, and only functions that are safe whatever arguments a hostile schema gives them.
// Expressions of indexes and computed columns cannot be turned off; admit refuses them. query are
// parameters of the URI (https://sqlite.org/uri.html); they name the VFS.
func Connect(path string, flags sqlite3.OpenFlag, query string) (*Conn, error) {
	if !IsRemote(path) {
		if err := checkLogs(path); err != nil {
			return nil, err
		}
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query}
	c, err := sqlite3.OpenFlags(u.String(), flags|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	for op, on := range map[sqlite3.DBConfig]bool{
		sqlite3.DBCONFIG_DEFENSIVE:      true,
		sqlite3.DBCONFIG_TRUSTED_SCHEMA: false,
		sqlite3.DBCONFIG_ENABLE_TRIGGER: false,
		sqlite3.DBCONFIG_ENABLE_VIEW:    false,
		sqlite3.DBCONFIG_ENABLE_FKEY:    false,
		sqlite3.DBCONFIG_DQS_DML:        false,
		sqlite3.DBCONFIG_DQS_DDL:        false,
	} {
		if _, err := c.Config(op, on); err != nil {
			c.Close()
			return nil, err
		}
	}
	c.Limit(sqlite3.LIMIT_LENGTH, maxRow)
	if err := c.Exec("PRAGMA busy_timeout=10000; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA ignore_check_constraints=ON"); err != nil {
		c.Close()
		return nil, err
	}
	nothing, _, err := c.Prepare(qNothing)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Conn{Conn: c, stmts: map[string]*sqlite3.Stmt{qNothing: nothing}}, nil
}

// checkLogs refuses what is no regular file in the place of one of the files that SQLite has beside a database: it would wait for a FIFO.
func checkLogs(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // SQLite has them there
	}
	for _, suffix := range logSuffixes {
		if st, err := os.Lstat(path + suffix); err == nil && !st.Mode().IsRegular() {
			return fmt.Errorf("%s%s is not a regular file", path, suffix)
		}
	}
	return nil
}

// Prep returns the statement for a query, prepared once. Use of it ends with Done or Run, which
// also report what went wrong here.
func (c *Conn) Prep(q string) *sqlite3.Stmt {
	if s, ok := c.stmts[q]; ok {
		return s
	}
	text := q
	if t, ok := c.Subst[q]; ok {
		text = t
	}
	s, err := c.prepare(text)
	if err != nil {
		c.err = fmt.Errorf("%w: %v", ErrCorrupt, err)
		return c.stmts[qNothing]
	}
	c.stmts[q] = s
	return s
}

func (c *Conn) prepare(text string) (s *sqlite3.Stmt, err error) {
	defer CatchOutOfMemory(&err)
	s, _, err = c.Prepare(text)
	return s, err
}

// Step goes to a statement's next row, and tells whether there is one. Done reports what went wrong.
func (c *Conn) Step(s *sqlite3.Stmt) bool {
	defer CatchOutOfMemory(&c.err)
	return s.Step()
}

// Forget finalizes the prepared statements.
func (c *Conn) Forget() {
	for q, s := range c.stmts {
		if q != qNothing {
			finalize(s)
			delete(c.stmts, q)
		}
	}
}

// finalize finalizes a statement. What it ended with, Done has reported.
func finalize(s *sqlite3.Stmt) (err error) {
	defer CatchOutOfMemory(&err)
	return s.Close()
}

// Close finalizes the prepared statements and closes the connection. The last one to be closed
// copies the log into the database and removes it; one that only reads leaves it alone if there is
// anything in it, as a session leaves it that was killed.
func (c *Conn) Close() error {
	if c.reads != "" {
		log, err := os.Stat(c.reads + "-wal")
		if _, err := c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, err == nil && log.Size() > 0); err != nil {
			return err
		}
	}
	c.Forget()
	finalize(c.stmts[qNothing])
	return c.Conn.Close()
}

// Done ends the use of a statement that was stepped through.
func (c *Conn) Done(s *sqlite3.Stmt) error {
	err := s.Err()
	if rerr := reset(s); err == nil {
		err = rerr
	}
	if c.err != nil {
		err, c.err = c.err, nil
	}
	return err
}

func reset(s *sqlite3.Stmt) (err error) {
	defer CatchOutOfMemory(&err)
	return s.Reset()
}

// Run executes a statement that yields no rows.
func (c *Conn) Run(s *sqlite3.Stmt) (err error) {
	defer CatchOutOfMemory(&err)
	err = s.Exec()
	if c.err != nil {
		err, c.err = c.err, nil
	}
	return err
}

// Cause is [diskvfs.Cause] for this connection.
func (c *Conn) Cause(err error) error { return diskvfs.Cause(c.Conn, err) }

// End ends a connection's transaction: it commits, unless err says that something went wrong in it, or its goroutine panics. To be
// deferred itself, not called by what is.
func End(c *sqlite3.Conn, err *error) {
	panicked := recover()
	if panicked != nil {
		*err = fmt.Errorf("panic: %v", panicked)
	}
	if *err == nil {
		*err = exec(c, "COMMIT")
	}
	// SQLite has rolled back by itself after most errors. It always ends the transaction, so an error
	// of ROLLBACK has nothing to say that the next BEGIN does not.
	if *err != nil && !c.GetAutocommit() {
		_ = exec(c, "ROLLBACK")
	}
	if panicked != nil {
		panic(panicked)
	}
}

func exec(c *sqlite3.Conn, statement string) (err error) {
	defer CatchOutOfMemory(&err)
	return c.Exec(statement)
}

func PragmaInt(c *sqlite3.Conn, name string) (int64, error) { return QueryInt(c, "PRAGMA "+name) }

func QueryInt(c *sqlite3.Conn, q string) (int64, error) {
	s, _, err := c.Prepare(q)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var n int64
	if s.Step() {
		n = s.ColumnInt64(0)
	}
	return n, s.Err()
}

// ForRows runs a query and calls see for each row.
func ForRows(c *sqlite3.Conn, query string, see func(*sqlite3.Stmt)) error {
	q, _, err := c.Prepare(query)
	if err != nil {
		return err
	}
	defer q.Close()
	for q.Step() {
		see(q)
	}
	return q.Err()
}
