package fsck

import "github.com/riverlytech/art/sqlvfs/internal/database"

// rule is a property that every tree has. Its query yields a row for each violation: the inode
// that is at fault, and what the text has verbs for.
type rule struct {
	text, query string
	// mended says what mend does to violations. It is tried on a copy of the database, and loses no
	// content: what has no place any more comes to lost+found.
	mended string
	mend   repairStep
}

const (
	isDir     = "(mode & 61440) = 16384" // S_IFMT, S_IFDIR (inode(7))
	isRegular = "(mode & 61440) = 32768"
	isSymlink = "(mode & 61440) = 40960"

	// The length of a blob is known without reading it; that of a text is in characters.
	dataLength = "CASE typeof(c.data) WHEN 'blob' THEN length(c.data) ELSE length(CAST(c.data AS BLOB)) END"

	// A target ends at its first zero byte for the kernel.
	badTarget = "ifnull(length(CAST(target AS BLOB)), 0) NOT BETWEEN 1 AND 4095 OR instr(CAST(target AS BLOB), x'00')"

	notThere = "NOT IN (SELECT ino FROM fs_inode)"
	orphan   = "IN (SELECT ino FROM art_orphan)"
)

// rules, in the order in which a reader would ask: whether numbers are some, for inodes, their
// names, their content, and for what only some of them have. What one rule has made sure of, those
// behind it rely on when they mend. valid_name, valid_path, chunk_size and max_size are the checker's
// functions.
var rules = []rule{
	{"a number is none",
		`SELECT ino FROM fs_inode WHERE typeof(mode) <> 'integer' OR typeof(nlink) <> 'integer' OR typeof(uid) <> 'integer'
			OR typeof(gid) <> 'integer' OR typeof(size) <> 'integer' OR typeof(rdev) <> 'integer'
			OR typeof(atime) <> 'integer' OR typeof(mtime) <> 'integer' OR typeof(ctime) <> 'integer'
			OR typeof(atime_nsec) <> 'integer' OR typeof(mtime_nsec) <> 'integer' OR typeof(ctime_nsec) <> 'integer'`,
		"it is now what can be read as one, or 0",
		sql(`UPDATE fs_inode SET mode = CAST(mode AS INTEGER), nlink = CAST(nlink AS INTEGER), uid = CAST(uid AS INTEGER),
			gid = CAST(gid AS INTEGER), size = CAST(size AS INTEGER), rdev = CAST(rdev AS INTEGER),
			atime = CAST(atime AS INTEGER), mtime = CAST(mtime AS INTEGER), ctime = CAST(ctime AS INTEGER),
			atime_nsec = CAST(atime_nsec AS INTEGER), mtime_nsec = CAST(mtime_nsec AS INTEGER), ctime_nsec = CAST(ctime_nsec AS INTEGER)`)},
	{"name %q leads from or to what is no number",
		`SELECT 0, name FROM fs_dentry WHERE typeof(parent_ino) <> 'integer' OR typeof(ino) <> 'integer'`,
		"the name is gone",
		sql(`DELETE FROM fs_dentry WHERE typeof(parent_ino) <> 'integer' OR typeof(ino) <> 'integer'`)},
	{"chunk %v of inode %v: a number is none",
		`SELECT 0, chunk_index, ino FROM fs_data WHERE typeof(ino) <> 'integer' OR typeof(chunk_index) <> 'integer'`,
		"its content becomes a file",
		setAside(`SELECT rowid AS id, ino, chunk_index FROM fs_data WHERE typeof(ino) <> 'integer' OR typeof(chunk_index) <> 'integer'`)},
	{"a number of origin %q is none",
		`SELECT ino, path FROM art_origin WHERE ` + originNumbers("typeof(%s) <> 'integer'", " OR "),
		"it is now what can be read as one, or 0",
		sql(`UPDATE art_origin SET ` + originNumbers("%[1]s = CAST(%[1]s AS INTEGER)", ", "))},
	{"its number on the host is none",
		`SELECT delta_ino FROM fs_origin WHERE typeof(base_ino) <> 'integer'`,
		"it has its own now",
		sql(`UPDATE fs_origin SET base_ino = delta_ino WHERE typeof(base_ino) <> 'integer'`)},

	{"the root is no directory: mode %#o",
		`SELECT ino, mode FROM fs_inode WHERE ino = 1 AND NOT ` + isDir,
		"there is a root directory now; what was there, if it was a file, has another number",
		(*repairer).freeRoot},
	{"the root directory is not there",
		`SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM fs_inode WHERE ino = 1)`,
		"made anew",
		(*repairer).makeRoot},
	{"inode numbers go from 1 to 2^52-1, and below 0 to -2^52+1",
		`SELECT ino FROM fs_inode WHERE ino = 0 OR ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1`,
		"it has another number",
		(*repairer).renumber},
	{"mode %#o is of no known type",
		`SELECT ino, mode FROM fs_inode WHERE mode & ~65535
			OR (mode & 61440) NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152)`,
		"it has the type that its rows speak for",
		sql(`UPDATE fs_inode SET mode = (mode & 4095) | CASE
				WHEN ino IN (SELECT parent_ino FROM fs_dentry) OR ino IN (SELECT parent_ino FROM art_whiteout) THEN 16384
				WHEN ino IN (SELECT ino FROM fs_symlink) THEN 40960 ELSE 32768 END
			WHERE mode & ~65535 OR (mode & 61440) NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152)`)},
	{"owner %d, group %d or device %d is not from 0 to 2^32-1",
		`SELECT ino, uid, gid, rdev FROM fs_inode WHERE (uid | gid | rdev) & ~4294967295`,
		"what a session took it for stays",
		sql(`UPDATE fs_inode SET uid = uid & 4294967295, gid = gid & 4294967295, rdev = rdev & 4294967295`)},
	{"size is %d",
		`SELECT ino, size FROM fs_inode WHERE size < 0 OR size > max_size()`,
		"it is now where the content ends",
		sql(`UPDATE fs_inode SET size = ifnull((SELECT max(c.chunk_index * chunk_size() + ` + dataLength + `) FROM fs_data c
				WHERE c.ino = fs_inode.ino AND c.chunk_index BETWEEN 0 AND max_size() / chunk_size() - 1), 0)
			WHERE size < 0 OR size > max_size()`)},
	{"connection %d has numbers that cannot be",
		`SELECT 0, id FROM art_flow WHERE ` + wrongFlow,
		"it is gone",
		sql(`DELETE FROM art_flow WHERE ` + wrongFlow)},
	{"process %d of the log has numbers that cannot be",
		`SELECT 0, id FROM art_process WHERE ` + wrongProcess,
		"it is gone",
		sql(`DELETE FROM art_process WHERE ` + wrongProcess)},
	{"a change by process %d, which is not there, or with numbers that cannot be",
		`SELECT ino, process FROM art_change WHERE ` + wrongChange,
		"it is gone",
		sql(`DELETE FROM art_change WHERE ` + wrongChange)},
	{"what a pull has let go of after checkpoint %d, with a name or numbers that cannot be",
		`SELECT parent_ino, checkpoint FROM art_released WHERE ` + wrongReleased,
		"it is gone",
		sql(`DELETE FROM art_released WHERE ` + wrongReleased)},
	{"seal %d is no seal",
		`SELECT 0, id FROM art_seal WHERE ` + wrongSeal,
		"it is gone",
		sql(`DELETE FROM art_seal WHERE ` + wrongSeal)},
	{"a time has %d, %d or %d nanoseconds",
		`SELECT ino, atime_nsec, mtime_nsec, ctime_nsec FROM fs_inode
			WHERE min(atime_nsec, mtime_nsec, ctime_nsec) < 0 OR max(atime_nsec, mtime_nsec, ctime_nsec) > 999999999`,
		"it has none now",
		sql(`UPDATE fs_inode SET atime_nsec = iif(atime_nsec BETWEEN 0 AND 999999999, atime_nsec, 0),
			mtime_nsec = iif(mtime_nsec BETWEEN 0 AND 999999999, mtime_nsec, 0), ctime_nsec = iif(ctime_nsec BETWEEN 0 AND 999999999, ctime_nsec, 0)`)},

	{"name %q in directory %d is no text",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE typeof(name) <> 'text'`,
		"it is one now, if there is none of that name",
		sql(`UPDATE OR IGNORE fs_dentry SET name = CAST(name AS TEXT) WHERE typeof(name) <> 'text';
			DELETE FROM fs_dentry WHERE typeof(name) <> 'text'`)},
	{"name %q in directory %d cannot be",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE NOT valid_name(name)`,
		"the name is gone",
		sql(`DELETE FROM fs_dentry WHERE NOT valid_name(name)`)},
	{"name %q is in inode %d, which is not there",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE parent_ino ` + notThere,
		"the directory was made anew",
		sql(newInodes("parent_ino", 0o040755, 2, "0") + `FROM (SELECT DISTINCT parent_ino FROM fs_dentry WHERE parent_ino ` + notThere + `)`)},
	{"name %q is in inode %d, which is no directory",
		`SELECT d.ino, d.name, d.parent_ino FROM fs_dentry d
			JOIN fs_inode p ON p.ino = d.parent_ino WHERE NOT ` + isDir,
		"a new directory holds it",
		(*repairer).rehouse},
	{"is not there, but has a chunk %d",
		`SELECT ino, chunk_index FROM fs_data WHERE ino ` + notThere + ` AND NOT ino ` + orphan,
		"the file was made anew",
		sql(`DELETE FROM fs_data WHERE length(data) = 0 AND ino ` + notThere + `;` + newInodes("c.ino", 0o100600, 1, `ifnull(max(iif(c.chunk_index BETWEEN 0 AND max_size() / chunk_size() - 1, c.chunk_index * chunk_size() + `+dataLength+`, 0)), 0)`) +
			`FROM fs_data c WHERE c.ino ` + notThere + ` AND NOT c.ino ` + orphan + ` GROUP BY c.ino`)},
	{"is not there, but has the target %q",
		`SELECT ino, target FROM fs_symlink WHERE ino ` + notThere + ` AND NOT ino ` + orphan,
		"the symbolic link was made anew",
		sql(newInodes("ino", 0o120777, 1, "length(CAST(target AS BLOB))") + `FROM fs_symlink WHERE ino ` + notThere + ` AND NOT ino ` + orphan)},
	{"is not there, but has the name %q in directory %d",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE ino ` + notThere,
		"the name is gone, unless it is a directory's",
		sql(newInodes("parent_ino", 0o040755, 2, "0") + `FROM (SELECT DISTINCT parent_ino FROM art_whiteout
				WHERE typeof(parent_ino) = 'integer' AND parent_ino ` + notThere + ` AND parent_ino IN (SELECT ino FROM fs_dentry));
			DELETE FROM fs_dentry WHERE ino ` + notThere)},
	{"the root has a name, %q in directory %d",
		`SELECT ino, name, parent_ino FROM fs_dentry WHERE ino = 1`,
		"the name is gone",
		sql(`DELETE FROM fs_dentry WHERE ino = 1`)},
	{"directory has %d names",
		`SELECT d.ino, count(*) FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
			WHERE ` + isDir + ` GROUP BY d.ino HAVING count(*) > 1`,
		"it keeps the one that is nearest to the root",
		(*repairer).onePlaceEach},
	{"directory cannot be reached from the root: it, or one above it, has no place or is inside itself",
		`WITH RECURSIVE reached(ino) AS (
			SELECT 1 UNION
			SELECT d.ino FROM reached r JOIN fs_dentry d ON d.parent_ino = r.ino
				JOIN fs_inode i ON i.ino = d.ino WHERE ` + isDir + `)
			SELECT ino FROM fs_inode WHERE ` + isDir + ` AND ino NOT IN reached AND ino IN (SELECT ino FROM fs_dentry)`,
		"one name of each loop is gone",
		(*repairer).onePlaceEach},
	// A file of the host that has several names there, one of which was changed, keeps its row and
	// its count when that name is removed: the others are still found on the host.
	{"has no name",
		`SELECT ino FROM fs_inode WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM fs_dentry)
			AND (nlink < 1 OR ` + isDir + ` OR ino NOT IN (SELECT delta_ino FROM fs_origin))`,
		"it is in lost+found",
		(*repairer).nameLost},
	{"directory has %d links",
		`SELECT ino, nlink FROM fs_inode WHERE nlink NOT BETWEEN 1 AND 4294967295 AND ` + isDir,
		"it has what its entries make it",
		sql(`UPDATE fs_inode SET nlink = 2 + (SELECT count(*) FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
				WHERE d.parent_ino = fs_inode.ino AND (i.mode & 61440) = 16384)
			WHERE nlink NOT BETWEEN 1 AND 4294967295 AND ` + isDir)},
	{"has %d links, but %d names",
		`SELECT i.ino, i.nlink, count(*) AS names FROM fs_dentry d JOIN fs_inode i ON i.ino = d.ino
			WHERE NOT ` + isDir + ` GROUP BY i.ino
			HAVING i.nlink < names OR i.nlink > 4294967295 OR i.nlink > names AND i.ino NOT IN (SELECT delta_ino FROM fs_origin)`,
		"it has as many as names",
		sql(`UPDATE fs_inode SET nlink = names FROM (SELECT ino AS named, count(*) AS names FROM fs_dentry GROUP BY ino)
			WHERE ino = named AND NOT ` + isDir + ` AND (nlink < names OR nlink > 4294967295
				OR nlink > names AND ino NOT IN (SELECT delta_ino FROM fs_origin))`)},

	{"is no regular file (mode %#o), but has a chunk %d",
		`SELECT i.ino, i.mode, c.chunk_index FROM fs_data c JOIN fs_inode i ON i.ino = c.ino WHERE NOT ` + isRegular,
		"its content becomes a file",
		setAside(`SELECT c.rowid AS id, c.ino, c.chunk_index FROM fs_data c JOIN fs_inode i ON i.ino = c.ino WHERE NOT ` + isRegular)},
	{"chunk %d is outside of the file's %d bytes",
		`SELECT i.ino, c.chunk_index, i.size FROM fs_data c JOIN fs_inode i ON i.ino = c.ino WHERE ` + isRegular + ` AND ` + outside,
		"its content becomes a file",
		setAside(`SELECT c.rowid AS id, c.ino, c.chunk_index FROM fs_data c JOIN fs_inode i ON i.ino = c.ino WHERE ` + isRegular + ` AND ` + outside)},
	{"chunk %d is %d bytes long and should be %d",
		`SELECT i.ino, c.chunk_index, ` + dataLength + `, min(chunk_size(), i.size - c.chunk_index * chunk_size()) AS want
			FROM fs_data c JOIN fs_inode i ON i.ino = c.ino
			WHERE ` + isRegular + ` AND c.chunk_index >= 0 AND want > 0 AND ` + dataLength + ` <> want`,
		"zeros were added, or what is too much becomes a file",
		(*repairer).resizeChunks},

	{"symbolic link has no target, or one that cannot be",
		`SELECT i.ino FROM fs_inode i LEFT JOIN fs_symlink s ON s.ino = i.ino WHERE ` + isSymlink + ` AND (` + badTarget + `)`,
		"it is a file that holds the target",
		(*repairer).keepTargets},
	// Some writers count the target's UTF-16 units, which are not less than its characters.
	{"symbolic link has %d bytes, its target %d",
		`SELECT i.ino, i.size, length(CAST(s.target AS BLOB)) AS n FROM fs_inode i JOIN fs_symlink s ON s.ino = i.ino
			WHERE ` + isSymlink + ` AND i.size NOT BETWEEN length(s.target) AND n`,
		"it has the target's",
		sql(`UPDATE fs_inode SET size = length(CAST(target AS BLOB)) FROM fs_symlink s
			WHERE s.ino = fs_inode.ino AND ` + isSymlink + ` AND size NOT BETWEEN length(target) AND length(CAST(target AS BLOB))`)},
	{"is no symbolic link, but has the target %q",
		`SELECT s.ino, s.target FROM fs_symlink s JOIN fs_inode i ON i.ino = s.ino WHERE NOT ` + isSymlink,
		"the target is gone",
		sql(`DELETE FROM fs_symlink WHERE ino IN (SELECT ino FROM fs_inode WHERE NOT ` + isSymlink + `)`)},

	{"is not there, but has an origin",
		`SELECT delta_ino FROM fs_origin WHERE delta_ino ` + notThere + `
			UNION SELECT ino FROM art_origin WHERE ino ` + notThere,
		"the origin is gone",
		sql(`DELETE FROM fs_origin WHERE delta_ino ` + notThere + `; DELETE FROM art_origin WHERE ino ` + notThere)},
	{"origin %q has no number in fs_origin",
		`SELECT ino, path FROM art_origin WHERE ino NOT IN (SELECT delta_ino FROM fs_origin)`,
		"it has its own now",
		sql(`INSERT INTO fs_origin (delta_ino, base_ino) SELECT ino, ino FROM art_origin WHERE ino NOT IN (SELECT delta_ino FROM fs_origin)`)},
	{"workspace %d has a name that cannot be: %q",
		`SELECT 0, id, name FROM art_base WHERE typeof(name) <> 'text' OR NOT valid_name(name)`,
		"it has one by its number",
		sql(`UPDATE art_base SET name = 'workspace-' || id || '-' || hex(randomblob(4)) WHERE typeof(name) <> 'text' OR NOT valid_name(name)`)},
	{"origin %q is in base %d, which is not there",
		`SELECT ino, path, base FROM art_origin WHERE base NOT IN (SELECT id FROM art_base)`,
		"it is in the only one that there is, or in one of unknown name",
		sql(`UPDATE art_origin SET base = (SELECT id FROM art_base) WHERE base NOT IN (SELECT id FROM art_base) AND (SELECT count(*) FROM art_base) = 1;
			INSERT INTO art_base (id, name) SELECT base, 'workspace-' || base || '-' || hex(randomblob(4))
				FROM (SELECT DISTINCT base FROM art_origin WHERE base NOT IN (SELECT id FROM art_base))`)},
	{"origin %q cannot be a path",
		`SELECT ino, path FROM art_origin WHERE NOT valid_path(path)`,
		"the origin is gone; zeros are where it supplied content",
		sql(`DELETE FROM fs_origin WHERE delta_ino IN (SELECT ino FROM art_origin WHERE NOT valid_path(path));
			DELETE FROM art_origin WHERE NOT valid_path(path)`)},
	{"origin %q supplies the first %d bytes of a file of %d",
		`SELECT i.ino, o.path, o.data_limit, i.size FROM art_origin o JOIN fs_inode i ON i.ino = o.ino
			WHERE ` + isRegular + ` AND o.data_limit NOT BETWEEN 0 AND i.size`,
		"it supplies what the file has room for",
		sql(`UPDATE art_origin SET data_limit = min(max(data_limit, 0), i.size) FROM fs_inode i
			WHERE i.ino = art_origin.ino AND ` + isRegular + ` AND data_limit NOT BETWEEN 0 AND i.size`)},
	{"is no regular file, but origin %q supplies %d bytes",
		`SELECT i.ino, o.path, o.data_limit FROM art_origin o JOIN fs_inode i ON i.ino = o.ino
			WHERE o.data_limit <> 0 AND NOT ` + isRegular,
		"it supplies none",
		sql(`UPDATE art_origin SET data_limit = 0 WHERE ino IN (SELECT ino FROM fs_inode WHERE NOT ` + isRegular + `)`)},

	{"whiteout of %q is in no directory",
		`SELECT w.parent_ino, w.name FROM art_whiteout w LEFT JOIN fs_inode i ON i.ino = w.parent_ino
			WHERE i.ino IS NULL OR NOT ` + isDir,
		"it is gone",
		sql(`DELETE FROM art_whiteout WHERE parent_ino NOT IN (SELECT ino FROM fs_inode WHERE ` + isDir + `)`)},
	{"whiteout of %q cannot be a name",
		`SELECT parent_ino, name FROM art_whiteout WHERE typeof(name) <> 'text' OR NOT valid_name(name)`,
		"it is gone, unless it is another's",
		sql(`UPDATE OR IGNORE art_whiteout SET name = CAST(name AS TEXT) WHERE typeof(name) <> 'text';
			DELETE FROM art_whiteout WHERE typeof(name) <> 'text' OR NOT valid_name(name)`)},
	{"baseline of %q is of tree %d, which is not there",
		`SELECT row, path, tree FROM art_baseline WHERE tree NOT IN (SELECT id FROM art_tree)`,
		"it is gone",
		sql(`DELETE FROM art_baseline WHERE tree NOT IN (SELECT id FROM art_tree)`)},
	{"baseline of %q cannot be a path",
		`SELECT row, path FROM art_baseline WHERE NOT valid_path(path)`,
		"it is gone",
		sql(`DELETE FROM art_baseline WHERE NOT valid_path(path)`)},
	{"is not there, but has the extended attribute %q",
		`SELECT ino, name FROM art_xattr WHERE ino ` + notThere + ` AND NOT ino ` + orphan,
		"the attribute is gone",
		sql(`DELETE FROM art_xattr WHERE ino ` + notThere + ` AND NOT ino ` + orphan)},
	{"extended attribute %q cannot be",
		`SELECT ino, name FROM art_xattr WHERE ` + badXattr,
		"it is one now, or gone",
		sql(`UPDATE OR IGNORE art_xattr SET name = CAST(name AS TEXT), value = CAST(value AS BLOB) WHERE ` + badXattr + `;
			DELETE FROM art_xattr WHERE ` + badXattr)},
	{"is not there, but has a time of birth",
		`SELECT ino FROM art_birth WHERE ino ` + notThere + ` AND NOT ino ` + orphan,
		"the time is gone",
		sql(`DELETE FROM art_birth WHERE ino ` + notThere + ` AND NOT ino ` + orphan)},
	{"its time of birth is no number",
		`SELECT ino FROM art_birth WHERE typeof(birth) NOT IN ('integer', 'null')`,
		"it is unknown now",
		sql(`UPDATE art_birth SET birth = NULL WHERE typeof(birth) NOT IN ('integer', 'null')`)},
	{"is said to be deleted, but is there",
		`SELECT ino FROM art_orphan WHERE ino IN (SELECT ino FROM fs_inode)`,
		"it stays",
		sql(`DELETE FROM art_orphan WHERE ino IN (SELECT ino FROM fs_inode)`)},
}

