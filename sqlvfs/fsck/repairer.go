package fsck

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// repairStep makes violations of a rule go away.
type repairStep func(*repairer) error

// repairer makes a tree sound, in a database that nobody else uses and that can be thrown away.
type repairer struct {
	*checker
	next  int64 // the next new inode's number
	found int64 // the directory lost+found; 0 as long as there is none
}

// maxPasses bounds how often the rules are gone through. What one of them mends may be a violation
// of another, but each time there is less.
const maxPasses = 20

// mend goes through the rules until no violation is left, and tells report of each with what was
// done about it.
func (m *repairer) mend(report func(Finding)) error {
	// Deep in a transaction that is not kept unless all goes well: the index is for the rules.
	if err := m.Exec("CREATE INDEX mend_names ON fs_dentry (ino)"); err != nil {
		return err
	}
	if err := m.number(); err != nil {
		return err
	}
	for range maxPasses {
		sound := true
		for _, r := range slices.Concat(rules, historyRules) {
			m.findings = nil
			if err := m.apply(r); err != nil {
				return err
			}
			if len(m.findings) == 0 {
				continue
			}
			sound = false
			for _, f := range m.findings {
				f.Mended = r.mended
				report(f)
			}
			if err := r.mend(m); err != nil {
				return fmt.Errorf("mend %q: %w", r.text, err)
			}
		}
		if sound {
			return m.Exec("DROP INDEX mend_names")
		}
	}
	return fmt.Errorf("%w: it has more faults than can be mended", database.ErrCorrupt)
}

// number finds the first number for new inodes. A number near the end of the range is nobody's but
// that of someone who means harm.
func (m *repairer) number() error {
	n, err := database.QueryInt(m.Conn, `SELECT max(ino) FROM (
		SELECT ino FROM fs_inode UNION ALL SELECT parent_ino FROM fs_dentry UNION ALL SELECT ino FROM fs_dentry
		UNION ALL SELECT ino FROM fs_data UNION ALL SELECT ino FROM fs_symlink UNION ALL SELECT delta_ino FROM fs_origin
		UNION ALL SELECT ino FROM art_origin UNION ALL SELECT parent_ino FROM art_whiteout UNION ALL SELECT ino FROM art_xattr
		UNION ALL SELECT ino FROM art_orphan UNION ALL SELECT ino FROM art_birth UNION ALL SELECT max_ino FROM art_checkpoint) WHERE typeof(ino) = 'integer' AND ino < 1 << 51`)
	m.next = max(int64(n), 1) + 1
	return err
}

func (m *repairer) newNumber() int64 {
	m.next++
	return m.next - 1
}

// sql is a repairStep by statements.
func sql(script string) repairStep {
	return func(m *repairer) error { return m.Exec(script) }
}

// newInodes begins a statement that makes inodes, which belong to the owner of the root directory.
func newInodes(ino string, mode, nlink int, size string) string {
	return fmt.Sprintf(`INSERT INTO fs_inode (ino, mode, nlink, uid, gid, size, atime, mtime, ctime)
		SELECT %s, %d, %d, ifnull((SELECT uid FROM fs_inode WHERE ino = 1), 0), ifnull((SELECT gid FROM fs_inode WHERE ino = 1), 0), %s,
		unixepoch(), unixepoch(), unixepoch() `, ino, mode, nlink, size)
}

// originNumbers formats the columns of art_origin that are numbers.
func originNumbers(format, sep string) string {
	var list []string
	for _, column := range []string{"base", "dev", "base_ino", "size", "mtime", "mtime_nsec", "ctime", "ctime_nsec", "data_limit"} {
		list = append(list, fmt.Sprintf(format, column))
	}
	return strings.Join(list, sep)
}

// inodes returns the numbers that a query yields.
func (m *repairer) inodes(query string) (list []int64, err error) {
	err = database.ForRows(m.Conn, query, func(q *sqlite3.Stmt) { list = append(list, int64(q.ColumnInt64(0))) })
	return list, err
}

// exec runs a statement with numbers for its parameters.
func (m *repairer) exec(query string, args ...int64) error {
	q := m.Prep(query)
	for i, v := range args {
		q.BindInt64(i+1, int64(v))
	}
	return m.Run(q)
}

