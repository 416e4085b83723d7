package sqlvfs

// rule is a property that every tree has. Its query yields a row for each violation: the inode
// that is at fault, and what the text has verbs for. %v shows a column of any type.
type rule struct {
	tables []string // it is about, apart from those that every database of the format has
	text   string
	query  string
}

const (
	isDir     = "(mode & 61440) = 16384" // S_IFMT, S_IFDIR (inode(7))
	isRegular = "(mode & 61440) = 32768"
	isSymlink = "(mode & 61440) = 40960"
)

// rules, in the order in which a reader would ask: the inodes, their names, their content, and
// what only some of them have.
var rules = []rule{{
	text:  "the root directory is not there",
	query: "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM fs_inode WHERE ino = 1)",
}, {
	text:  "the root is no directory: mode %#o",
	query: "SELECT ino, mode FROM fs_inode WHERE ino = 1 AND NOT " + isDir,
}, {
	text:  "inode numbers are from 1 to 2^52-1",
	query: "SELECT ino FROM fs_inode WHERE ino < 1 OR ino >= 4503599627370496",
}, {
	text: "mode %#o is of no known type",
	query: `SELECT ino, mode FROM fs_inode
		WHERE mode & ~65535 OR (mode & 61440) NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152)`,
}, {
	text:  "size is %v",
	query: "SELECT ino, size FROM fs_inode WHERE typeof(size) <> 'integer' OR size < 0",
}, {
	text: "a time has %v, %v or %v nanoseconds",
	query: `SELECT ino, atime_nsec, mtime_nsec, ctime_nsec FROM fs_inode
		WHERE max(atime_nsec, mtime_nsec, ctime_nsec) > 999999999 OR min(atime_nsec, mtime_nsec, ctime_nsec) < 0`,
}, {
	text:  "entry %q in inode %d cannot be a name",
	query: "SELECT ino, name, parent_ino FROM fs_dentry WHERE typeof(name) <> 'text' OR NOT valid_name(name)",
}, {
	text:  "entry %q is in inode %d, which is not there",
	query: "SELECT ino, name, parent_ino FROM fs_dentry WHERE parent_ino NOT IN (SELECT ino FROM fs_inode)",
}, {
	text: "entry %q is in inode %d, which is no directory",
	query: `SELECT d.ino, d.name, d.parent_ino FROM fs_dentry d
		JOIN fs_inode p ON p.ino = d.parent_ino WHERE NOT ` + isDir,
}, {
	text:  "entry %q in inode %d is of an inode that is not there",
	query: "SELECT ino, name, parent_ino FROM fs_dentry WHERE ino NOT IN (SELECT ino FROM fs_inode)",
}, {
	text:  "entry %q in inode %d is the root",
	query: "SELECT ino, name, parent_ino FROM fs_dentry WHERE ino = 1",
}, {
	text: "directory has %d names",
	query: `SELECT ino, count(*) FROM fs_dentry JOIN fs_inode USING (ino)
		WHERE ` + isDir + ` AND ino <> 1 GROUP BY ino HAVING count(*) > 1`,
}, {
	text: "directory has %d links",
	query: "SELECT ino, nlink FROM fs_inode WHERE nlink < 1 AND " + isDir,
}, {
	text: "directory cannot be reached from the root: it, or one above it, is inside of itself or has lost its place",
	query: `WITH RECURSIVE reached(ino) AS (
			SELECT 1
			UNION SELECT d.ino FROM reached r JOIN fs_dentry d ON d.parent_ino = r.ino
				JOIN fs_inode i ON i.ino = d.ino WHERE ` + isDir + `)
		SELECT DISTINCT d.ino FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
		WHERE ` + isDir + ` AND d.ino NOT IN reached`,
}, {
	text: "has no name",
	query: `SELECT ino FROM fs_inode WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM fs_dentry)
		AND (` + isDir + ` OR ino NOT IN (SELECT delta_ino FROM fs_origin))`,
	tables: []string{"fs_origin"},
}, {
	text:  "has no name",
	query: "SELECT ino FROM fs_inode WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM fs_dentry)",
	tables: []string{"!fs_origin"},
}, {
	text: "has %d links and %d names",
	query: `SELECT i.ino, i.nlink, count(*) AS n FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
		WHERE NOT ` + isDir + ` GROUP BY i.ino HAVING i.nlink <> n`,
}, {
	text: "chunk %v is of an inode that is not there",
	query: "SELECT ino, chunk_index FROM fs_data WHERE ino NOT IN (SELECT ino FROM fs_inode)",
}}