const (
	outside = "(c.chunk_index < 0 OR c.chunk_index >= (i.size + chunk_size() - 1) / chunk_size())"
)

var badXattr = database.Columns(database.BadXattr, "")

// wrongFlow is what no session writes of a connection.
const wrongFlow = `typeof(session) <> 'integer' OR typeof(number) <> 'integer' OR typeof(began) <> 'integer' OR typeof(began_nsec) <> 'integer'
	OR began_nsec NOT BETWEEN 0 AND 999999999 OR ifnull(ended_nsec, 0) NOT BETWEEN 0 AND 999999999 OR denied NOT IN (0, 1)
	OR typeof(sent) <> 'integer' OR typeof(received) <> 'integer' OR typeof(times) <> 'integer' OR sent < 0 OR received < 0 OR times < 1`

// wrongProcess is what no session writes of a process. Numbers grow, so a process that has started another one has a lower one.
const wrongProcess = `id NOT BETWEEN 1 AND (1 << 48) - 1 OR typeof(session) <> 'integer' OR session < 0
	OR typeof(parent) NOT IN ('integer', 'null') OR parent NOT BETWEEN 1 AND id - 1 OR typeof(pid) NOT IN ('integer', 'null') OR pid NOT BETWEEN 1 AND (1 << 31) - 1
	OR typeof(argv) <> 'blob' OR length(argv) > 4096 OR cut NOT IN (0, 1) OR typeof(dir) NOT IN ('blob', 'null') OR length(dir) > 4096
	OR typeof(started) <> 'integer' OR typeof(started_nsec) <> 'integer' OR started_nsec NOT BETWEEN 0 AND 999999999
	OR typeof(ended) NOT IN ('integer', 'null') OR typeof(ended_nsec) <> typeof(ended) OR ended_nsec NOT BETWEEN 0 AND 999999999
	OR typeof(exit_code) NOT IN ('integer', 'null') OR exit_code NOT BETWEEN 0 AND 255`

