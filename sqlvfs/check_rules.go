package sqlvfs

// rule is a property that every tree has. Its query yields a row for each violation: the inode
// that is at fault, and what the text has verbs for.
type rule struct{ text, query string }

const (
	isDir     = "(mode & 61440) = 16384" // S_IFMT, S_IFDIR (inode(7))
	isRegular = "(mode & 61440) = 32768"
	isSymlink = "(mode & 61440) = 40960"

	// The length of a blob is known without reading it; that of a text is in characters.
	dataLength = "CASE typeof(c.data) WHEN 'blob' THEN length(c.data) ELSE length(CAST(c.data AS BLOB)) END"
)

// rules, in the order in which a reader would ask: for inodes, their names, their content, and for
// what only some of them have. valid_name, valid_path and chunk_size are the checker's functions.
var rules = []rule{
	{"the root directory is not there",
		`SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM fs_inode WHERE ino = 1)`},
	{"the root is no directory: mode %#o",
		`SELECT ino, mode FROM fs_inode WHERE ino = 1 AND NOT ` + isDir},
	{"inode numbers go from 1 to 2^52-1",
		`SELECT ino FROM fs_inode WHERE ino < 1 OR ino >= 1 << 52`},
	{"a number is none",
		`SELECT ino FROM fs_inode WHERE typeof(mode) <> 'integer' OR typeof(nlink) <> 'integer'
			OR typeof(uid) <> 'integer' OR typeof(gid) <> 'integer' OR typeof(size) <> 'integer' OR typeof(rdev) <> 'integer'
			OR typeof(atime + atime_nsec + mtime + mtime_nsec + ctime + ctime_nsec) <> 'integer'`},
	{"mode %#o is of no known type",
		`SELECT ino, mode FROM fs_inode WHERE mode & ~65535
			OR (mode & 61440) NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152)`},
	{"size is %d",
		`SELECT ino, size FROM fs_inode WHERE size < 0`},
	{"a time has %d, %d or %d nanoseconds",
		`SELECT ino, atime_nsec, mtime_nsec, ctime_nsec FROM fs_inode
			WHERE min(atime_nsec, mtime_nsec, ctime_nsec) < 0 OR max(atime_nsec, mtime_nsec, ctime_nsec) > 999999999`},

	{"name %q in directory %d cannot be",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE typeof(name) <> 'text' OR NOT valid_name(name)`},
	{"name %q is in inode %d, which is not there",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE parent_ino NOT IN (SELECT ino FROM fs_inode)`},
	{"name %q is in inode %d, which is no directory",
		`SELECT d.ino, d.name, d.parent_ino FROM fs_dentry d
			JOIN fs_inode p ON p.ino = d.parent_ino WHERE NOT ` + isDir},
	{"is not there, but has the name %q in directory %d",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE ino NOT IN (SELECT ino FROM fs_inode)`},
	{"the root has a name, %q in directory %d",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE ino = 1`},
	{"directory has %d names",
		`SELECT d.ino, count(*) FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
			WHERE ` + isDir + ` GROUP BY d.ino HAVING count(*) > 1`},
	{"directory cannot be reached from the root: it, or one above it, has no place or is inside itself",
		`WITH RECURSIVE reached(ino) AS (
			SELECT 1 UNION
			SELECT d.ino FROM reached r JOIN fs_dentry d ON d.parent_ino = r.ino
				JOIN fs_inode i ON i.ino = d.ino WHERE ` + isDir + `)
			SELECT ino FROM fs_inode WHERE ` + isDir + ` AND ino NOT IN reached AND ino IN (SELECT ino FROM fs_dentry)`},
	// A file of the host that has several names there, one of which was changed, keeps its row and
	// its count when that name is removed: the others are still found on the host.
	{"has no name",
		`SELECT ino FROM fs_inode WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM fs_dentry)
			AND (nlink < 1 OR ` + isDir + ` OR ino NOT IN (SELECT delta_ino FROM fs_origin))`},
	{"directory has %d links",
		`SELECT ino, nlink FROM fs_inode WHERE nlink < 1 AND ` + isDir},
	{"has %d links, but %d names",
		`SELECT i.ino, i.nlink, count(*) AS names FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
			WHERE NOT ` + isDir + ` GROUP BY i.ino
			HAVING i.nlink < names OR i.nlink > names AND i.ino NOT IN (SELECT delta_ino FROM fs_origin)`},

	{"is not there, but has a chunk %d",
		`SELECT ino, chunk_index FROM fs_data
			WHERE ino NOT IN (SELECT ino FROM fs_inode) AND ino NOT IN (SELECT ino FROM art_orphan)`},
	{"is no regular file (mode %#o), but has a chunk %d",
		`SELECT i.ino, i.mode, c.chunk_index FROM fs_data c JOIN fs_inode i ON i.ino = c.ino WHERE NOT ` + isRegular},
	{"chunk %d is outside of the file's %d bytes",
		`SELECT i.ino, c.chunk_index, i.size FROM fs_data c JOIN fs_inode i ON i.ino = c.ino
			WHERE ` + isRegular + ` AND (c.chunk_index < 0 OR c.chunk_index >= (i.size + chunk_size() - 1) / chunk_size())`},
	{"chunk %d is %d bytes long and should be %d",
		`SELECT i.ino, c.chunk_index, ` + dataLength + `, min(chunk_size(), i.size - c.chunk_index * chunk_size()) AS want
			FROM fs_data c JOIN fs_inode i ON i.ino = c.ino
			WHERE ` + isRegular + ` AND c.chunk_index >= 0 AND want > 0 AND ` + dataLength + ` <> want`},

	{"symbolic link has no target, or one too long",
		`SELECT i.ino FROM fs_inode i LEFT JOIN fs_symlink s ON s.ino = i.ino
			WHERE ` + isSymlink + ` AND ifnull(length(CAST(s.target AS BLOB)), 0) NOT BETWEEN 1 AND 4095`},
	// Some writers count the target's UTF-16 units, which are not less than its characters.
	{"symbolic link has %d bytes, its target %d",
		`SELECT i.ino, i.size, length(CAST(s.target AS BLOB)) AS n FROM fs_inode i JOIN fs_symlink s ON s.ino = i.ino
			WHERE ` + isSymlink + ` AND i.size NOT BETWEEN length(s.target) AND n`},
	{"is no symbolic link, but has the target %q",
		`SELECT s.ino, s.target FROM fs_symlink s LEFT JOIN fs_inode i ON i.ino = s.ino WHERE i.ino IS NULL OR NOT ` + isSymlink},

	{"is not there, but has an origin",
		`SELECT delta_ino FROM fs_origin WHERE delta_ino NOT IN (SELECT ino FROM fs_inode)
			UNION SELECT ino FROM art_origin WHERE ino NOT IN (SELECT ino FROM fs_inode)`},
	{"origin %q has no number in fs_origin",
		`SELECT ino, path FROM art_origin WHERE ino NOT IN (SELECT delta_ino FROM fs_origin)`},
	{"origin %q is in base %d, which is not there",
		`SELECT ino, path, base FROM art_origin WHERE base NOT IN (SELECT id FROM art_base)`},
	{"origin %q cannot be a path",
		`SELECT ino, path FROM art_origin WHERE NOT valid_path(path)`},
	{"origin %q supplies the first %d bytes of a file of %d",
		`SELECT i.ino, o.path, o.data_limit, i.size FROM art_origin o JOIN fs_inode i ON i.ino = o.ino
			WHERE ` + isRegular + ` AND o.data_limit NOT BETWEEN 0 AND i.size`},
	{"is no regular file, but origin %q supplies %d bytes",
		`SELECT i.ino, o.path, o.data_limit FROM art_origin o JOIN fs_inode i ON i.ino = o.ino
			WHERE o.data_limit <> 0 AND NOT ` + isRegular},

	{"whiteout of %q is in no directory",
		`SELECT w.parent_ino, w.name FROM art_whiteout w LEFT JOIN fs_inode i ON i.ino = w.parent_ino
			WHERE i.ino IS NULL OR NOT ` + isDir},
	{"whiteout of %q cannot be a name",
		`SELECT parent_ino, name FROM art_whiteout WHERE NOT valid_name(name)`},
	{"baseline of %q is of tree %d, which is not there",
		`SELECT row, path, tree FROM art_baseline WHERE tree NOT IN (SELECT id FROM art_tree)`},
	{"baseline of %q cannot be a path",
		`SELECT row, path FROM art_baseline WHERE NOT valid_path(path)`},
	{"is not there, but has the extended attribute %q",
		`SELECT ino, name FROM art_xattr
			WHERE ino NOT IN (SELECT ino FROM fs_inode) AND ino NOT IN (SELECT ino FROM art_orphan)`},
	{"extended attribute %q cannot be",
		`SELECT ino, name FROM art_xattr WHERE typeof(name) <> 'text' OR length(CAST(name AS BLOB)) NOT BETWEEN 1 AND 255
			OR typeof(value) <> 'blob' OR length(value) > 65536`},
	{"is said to be deleted, but is there",
		`SELECT ino FROM art_orphan WHERE ino IN (SELECT ino FROM fs_inode)`},
}
