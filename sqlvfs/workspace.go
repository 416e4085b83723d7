package sqlvfs

// workspaceTable says which directory of the host each workspace of the tree is: its path, and what
// file system and inode that was. whole is 1 once all that the host had there is in the tree.
const workspaceTable = `
CREATE TABLE art_workspace (
	name TEXT PRIMARY KEY,
	path BLOB NOT NULL,
	fsid INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	birth INTEGER NOT NULL,
	birth_nsec INTEGER NOT NULL,
	whole INTEGER NOT NULL DEFAULT 0);
`

const qWorkspaces = `SELECT name, path, fsid, ino, birth, birth_nsec, whole FROM art_workspace`
