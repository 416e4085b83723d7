package sqlvfs

import (
	"os"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// The log of a database that is replicated is read by another process of art's, Litestream (internal/replica), which copies what is new
// in it to a store, and then makes the checkpoints itself. It holds a read transaction, so a checkpoint of this process could copy the
// log, and not have it begin anew; and where it did begin anew before all was read, the other process would have to copy the whole
// database. So the log is left to it:
//   - it is copied here only when it is so long that the other process must have ended;
//   - at the end it is made durable, and stays, as that of a session that was killed. The other process copies the rest, makes the last
//     checkpoint, and says how the database was left: its own tables and checkpoints are no other program's. If it has ended before,
//     the last connection to be closed is one of this process, and SQLite has that make the checkpoint.

// replicated is the tuning for that.
func (t tuning) replicated() tuning {
	t.logLimit, t.logMost = 512<<20, 1<<30
	return t
}

// ForgetLeft is for a process of art's that writes a database otherwise than by a Store, and leaves it by one: what it writes is not
// another program's.
func ForgetLeft(f *os.File) error { return database.ForgetLeft(f) }

// keyID is the row of fs_config with the database's identity.
const keyID = "art_id"

// identify gives a database an identity, if it has none. A fork does not have that of its parent; a copy has, since it is what goes on
// elsewhere.
func identify(c *conn) error {
	return c.Exec("INSERT OR IGNORE INTO main.fs_config (key, value) VALUES ('" + keyID + "', lower(hex(randomblob(16))))")
}

// ID returns the database's identity, or "" if it was never replicated. Another program may have written it.
func (tx *Tx) ID() (id string, err error) {
	err = tx.each("SELECT substr(CAST(value AS BLOB), 1, 32) FROM main.fs_config WHERE key='"+keyID+"'", func(q *sqlite3.Stmt) {
		id = string(q.ColumnRawBlob(0))
	})
	return id, err
}

// KeyContinues begins the names of the rows of fs_config that say which generation at a place of copies the database continues.
const KeyContinues = "art_continues_"

// KeyCopied begins the names of the rows of fs_config that say where the database was copied to: the rest is the URL of the place.
const KeyCopied = "art_copied_"

// Copied returns the places that the database was copied to. Another program may have written them.
func (tx *Tx) Copied() (urls []string, err error) {
	err = tx.each("SELECT substr(CAST(key AS BLOB), 1, 4096) FROM main.fs_config WHERE key >= '"+KeyCopied+"' AND key < '"+KeyCopied+"~' ORDER BY key LIMIT 1000", func(q *sqlite3.Stmt) {
		urls = append(urls, strings.TrimPrefix(string(q.ColumnRawBlob(0)), KeyCopied))
	})
	return urls, err
}

// Continues returns, by the place of copies, the generation there that the database continues. Another program may have written it.
func (tx *Tx) Continues() (map[string]string, error) {
	all := map[string]string{}
	err := tx.each("SELECT CAST(key AS BLOB), substr(CAST(value AS BLOB), 1, 64) FROM main.fs_config WHERE key >= '"+KeyContinues+"' AND key < '"+KeyContinues+"~' LIMIT 1000", func(q *sqlite3.Stmt) {
		all[strings.TrimPrefix(string(q.ColumnRawBlob(0)), KeyContinues)] = string(q.ColumnRawBlob(1))
	})
	return all, err
}

// forgetContinues has a copy, which nobody else has open, continue nothing: the database that it was made of may go on where that is copied. Nor was
// the copy copied anywhere.
func forgetContinues(file string) error {
	c, err := database.Connect(file, sqlite3.OPEN_READWRITE, database.HostFiles)
	if err != nil {
		return err
	}
	defer c.Close()
	if known, err := database.Has(c.Conn, "fs_config"); err != nil || !known {
		return err
	}
	const those = "DELETE FROM main.fs_config WHERE key >= '" + KeyContinues + "' AND key < '" + KeyContinues + "~' OR key >= '" + KeyCopied + "' AND key < '" + KeyCopied + "~'"
	return c.Exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; " + those + "; PRAGMA main.journal_mode=WAL")
}

// NewestSession returns the number of the newest session in the log; 0: there is none.
func (tx *Tx) NewestSession() (session int64, err error) {
	session, _, err = database.NewestIDs(tx.meta)
	return session, err
}
