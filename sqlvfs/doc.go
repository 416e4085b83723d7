// Package sqlvfs keeps a tree of files in one SQLite database and serves it from memory.
//
// The tables are those of the Agent Filesystem format, version 0.4, so that its tools can read
// what is written here (schema.go). What that format has no words for lives in tables of our own,
// prefixed art_: where an inode comes from in a host tree (origin), which names of a host
// directory are gone (whiteouts), what the host tree was when the two last agreed (baselines), and
// which rows belong to deleted files that are still open (orphans); and what rows were at checkpoints (moment.go). The package knows
// nothing of FUSE and reads no host file but the database.
//
// # How it is fast
//
// Live inodes are Go objects in a table (inode.go). A step changes them in memory
// (tx.go), and notes what became dirty (batch.go). The writer (writer.go) takes the dirty set as a whole
// and commits it in one transaction while the next set gathers: a goroutine does every now and then,
// and whoever calls Sync at once. The set holds states, not steps: what was created and deleted in
// between, or written twice, reaches the disk once or never; and what could not be committed is the older half of
// the next set. Checkpoints run beside the writer
// (checkpoint.go). Reads of rows that are not in memory go to connections of their own (conn.go) and
// never wait for the writer.
//
// # What is promised
//
//   - A transaction holds everything that happened up to one moment, and nothing that happened
//     later: after a crash the database is a prefix of the history, never a mixture. A step is in it as a
//     whole or not at all.
//   - When [Store.Sync] returns nil, everything that happened before the call survives the death
//     of any process and a power cut: content, names and attributes, of whatever file. Calls that
//     wait at the same time share one transaction.
//   - Without Sync, history is at most [Linger] plus one commit behind when the process is killed.
//     A power cut takes what the host's kernel had not written by itself, about half a minute
//     (dirty_expire_centisecs in proc_sys_vm(5)): still a prefix.
//   - Memory is bounded: writes wait when more than [Options.MaxDirty] bytes are not yet committed.
//   - What the disk refuses is refused to the caller ([Errno]): reads go on, changes that make the
//     tree larger fail, and what was accepted before waits. All of it is tried again every second,
//     and goes on by itself when the disk does. A Sync that fails promises nothing, one that
//     succeeds later promises everything.
//
// # What that means for system calls
//
// fs serves a mount without a write-back cache, so this is what a program on it may rely on:
//
//	write(2)             is in memory of the process that serves. It survives the program.
//	close(2)             promises no more than the writes before it.
//	fsync(2) on a file   is Sync: the file, its name, and all that happened before, anywhere.
//	fdatasync(2)         is fsync.
//	fsync on a directory is fsync too; nobody needs it here.
//	O_SYNC, O_DSYNC      are an fsync behind each write.
//	msync(2), MS_SYNC    hands mapped pages over and is fsync.
//	rename(2)            is one step: there is always one of the two files under the name. Since order
//	                     is kept, the new one is whole even without an fsync before; with an fsync
//	                     after, of anything, it is the new one.
//	sync(2), syncfs(2)   do not reach a FUSE server (fuse_sync_fs in fs/fuse/inode.c asks virtiofs
//	                     only). sync(2) makes durable what is committed, as it does all of the host's
//	                     files; so it promises what is older than Linger. syncfs(2) promises nothing.
//	umount(2), the end   are a Sync: [Store.Close] leaves one durable file behind, and says if it
//	of a session         could not.
//
// How the files of SQLite are synced for that is said in internal/diskvfs. powercut_test.go proves it.
//
// # Steps
//
// Metadata is read and changed in steps, which are functions of a [Tx] that [Store.View], [Store.Update] and
// [Store.Reduce] run one at a time. A caller makes several changes one step (rename is an unlink, a link and a whiteout),
// and the writer takes the dirty set between two steps, so a step is never split between two transactions. Content is
// changed in a step too; what a step misses of it is read from the disk and the host in between ([Missing]).
//
// # Errors, units, and what may be called at once
//
// A method of [Tx] that returns an error may have had to read the database. Then that error is SQLite's, for which [Errno]
// has the system call's, or wraps [ErrCorrupt] where rows make no sense; in a read-only store it is syscall.ESTALE for an
// inode that the writer has deleted meanwhile. A method of a directory returns syscall.ENOTDIR for what is none. Other errors
// are said with each method.
//
// Sizes, offsets and lengths are in bytes, indexes of chunks in units of [Store.ChunkSize], and times as in [Timespec].
//
// Methods of [Store] may be called by several goroutines at once, but not in a step, until [Store.Close] is called. Those of
// a [Tx], and the fields of an [Inode], are for the step. What a method returns is the caller's, but for values that are
// said to be replaced only: these everybody may read and nobody change.
package sqlvfs
