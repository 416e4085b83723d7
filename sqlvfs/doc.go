// Package sqlvfs keeps a tree of files in one SQLite database and serves it from memory.
//
// The tables are those of the Agent Filesystem format, version 0.4, so that its tools can read
// what is written here (schema.go). What that format has no words for lives in tables of our own,
// prefixed art_: where an inode comes from in a host tree (origin), which names of a host
// directory are gone (whiteouts), what the host tree was when the two last agreed (baselines), and
// which rows belong to deleted files that are still open (orphans). The package knows nothing of FUSE and reads no host file but the database.
//
// # How it is fast
//
// Live inodes are Go objects in a table (inode.go). An operation changes them in memory, under one
// lock, and notes what became dirty (batch.go). One goroutine, the writer (writer.go), takes the
// dirty set as a whole every now and then and commits it in one transaction while the next set
// gathers. The set holds states, not steps: what was created and deleted in between, or written
// twice, reaches the disk once or never. Reads of rows that are not in memory go to connections
// of their own (conn.go) and never wait for the writer.
//
// # What is promised
//
//   - A transaction holds everything that happened up to one moment, and nothing that happened
//     later: after a crash the database is a prefix of the history, never a mixture.
//   - When [Store.Sync] returns nil, everything that happened before the call survives the death
//     of any process and a power cut. Calls that wait at the same time share one transaction.
//   - Without Sync, history is at most [Linger] plus one commit behind.
//   - Memory is bounded: writes wait when more than [Options.MaxDirty] bytes are not yet committed.
//
// # Locking
//
// [Store.Lock] is the only lock of the tree. Methods that work on metadata expect it held, so that
// a caller can make several of them one step (rename is an unlink, a link and a whiteout); the
// writer takes the dirty set under the same lock, so a step is never split between two
// transactions. Methods that move data take it themselves and never hold it while they read.
package sqlvfs
