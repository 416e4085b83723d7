package sqlvfs

import "strings"

const (
	inodeColumns = `SELECT i.mode, i.nlink, i.uid, i.gid, i.rdev, i.size,
		i.atime, i.atime_nsec, i.mtime, i.mtime_nsec, i.ctime, i.ctime_nsec,
		b.name, f.base_ino, o.path, o.dev, o.base_ino, o.size, o.mtime, o.mtime_nsec, o.ctime, o.ctime_nsec, o.data_limit, o.base_mode, o.hash, o.until
		`
	qInode = inodeColumns + `FROM fs_inode i LEFT JOIN art_origin o ON o.ino=?1
		LEFT JOIN art_base b ON b.id=o.base LEFT JOIN fs_origin f ON f.delta_ino=?1 WHERE i.ino=?1`
	qChildren = `SELECT d.name, d.ino, i.mode, ifnull(f.base_ino, 0)
		FROM fs_dentry d JOIN fs_inode i ON i.ino=d.ino LEFT JOIN fs_origin f ON f.delta_ino=d.ino WHERE d.parent_ino=?`
	qWhiteouts = `SELECT name FROM art_whiteout WHERE parent_ino=?`
	qXattrs    = `SELECT name, value FROM art_xattr WHERE ino=?`
	qTarget    = `SELECT target FROM fs_symlink WHERE ino=?`
	qChunks    = `SELECT chunk_index, data FROM fs_data WHERE ino=? AND chunk_index BETWEEN ? AND ?`
	qOrigin    = `SELECT ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit, base_mode FROM art_origin`
	qBirth     = `SELECT iif(b.ino IS NULL, ` + storedBirth + `, b.birth) FROM (SELECT 1) n
		LEFT JOIN fs_inode i ON i.ino=?1 LEFT JOIN art_birth b ON b.ino=?1 WHERE i.ino IS NOT NULL OR b.ino IS NOT NULL`
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
	qUnknown      = `SELECT NULL WHERE ?`
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
	if app != ApplicationID || version < 5 {
		subst[qBirth] = qUnknown
	}
	if app != ApplicationID || version < 6 {
		subst[qCheckpoints] = qNoRows
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
