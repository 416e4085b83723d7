package sqlvfs

import (
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What marks and versions a database.
const (
	ApplicationID    = database.ApplicationID
	SchemaVersion    = database.SchemaVersion
	FormatVersion    = database.FormatVersion
	DefaultChunkSize = database.DefaultChunkSize
)

// admit refuses a database that must not be written: what marks refuses, and one whose schema is
// not the format's. Nothing is changed.
func admit(c *sqlite3.Conn) (app, version int64, err error) {
	app, version, err = database.Marks(c)
	if err == nil && app == ApplicationID {
		err = checkColumns(c, substitutes(app, version))
	} else if err == nil {
		_, err = checkSchema(c)
	}
	return
}

// initSchema brings a database that was admitted to the current layout in one transaction: a new
// one, one made by another tool of the format, or an older one of ours.
func initSchema(c *sqlite3.Conn, app, version int64, root Attr) (err error) {
	if app == ApplicationID && version == SchemaVersion {
		return nil
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer database.End(c, &err)
	if app == ApplicationID {
		err = migrate(c, version)
	} else {
		err = createTables(c, root)
	}
	if err != nil {
		return err
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", ApplicationID, SchemaVersion)); err != nil {
		return err
	}
	return checkColumns(c, nil)
}

// createTables makes what is missing of the tables, in an empty database or in one of another tool.
func createTables(c *sqlite3.Conn, root Attr) error {
	if err := c.Exec(database.FormatTables + database.ArtTables + database.UnknownBirths); err != nil {
		return err
	}
	if err := seed(c, root); err != nil {
		return err
	}
	return database.AdoptWhiteouts(c)
}

func migrate(c *sqlite3.Conn, version int64) error {
	for ; version < SchemaVersion; version++ {
		step, ok := database.Migrations[version]
		if !ok {
			return fmt.Errorf("%w: layout %d never was", ErrCorrupt, version)
		}
		if err := c.Exec(step); err != nil {
			return fmt.Errorf("bring layout %d up to date: %w", version, err)
		}
	}
	return nil
}

// checkColumns proves that every statement that the package uses fits the tables, so that a
// database with the right marks and the wrong tables is refused at the door. subst is as for conn.
func checkColumns(c *sqlite3.Conn, subst map[string]string) error {
	if whole, err := checkSchema(c); err != nil || whole {
		return err
	}
	for _, q := range []string{
		"SELECT key, value FROM fs_config",
		qInode, qChildren, qChunks, qOrigin,
		"SELECT parent_ino, name FROM art_whiteout",
		"SELECT ino FROM art_orphan",
		"SELECT id, name FROM art_base",
		qXattrs, qBirth, qTrees, qBaselines, qWorkspaces, qSessions, qJournal, qCheckpoints,
	} {
		if t, ok := subst[q]; ok {
			q = t
		}
		s, _, err := c.Prepare(q)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrCorrupt, err)
		}
		s.Close()
	}
	return nil
}

// checkSchema refuses a schema that would have code of its author run, or whose tables cannot hold
// a tree. whole says that it is the one that this package writes, to the word.
func checkSchema(c *sqlite3.Conn) (whole bool, err error) {
	list, whole, err := database.Deviations(c)
	if err != nil {
		return false, err
	}
	for _, d := range list {
		if !d.Harmless {
			return false, fmt.Errorf("%w: %s", ErrCorrupt, d.Text)
		}
	}
	return whole, nil
}

// seed writes what a new tree starts with: the chunk size, which never changes afterwards, and the
// root directory. In an adopted database both are there already.
func seed(c *sqlite3.Conn, root Attr) error {
	s, _, err := c.Prepare("INSERT OR IGNORE INTO fs_config (key, value) VALUES ('chunk_size', ?), ('schema_version', ?)")
	if err != nil {
		return err
	}
	defer s.Close()
	s.BindText(1, strconv.Itoa(DefaultChunkSize))
	s.BindText(2, FormatVersion)
	if err := s.Exec(); err != nil {
		return err
	}
	n, err := database.QueryInt(c, "SELECT count(*) FROM fs_inode WHERE ino=1")
	if err != nil || n != 0 {
		return err
	}
	ins, _, err := c.Prepare(qPutInode)
	if err != nil {
		return err
	}
	defer ins.Close()
	bindInode(ins, RootIno, &root)
	return ins.Exec()
}
