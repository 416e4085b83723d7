package database

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ncruces/go-sqlite3"
)

const (
	// ApplicationID Marks a database as art's in SQLite's header ("art1" in ASCII).
	ApplicationID = 0x61727431
	// SchemaVersion is the newest layout of the art_ tables, kept in SQLite's user_version.
	SchemaVersion = 10
	// FormatVersion is the version of the Agent Filesystem format that is written.
	FormatVersion = "0.4"

	// DefaultChunkSize is the size of a row of file content in new databases, in bytes. Larger
	// chunks stream faster, smaller ones make a changed byte of a large file cheaper.
	DefaultChunkSize = 64 << 10
	MaxChunkSize     = 16 << 20

	// PageSize of new databases, in bytes: rows of content are the slowest part of the chain,
	// and large pages carry them with less overhead than the 4 KiB default.
	PageSize = 16 << 10
)

// Marks reads what the header says a database is, which may be newer in the log than it is in the
// file. A newer one and one of another application is refused.
func Marks(c *sqlite3.Conn) (app, version int64, err error) {
	if app, err = PragmaInt(c, "application_id"); err != nil {
		return
	}
	if version, err = PragmaInt(c, "user_version"); err != nil {
		return
	}
	switch {
	case app == ApplicationID && version > SchemaVersion:
		err = newerError(version)
	case app != 0 && app != ApplicationID:
		err = foreignError(app)
	case app == 0:
		err = checkAdoptable(c)
	}
	return
}

func newerError(version int64) error {
	return fmt.Errorf("%w: layout %d, this program knows up to %d", ErrNewer, version, SchemaVersion)
}

func foreignError(app int64) error {
	return fmt.Errorf("%w (application id %#x)", ErrForeign, uint32(app))
}

// checkAdoptable accepts a database of the Agent Filesystem format. Anything else belongs to another
// application and must not gain tables from us; but one without tables, which is ErrEmpty, may.
func checkAdoptable(c *sqlite3.Conn) error {
	tables, err := QueryInt(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	if tables == 0 {
		return ErrEmpty
	}
	n, err := QueryInt(c, "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name IN ('fs_config','fs_inode','fs_dentry','fs_data')")
	if err != nil {
		return err
	}
	if n != 4 {
		return ErrForeign
	}
	return nil
}

// MaxSize is the largest file in chunks of a size, in bytes: what FUSE can address (loff_t), cut down to whole chunks.
func MaxSize(chunkSize int64) int64 { return math.MaxInt64 / chunkSize * chunkSize }

// AdoptWhiteouts turns the path-bound whiteouts of other writers into ours, where the directory
// they speak of is in the tree; a whiteout below an unknown directory hides nothing. Only paths that
// begin one of a whiteout are followed: the tree may unfold without End.
func AdoptWhiteouts(c *sqlite3.Conn) error {
	return c.Exec(`
WITH RECURSIVE dir(ino, path) AS (
	SELECT 1, ''
	UNION
	SELECT d.ino, dir.path || '/' || d.name FROM dir JOIN fs_dentry d ON d.parent_ino = dir.ino
		JOIN fs_inode i ON i.ino = d.ino WHERE (i.mode & 61440) = 16384
		AND EXISTS (SELECT 1 FROM fs_whiteout WHERE path > dir.path || '/' || d.name || '/' AND path < dir.path || '/' || d.name || '0'))
INSERT OR IGNORE INTO art_whiteout (parent_ino, name)
	SELECT dir.ino, substr(w.path, length(dir.path) + 2) FROM fs_whiteout w
	JOIN dir ON substr(w.path, 1, length(dir.path) + 1) = dir.path || '/'
	WHERE instr(substr(w.path, length(dir.path) + 2), '/') = 0 AND length(w.path) > length(dir.path) + 1`)
}

func ReadChunkSize(c *sqlite3.Conn) (int64, error) {
	s, _, err := c.Prepare("SELECT value FROM fs_config WHERE key='chunk_size'")
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if !s.Step() {
		if err := s.Err(); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: fs_config has no chunk_size", ErrCorrupt)
	}
	n, err := strconv.ParseInt(s.ColumnText(0), 10, 64)
	if err != nil || n < 512 || n > MaxChunkSize {
		return 0, fmt.Errorf("%w: chunk_size %q is not a number from 512 to %d", ErrCorrupt, s.ColumnText(0), MaxChunkSize)
	}
	return n, nil
}
