package sqlvfs

import (
	"crypto/sha256"
	"fmt"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// each calls see for each row of a query. values are as for bind.
func (tx *Tx) each(query string, see func(*sqlite3.Stmt), values ...any) error {
	q := bind(tx.meta.Prep(query), values...)
	for tx.meta.Step(q) {
		see(q)
	}
	return tx.meta.Done(q)
}

// do runs a statement that yields no rows. values are as for bind.
func do(c *conn, query string, values ...any) error { return c.Run(bind(c.Prep(query), values...)) }

// queryNumber is what a query yields that has one row with one column, or 0 if it has none.
func queryNumber(c *conn, query string, values ...any) (n int64, err error) {
	q := bind(c.Prep(query), values...)
	if c.Step(q) {
		n = q.ColumnInt64(0)
	}
	return n, c.Done(q)
}

// bind sets the parameters of a statement in order. Text is bound as it is: names are bytes, not characters. A nil of
// any kind is NULL; a moment takes two parameters, and a fingerprint seven.
func bind(q *sqlite3.Stmt, values ...any) *sqlite3.Stmt {
	param := 0
	number := func(numbers ...int64) {
		for _, n := range numbers {
			param++
			q.BindInt64(param, n)
		}
	}
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			param++
			q.BindNull(param)
		case int64:
			number(v)
		case Ino:
			number(int64(v))
		case uint64:
			number(int64(v))
		case uint32:
			number(int64(v))
		case bool:
			param++
			q.BindBool(param, v)
		case Timespec:
			number(v.Sec, int64(v.Nsec))
		case Fingerprint:
			number(int64(v.Dev), int64(v.Ino), v.Size, v.Mtime.Sec, int64(v.Mtime.Nsec), v.Ctime.Sec, int64(v.Ctime.Nsec))
		case string:
			param++
			q.BindRawText(param, []byte(v))
		case []byte:
			if param++; v == nil {
				q.BindNull(param)
			} else {
				q.BindBlob(param, v)
			}
		default:
			panic(fmt.Sprintf("sqlvfs: no column holds a %T", v))
		}
	}
	return q
}

func scanTime(q *sqlite3.Stmt, column int) Timespec {
	return Timespec{Sec: q.ColumnInt64(column), Nsec: int32(q.ColumnInt64(column + 1))}
}

func scanFingerprint(q *sqlite3.Stmt, column int) Fingerprint {
	return Fingerprint{
		Dev:   uint64(q.ColumnInt64(column)),
		Ino:   uint64(q.ColumnInt64(column + 1)),
		Size:  q.ColumnInt64(column + 2),
		Mtime: scanTime(q, column+3),
		Ctime: scanTime(q, column+5),
	}
}

// scanHash reads a hash. What cannot be one is none.
func scanHash(q *sqlite3.Stmt, column int) string {
	if q.ColumnType(column) != sqlite3.BLOB || len(q.ColumnRawBlob(column)) != sha256.Size {
		return ""
	}
	return string(q.ColumnRawBlob(column))
}

func scanTree(q *sqlite3.Stmt) Tree {
	return Tree{
		Name:  string(q.ColumnRawText(1)),
		Ino:   uint64(q.ColumnInt64(2)),
		Birth: scanTime(q, 3),
	}
}

// scanAttr reads the first twelve columns of qInode and refuses what no inode can be.
func scanAttr(q *sqlite3.Stmt) (Attr, error) {
	a := rawAttr(q, 0)
	switch a.Mode & syscall.S_IFMT {
	case syscall.S_IFREG, syscall.S_IFDIR, syscall.S_IFLNK, syscall.S_IFIFO, syscall.S_IFSOCK, syscall.S_IFCHR, syscall.S_IFBLK:
	default:
		return a, fmt.Errorf("%w: mode %#o is of no known type", ErrCorrupt, q.ColumnInt64(0))
	}
	if a.Mode != uint32(q.ColumnInt64(0)) || a.Mode>>16 != 0 || a.Size < 0 {
		return a, fmt.Errorf("%w: mode %#o, size %d", ErrCorrupt, q.ColumnInt64(0), a.Size)
	}
	for _, t := range []*Timespec{&a.Atime, &a.Mtime, &a.Ctime} {
		if t.Nsec < 0 || t.Nsec > 999_999_999 {
			t.Nsec = 0
		}
	}
	// Some writers leave link counts out. A row that was found through a name has at least one.
	a.Nlink = max(a.Nlink, 1)
	return a, nil
}

// rawAttr reads twelve columns in the order of qInode, whatever they say.
func rawAttr(q *sqlite3.Stmt, c int) Attr {
	return Attr{
		Mode:  uint32(q.ColumnInt64(c)),
		Nlink: uint32(q.ColumnInt64(c + 1)),
		UID:   uint32(q.ColumnInt64(c + 2)),
		GID:   uint32(q.ColumnInt64(c + 3)),
		Rdev:  uint32(q.ColumnInt64(c + 4)),
		Size:  q.ColumnInt64(c + 5),
		Atime: scanTime(q, c+6),
		Mtime: scanTime(q, c+8),
		Ctime: scanTime(q, c+10),
	}
}

// scanOrigin reads the remaining columns of qInode.
func scanOrigin(q *sqlite3.Stmt) (*Origin, error) {
	if q.ColumnType(12) == sqlite3.NULL {
		return nil, nil
	}
	o := &Origin{
		Base:        q.ColumnText(12),
		Number:      uint64(q.ColumnInt64(13)),
		Path:        string(q.ColumnRawBlob(14)),
		Fingerprint: scanFingerprint(q, 15),
		Limit:       q.ColumnInt64(22),
		Mode:        uint32(q.ColumnInt64(23)),
		Hash:        scanHash(q, 24),
		Until:       q.ColumnInt64(25),
	}
	if !database.ValidPath(o.Path) || o.Limit < 0 {
		return nil, fmt.Errorf("%w: origin %q", ErrCorrupt, o.Path)
	}
	return o, nil
}