// move gives an inode another number, with all that is said of it.
func (m *repairer) move(from, to int64) error {
	for _, column := range []string{
		"fs_inode.ino", "fs_dentry.ino", "fs_dentry.parent_ino", "fs_data.ino", "fs_symlink.ino", "fs_origin.delta_ino",
		"art_origin.ino", "art_whiteout.parent_ino", "art_xattr.ino", "art_birth.ino", "art_baseline.row",
	} {
		table, column, _ := strings.Cut(column, ".")
		if err := m.exec(fmt.Sprintf("UPDATE %s SET %[2]s = ?2 WHERE %[2]s = ?1", table, column), from, to); err != nil {
			return err
		}
	}
	return nil
}

func (m *repairer) renumber() error {
	list, err := m.inodes("SELECT ino FROM fs_inode WHERE ino = 0 OR ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1")
	for _, ino := range list {
		if err == nil {
			err = m.move(ino, m.newNumber())
		}
	}
	return err
}

// freeRoot makes number 1 a directory's: entries in it say that it was one, otherwise what is there
// has come to it by mistake.
func (m *repairer) freeRoot() error {
	entries, err := database.QueryInt(m.Conn, "SELECT count(*) FROM (SELECT 1 FROM fs_dentry WHERE parent_ino = 1 LIMIT 1)")
	if err != nil {
		return err
	}
	if entries == 0 {
		if err := m.move(1, m.newNumber()); err != nil {
			return err
		}
		return m.makeRoot()
	}
	return m.Exec("UPDATE fs_inode SET mode = 16384 | (mode & 511) | 448, nlink = 2 WHERE ino = 1")
}

// makeRoot makes a root directory that belongs to who repairs, as that of a new database does.
func (m *repairer) makeRoot() error {
	return m.exec(`INSERT INTO fs_inode (ino, mode, nlink, uid, gid, size, atime, mtime, ctime)
		VALUES (1, 16877, 2, ?, ?, 0, unixepoch(), unixepoch(), unixepoch())`, int64(os.Getuid()), int64(os.Getgid()))
}

// rehouse gives entries of what is no directory a new directory each, where they keep their names.
func (m *repairer) rehouse() error {
	list, err := m.inodes(`SELECT DISTINCT d.parent_ino FROM fs_dentry d JOIN fs_inode p ON p.ino = d.parent_ino WHERE NOT ` + isDir)
	if err != nil {
		return err
	}
	for _, ino := range list {
		dir := m.newNumber()
		if err := m.exec(newInodes("?1", 0o040755, 2, "0"), dir); err != nil {
			return err
		}
		if err := m.exec("UPDATE fs_dentry SET parent_ino = ?2 WHERE parent_ino = ?1", ino, dir); err != nil {
			return err
		}
	}
	return nil
}

// nameLost gives what has no name one in lost+found.
func (m *repairer) nameLost() error {
	list, err := m.inodes(`SELECT ino FROM fs_inode WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM fs_dentry)
		AND (nlink < 1 OR ` + isDir + ` OR ino NOT IN (SELECT delta_ino FROM fs_origin))`)
	if err != nil {
		return err
	}
	for _, ino := range list {
		if err := m.findLost(); err != nil {
			return err
		}
		if err := m.enter(m.found, fmt.Sprintf("#%d", ino), ino); err != nil {
			return err
		}
	}
	return nil
}

// findLost sees to it that there is a directory lost+found.
func (m *repairer) findLost() error {
	if m.found != 0 {
		return nil
	}
	list, err := m.inodes(`SELECT d.ino FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
		WHERE d.parent_ino = 1 AND d.name = 'lost+found' AND ` + isDir)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		m.found = list[0]
		return nil
	}
	m.found = m.newNumber()
	if err := m.exec(newInodes("?1", 0o040700, 2, "0"), m.found); err != nil {
		return err
	}
	return m.enter(1, "lost+found", m.found)
}

// enter gives an inode a name in a directory, or if there is one of that name already, a similar
// one; and counts it.
func (m *repairer) enter(dir int64, name string, ino int64) error {
	for i, try := 2, name; ; i, try = i+1, fmt.Sprintf("%s-%d", name, i) {
		q := m.Prep("INSERT OR IGNORE INTO fs_dentry (name, parent_ino, ino) VALUES (?,?,?)")
		q.BindText(1, try)
		q.BindInt64(2, int64(dir))
		q.BindInt64(3, int64(ino))
		if err := m.Run(q); err != nil {
			return err
		}
		if m.Changes() > 0 {
			break
		}
	}
	if err := m.exec("UPDATE fs_inode SET nlink = 1 WHERE ino = ? AND NOT "+isDir, ino); err != nil {
		return err
	}
	return m.exec("UPDATE fs_inode SET nlink = nlink + 1 WHERE ino = ? AND EXISTS (SELECT 1 FROM fs_inode WHERE ino = ? AND "+isDir+")", dir, ino)
}