// wrongChange is what no session writes of a process's changes: 24 is of those to a name, which has a directory.
const wrongChange = `process NOT IN (SELECT id FROM art_process) OR typeof(ino) <> 'integer' OR ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1
	OR typeof(checkpoint) <> 'integer' OR checkpoint NOT BETWEEN 0 AND (1 << 52) - 1 OR typeof(what) <> 'integer' OR what NOT BETWEEN 1 AND 63
	OR typeof(parent_ino) <> 'integer' OR parent_ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1 OR (what & 24 = 0) <> (parent_ino = 0)
	OR typeof(name) <> 'text' OR iif(parent_ino = 0, name <> '', NOT valid_name(name)) OR typeof(first) <> 'integer' OR typeof(last) <> 'integer'`

// wrongReleased is what no pull writes of what it lets go of.
const wrongReleased = `typeof(parent_ino) <> 'integer' OR parent_ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1 OR parent_ino = 0 OR typeof(name) <> 'text' OR NOT valid_name(name)
	OR typeof(checkpoint) <> 'integer' OR checkpoint NOT BETWEEN 0 AND (1 << 52) - 1 OR typeof(ino) <> 'integer' OR ino NOT BETWEEN 1 - (1 << 52) AND (1 << 52) - 1
	OR typeof(ino_ctime) <> 'integer' OR typeof(ino_ctime_nsec) <> 'integer' OR ino_ctime_nsec NOT BETWEEN 0 AND 999999999`

// wrongSeal is what no session writes of its seal. Whether the seals fit the records says Verify.
const wrongSeal = `id NOT BETWEEN 1 AND 1 << 48 OR typeof(session) <> 'integer' OR session < 1 OR typeof(made) <> 'integer'
	OR typeof(made_nsec) <> 'integer' OR made_nsec NOT BETWEEN 0 AND 999999999 OR typeof(previous) <> 'blob' OR length(previous) <> 32
	OR typeof(digests) <> 'blob' OR typeof(digest) <> 'blob' OR length(digest) <> 32 OR typeof(hash) <> 'blob' OR length(hash) <> 32`
