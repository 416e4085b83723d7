package sqlvfs

// sessionTable is the log of the sessions that had the database: when each began and ended, the
// command with its arguments, each ended by a NUL, the exit code, and how many files it made,
// changed and deleted. What is NULL is unknown: a session that was killed has no end.
const sessionTable = `
CREATE TABLE art_session (
	id INTEGER PRIMARY KEY,
	started INTEGER NOT NULL,
	started_nsec INTEGER NOT NULL,
	command BLOB NOT NULL,
	ended INTEGER,
	ended_nsec INTEGER,
	exit_code INTEGER,
	made INTEGER,
	changed INTEGER,
	deleted INTEGER);
`

const qSessions = `SELECT id, started, started_nsec, command, ended, ended_nsec, exit_code, made, changed, deleted FROM art_session`
