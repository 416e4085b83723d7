package sqlvfs

import (
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	qInode = `SELECT i.mode, i.nlink, i.uid, i.gid, i.rdev, i.size,
		i.atime, i.atime_nsec, i.mtime, i.mtime_nsec, i.ctime, i.ctime_nsec,
		b.name, f.base_ino, o.path, o.dev, o.base_ino, o.size, o.mtime, o.mtime_nsec, o.ctime, o.ctime_nsec, o.data_limit, o.base_mode, o.hash, o.until
		FROM fs_inode i LEFT JOIN art_origin o ON o.ino=i.ino
		LEFT JOIN art_base b ON b.id=o.base LEFT JOIN fs_origin f ON f.delta_ino=i.ino WHERE i.ino=?`
	qChildren = `SELECT d.name, d.ino, i.mode, ifnull(f.base_ino, 0)
		FROM fs_dentry d JOIN fs_inode i ON i.ino=d.ino LEFT JOIN fs_origin f ON f.delta_ino=d.ino WHERE d.parent_ino=?`
	qWhiteouts = `SELECT name FROM art_whiteout WHERE parent_ino=?`
	qXattrs    = `SELECT name, value FROM art_xattr WHERE ino=?`
	qTarget    = `SELECT target FROM fs_symlink WHERE ino=?`
	qChunks    = `SELECT chunk_index, data FROM fs_data WHERE ino=? AND chunk_index BETWEEN ? AND ?`
	qOrigin    = `SELECT ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit, base_mode FROM art_origin`
	qTrees     = `SELECT id, name, ino, birth, birth_nsec FROM art_tree`
	qBaselines = `SELECT path, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, hash, row, row_ctime, row_ctime_nsec
		FROM art_baseline WHERE tree=?`

	// What a database of the format looks like that art has never written to: it has no origins.
	qInodeOnly = `SELECT i.mode, i.nlink, i.uid, i.gid, i.rdev, i.size,
		i.atime, i.atime_nsec, i.mtime, i.mtime_nsec, i.ctime, i.ctime_nsec,
		NULL, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0 FROM fs_inode i WHERE i.ino=?`
	qChildrenOnly = `SELECT d.name, d.ino, i.mode, 0 FROM fs_dentry d JOIN fs_inode i ON i.ino=d.ino WHERE d.parent_ino=?`
	qNone         = `SELECT '', '' WHERE ? AND 0`
	qAgreed       = `SELECT row, row_ctime, row_ctime_nsec FROM art_baseline WHERE row<>0 ORDER BY row, row_ctime, row_ctime_nsec`
	qNoTrees      = `SELECT 0, '', 0, 0, 0 WHERE 0`
)

// substitutes are what statements that ask for the newest layout must be replaced by in a database
// that is only read, and so cannot be brought up to date.
func substitutes(app, version int64) map[string]string {
	subst := map[string]string{}
	switch {
	case app != ApplicationID:
		subst = map[string]string{qInode: qInodeOnly, qChildren: qChildrenOnly, qWhiteouts: qNone, qXattrs: qNone,
			qTrees: qNoTrees, qNames: qNoRows, qAgreed: qNoRows, qAllInodes: qAllInodesOnly, qDependents: qNone, qAllWhiteouts: qNoRows, qAllXattrs: qNoRows}
	case version < 2:
		subst = map[string]string{qXattrs: qNone, qTrees: qNoTrees, qNames: qBaseNames, qAgreed: qNoRows, qBaselines: qNone, qAllXattrs: qNoRows}
	case version < 3:
		subst = map[string]string{qTrees: qNoTrees, qNames: qBaseNames, qAgreed: qNoRows, qBaselines: qNone}
	}
	if app == ApplicationID && version < 4 {
		for _, q := range []string{qInode, qAllInodes, qDependents, qOrigin} {
			subst[q] = withoutColumns(q, version)
		}
	}
	if app != ApplicationID || version < 4 { // what came with layout 4
		for _, q := range []string{qWorkspaces, qSessions, qJournal} {
			subst[q] = qNoRows
		}
	}
	return subst
}

// withoutColumns is a statement for a layout that lacks columns of art_origin.
func withoutColumns(q string, version int64) string {
	if version < 3 {
		q = strings.NewReplacer("o.base_mode", "0", ", base_mode", ", 0").Replace(q)
	}
	return strings.NewReplacer("o.hash", "NULL", "o.until", "0").Replace(q)
}

// conn is a connection with its prepared statements.
type conn = database.Conn

// connPool lends connections for reading content, so that reads run beside one another and beside
// the writer. They are opened when first needed.
type connPool struct {
	open func() (*conn, error)
	sem  chan struct{} // bounds the connections in use

	mu   sync.Mutex
	idle []*conn // GUARDED_BY(mu)
}

func newConnPool(max int, open func() (*conn, error)) *connPool {
	return &connPool{open: open, sem: make(chan struct{}, max)}
}

func (p *connPool) get() (*conn, error) {
	p.sem <- struct{}{}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := p.open()
	if err != nil {
		<-p.sem
	}
	return c, err
}

func (p *connPool) put(c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	<-p.sem
}

// close closes idle connections; there must be no others.
func (p *connPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}

// scanAttr reads the first twelve columns of qInode and refuses what no inode can be.
func scanAttr(q *sqlite3.Stmt) (Attr, error) {
	a := Attr{
		Mode:  uint32(q.ColumnInt64(0)),
		Nlink: uint32(q.ColumnInt64(1)),
		UID:   uint32(q.ColumnInt64(2)),
		GID:   uint32(q.ColumnInt64(3)),
		Rdev:  uint32(q.ColumnInt64(4)),
		Size:  q.ColumnInt64(5),
		Atime: Timespec{q.ColumnInt64(6), int32(q.ColumnInt64(7))},
		Mtime: Timespec{q.ColumnInt64(8), int32(q.ColumnInt64(9))},
		Ctime: Timespec{q.ColumnInt64(10), int32(q.ColumnInt64(11))},
	}
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

// scanOrigin reads the remaining columns of qInode.
func scanOrigin(q *sqlite3.Stmt) (*Origin, error) {
	if q.ColumnType(12) == sqlite3.NULL {
		return nil, nil
	}
	o := &Origin{
		Base:   q.ColumnText(12),
		Number: uint64(q.ColumnInt64(13)),
		Path:   string(q.ColumnRawBlob(14)),
		Fingerprint: Fingerprint{
			Dev:   uint64(q.ColumnInt64(15)),
			Ino:   uint64(q.ColumnInt64(16)),
			Size:  q.ColumnInt64(17),
			Mtime: Timespec{q.ColumnInt64(18), int32(q.ColumnInt64(19))},
			Ctime: Timespec{q.ColumnInt64(20), int32(q.ColumnInt64(21))},
		},
		Limit: q.ColumnInt64(22),
		Mode:  uint32(q.ColumnInt64(23)),
		Hash:  scanHash(q, 24),
		Until: q.ColumnInt64(25),
	}
	if !database.ValidPath(o.Path) || o.Limit < 0 {
		return nil, fmt.Errorf("%w: origin %q", ErrCorrupt, o.Path)
	}
	return o, nil
}
