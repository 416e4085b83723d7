package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"golang.org/x/sys/unix"
)

const (
	// Linger is how long changes may gather before a transaction takes them. Longer saves work
	// that deletions make void; shorter loses less when the process is killed.
	Linger = 200 * time.Millisecond

	batchRows  = 8192      // a batch of this size does not wait for Linger to pass
	batchBytes = 8 << 20   // nor does one with this much content
	maxRows    = 64 << 10  // changes wait when this many rows are not committed
	logLimit   = 128 << 20 // the write-ahead log is copied back when it is longer than this, in bytes
	retryAfter = time.Second
)

// kickLater lets the writer know that there is something to do soon.
func (s *Store) kickLater() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Ready holds changes back while too many wait for the disk, and refuses them while the disk takes
// none or the store is read-only. Whatever makes the tree larger calls it first. The Store's lock
// must be held; it is let go of while waiting.
func (s *Store) Ready() error {
	if s.readOnly {
		return ErrReadOnly
	}
	for {
		if s.failed != nil {
			return s.failed
		}
		if s.closing {
			return ErrClosed
		}
		bytes, rows := s.gather.bytes, s.gather.size()
		if bytes >= batchBytes || rows >= batchRows {
			s.kickLater()
		}
		if s.inflight != nil {
			bytes += s.inflight.bytes
			rows += s.inflight.size()
		}
		if bytes < s.maxDirty && rows < maxRows {
			return nil
		}
		s.done.Wait()
	}
}

// Sync returns when everything that happened before the call is durable: it survives a power cut.
// The error is the disk's. Takes the Store's lock.
func (s *Store) Sync() error {
	s.Lock()
	defer s.Unlock()
	if s.readOnly || s.closing {
		return nil
	}
	// The batch that gathers now holds the last change, or follows the one that does: when it is
	// durable, so is everything before it.
	b := s.gather
	b.sync = true
	s.kickLater()
	for seq := b.seq; s.durable < seq; {
		if s.failed != nil {
			return s.failed
		}
		s.done.Wait()
	}
	return nil
}

// Close commits what is left, folds the log into the database file and closes it. The store must
// not be used afterwards.
func (s *Store) Close() error {
	s.Lock()
	if s.closing {
		s.Unlock()
		return ErrClosed
	}
	s.closing = true
	s.Unlock()
	s.kickLater()
	<-s.stopped
	err := s.failed
	s.shut()
	return err
}

// write is the writer: it commits one batch after the other until the store is closed.
func (s *Store) write(c *conn) {
	defer close(s.stopped)
	w := &writer{conn: c, store: s, bases: map[string]int64{}, pageSize: int(s.pageSize)}
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.logPages = pages
		return nil
	})
	for {
		switch wait := s.nextTurn(); {
		case wait < 0:
			<-s.kick
		case wait > 0:
			select {
			case <-s.kick:
			case <-time.After(wait):
			}
		default:
			closing, ok := w.turn()
			if closing {
				w.finish()
				return
			}
			if !ok {
				time.Sleep(retryAfter)
			}
		}
	}
}

// nextTurn says how long the writer may still wait before it takes the batch; negative: until
// there is something in it.
func (s *Store) nextTurn() time.Duration {
	s.Lock()
	defer s.Unlock()
	switch {
	case s.gather.sync || s.closing || s.gather.bytes >= batchBytes || s.gather.size() >= batchRows:
		return 0
	case s.gather.empty():
		return -1
	}
	return max(0, Linger-time.Since(s.gather.since))
}

// turn takes the gathered batch, commits it and lets everyone know.
func (w *writer) turn() (closing, ok bool) {
	s := w.store
	s.Lock()
	b := s.gather
	closing = s.closing
	s.gather = newBatch(b.seq + 1)
	s.inflight = b
	b.freeze()
	s.Unlock()

	err := w.commit(b)
	if err == nil && b.sync {
		err = w.sync()
	}
	if err == nil {
		err = w.checkpoint()
	}

	if err != nil {
		err = w.explain(err)
	}

	s.Lock()
	defer s.Unlock()
	s.inflight = nil
	if s.failed = err; err != nil {
		s.merge(b)
		s.gather.sync = s.gather.sync || b.sync
	} else {
		if b.sync {
			s.durable = b.seq
		}
		s.release(b)
	}
	s.done.Broadcast()
	return closing, err == nil
}

// explain finds out whether the disk is full where SQLite only says that it could not write: the
// library's file layer reports ENOSPC as any other I/O error.
func (w *writer) explain(err error) error {
	var st unix.Statfs_t
	const margin = 1 << 20 // less than this is full, in bytes
	if errors.Is(err, sqlite3.IOERR) && unix.Statfs(filepath.Dir(w.store.path), &st) == nil &&
		st.Bavail*uint64(st.Bsize) < margin {
		return fmt.Errorf("%w: %v", unix.ENOSPC, err)
	}
	return err
}

// writer is the state of the goroutine that owns the writing connection.
type writer struct {
	*conn
	store     *Store
	bases     map[string]int64 // art_base, by name
	wrote     bool             // anything at all was committed
	logPages  int              // length of the write-ahead log
	pageSize  int              // of the database, in bytes
	dirSynced bool             // the names of the database's files are durable
}

const (
	qPutInode = `INSERT INTO fs_inode (ino, mode, nlink, uid, gid, rdev, size,
		atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (ino) DO UPDATE SET mode=excluded.mode, nlink=excluded.nlink, uid=excluded.uid, gid=excluded.gid,
		rdev=excluded.rdev, size=excluded.size, atime=excluded.atime, atime_nsec=excluded.atime_nsec,
		mtime=excluded.mtime, mtime_nsec=excluded.mtime_nsec, ctime=excluded.ctime, ctime_nsec=excluded.ctime_nsec`
	qPutDentry = `INSERT INTO fs_dentry (name, parent_ino, ino) VALUES (?,?,?)
		ON CONFLICT (parent_ino, name) DO UPDATE SET ino=excluded.ino`
	qPutOrigin = `INSERT OR REPLACE INTO art_origin (ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit)
		VALUES (?,?,?,?,?,?,?,?,?,?,?)`
)

func bindInode(q *sqlite3.Stmt, ino Ino, a *Attr) {
	for i, v := range [...]int64{
		int64(ino), int64(a.Mode), int64(a.Nlink), int64(a.UID), int64(a.GID), int64(a.Rdev), a.Size,
		a.Atime.Sec, int64(a.Atime.Nsec), a.Mtime.Sec, int64(a.Mtime.Nsec), a.Ctime.Sec, int64(a.Ctime.Nsec),
	} {
		q.BindInt64(i+1, v)
	}
}

// commit writes a batch in one transaction. The batch is frozen, so no lock is needed. Rows go in
// the order of their keys, which is the order of the tree's pages.
func (w *writer) commit(b *batch) (err error) {
	if b.empty() {
		return nil
	}
	tx, err := w.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	w.wrote = true
	for in, from := range b.cuts {
		if err := w.exec("DELETE FROM fs_data WHERE ino=? AND chunk_index>=?", int64(in.Ino), from); err != nil {
			return err
		}
	}
	slices.SortFunc(b.rows, func(x, y inodeRow) int { return cmp.Compare(x.in.Ino, y.in.Ino) })
	for i := range b.rows {
		if err := w.putRow(&b.rows[i]); err != nil {
			return err
		}
	}
	if err := w.putNames(b); err != nil {
		return err
	}
	if err := w.putXattrs(b); err != nil {
		return err
	}
	keys := make([]chunkKey, 0, len(b.chunks))
	for k := range b.chunks {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y chunkKey) int {
		return cmp.Or(cmp.Compare(x.in.Ino, y.in.Ino), cmp.Compare(x.index, y.index))
	})
	for _, k := range keys {
		if len(b.chunks[k].data) == 0 {
			if err := w.exec("DELETE FROM fs_data WHERE ino=? AND chunk_index=?", int64(k.in.Ino), k.index); err != nil {
				return err
			}
			continue
		}
		q := w.prep("INSERT OR REPLACE INTO fs_data (ino, chunk_index, data) VALUES (?,?,?)")
		q.BindInt64(1, int64(k.in.Ino))
		q.BindInt64(2, k.index)
		q.BindBlob(3, b.chunks[k].data)
		if err := w.run(q); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) exec(query string, args ...int64) error {
	q := w.prep(query)
	for i, v := range args {
		q.BindInt64(i+1, v)
	}
	return w.run(q)
}

// putRow brings an inode's rows to what they were when the batch was taken.
func (w *writer) putRow(r *inodeRow) error {
	ino := int64(r.in.Ino)
	if r.put {
		q := w.prep(qPutInode)
		bindInode(q, r.in.Ino, &r.attr)
		if err := w.run(q); err != nil {
			return err
		}
		if r.target != "" {
			q := w.prep("INSERT OR REPLACE INTO fs_symlink (ino, target) VALUES (?,?)")
			q.BindInt64(1, ino)
			q.BindRawText(2, []byte(r.target))
			if err := w.run(q); err != nil {
				return err
			}
		}
		if r.named {
			if err := w.exec("DELETE FROM art_orphan WHERE ino=?", ino); err != nil {
				return err
			}
		}
		if r.putOrigin {
			return w.putOrigin(ino, r.origin)
		}
		return nil
	}
	queries := []string{"DELETE FROM fs_inode WHERE ino=?"}
	if r.dropSide {
		queries = append(queries, "DELETE FROM fs_symlink WHERE ino=?", "DELETE FROM fs_origin WHERE delta_ino=?", "DELETE FROM art_origin WHERE ino=?")
	}
	if r.orphan {
		queries = append(queries, "INSERT OR IGNORE INTO art_orphan (ino) VALUES (?)")
	} else {
		queries = append(queries, "DELETE FROM art_orphan WHERE ino=?")
		if r.dropData {
			queries = append(queries, "DELETE FROM fs_data WHERE ino=?")
		}
		if r.dropXattrs {
			queries = append(queries, "DELETE FROM art_xattr WHERE ino=?")
		}
	}
	for _, q := range queries {
		if err := w.exec(q, ino); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putOrigin(ino int64, o *Origin) error {
	if o == nil {
		if err := w.exec("DELETE FROM fs_origin WHERE delta_ino=?", ino); err != nil {
			return err
		}
		return w.exec("DELETE FROM art_origin WHERE ino=?", ino)
	}
	base, err := w.base(o.Base)
	if err != nil {
		return err
	}
	q := w.prep(qPutOrigin)
	q.BindInt64(1, ino)
	q.BindInt64(2, base)
	q.BindBlob(3, []byte(o.Path))
	for i, v := range [...]int64{int64(o.Dev), int64(o.Ino), o.Size, o.Mtime.Sec, int64(o.Mtime.Nsec), o.Ctime.Sec, int64(o.Ctime.Nsec), o.Limit} {
		q.BindInt64(4+i, v)
	}
	if err := w.run(q); err != nil {
		return err
	}
	return w.exec("INSERT OR REPLACE INTO fs_origin (delta_ino, base_ino) VALUES (?,?)", ino, int64(o.Number))
}

// base returns the number of a host tree, giving it one when it is new.
func (w *writer) base(name string) (int64, error) {
	if id, ok := w.bases[name]; ok {
		return id, nil
	}
	q := w.prep("INSERT INTO art_base (name) VALUES (?) ON CONFLICT (name) DO NOTHING")
	q.BindRawText(1, []byte(name))
	if err := w.run(q); err != nil {
		return 0, err
	}
	q = w.prep("SELECT id FROM art_base WHERE name=?")
	q.BindRawText(1, []byte(name))
	var id int64
	if q.Step() {
		id = q.ColumnInt64(0)
	}
	if err := w.done(q); err != nil {
		return 0, err
	}
	w.bases[name] = id
	return id, nil
}

func (w *writer) putNames(b *batch) error {
	keys := make([]nameKey, 0, len(b.dentries))
	for k := range b.dentries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y nameKey) int {
		return cmp.Or(cmp.Compare(x.dir.Ino, y.dir.Ino), cmp.Compare(x.name, y.name))
	})
	for _, k := range keys {
		ino, query := b.dentries[k], qPutDentry
		if ino == 0 {
			query = "DELETE FROM fs_dentry WHERE name=? AND parent_ino=?"
		}
		if err := w.name(query, k, int64(ino)); err != nil {
			return err
		}
	}
	for k, there := range b.whiteouts {
		query := "DELETE FROM art_whiteout WHERE name=? AND parent_ino=?"
		if there {
			query = "INSERT OR IGNORE INTO art_whiteout (name, parent_ino) VALUES (?,?)"
		}
		if err := w.name(query, k, 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putXattrs(b *batch) error {
	for k, value := range b.xattrs {
		query := "INSERT OR REPLACE INTO art_xattr (ino, name, value) VALUES (?,?,?)"
		if value == nil {
			query = "DELETE FROM art_xattr WHERE ino=? AND name=?"
		}
		q := w.prep(query)
		q.BindInt64(1, int64(k.in.Ino))
		q.BindRawText(2, []byte(k.name))
		if value != nil {
			q.BindBlob(3, value)
		}
		if err := w.run(q); err != nil {
			return err
		}
	}
	return nil
}

// name runs a statement on an entry. Names are bound as raw text: they are bytes, not characters.
func (w *writer) name(query string, k nameKey, ino int64) error {
	q := w.prep(query)
	q.BindRawText(1, []byte(k.name))
	q.BindInt64(2, int64(k.dir.Ino))
	if ino != 0 {
		q.BindInt64(3, ino)
	}
	return w.run(q)
}

// sync makes committed transactions durable: the log, and once the names of the files. The names
// are ours to sync because the library means to and does not (vfs/file.go in v0.35.6 syncs the
// file again where it should sync the directory).
func (w *writer) sync() error {
	p, err := w.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return err
	}
	log, ok := p.(vfs.File)
	if !ok {
		return errors.New("the database has no write-ahead log")
	}
	if err := log.Sync(vfs.SYNC_FULL | vfs.SYNC_DATAONLY); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if w.dirSynced {
		return nil
	}
	dir, err := os.Open(filepath.Dir(w.store.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return err
	}
	w.dirSynced = true
	return nil
}

// checkpoint copies the log back into the database when it has become long. Readers and operations
// go on meanwhile; what a reader still needs is left for the next time.
func (w *writer) checkpoint() error {
	if w.logPages*w.pageSize < logLimit {
		return nil
	}
	if _, _, err := w.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err != nil && !errors.Is(err, sqlite3.BUSY) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// finish leaves one durable file behind, if anything was written. The connection that wrote is the
// last to be closed, because only that one can remove the log.
func (w *writer) finish() {
	w.store.closeReaders()
	if w.wrote {
		if _, _, err := w.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil && !errors.Is(err, sqlite3.BUSY) {
			w.store.failed = cmp.Or(w.store.failed, fmt.Errorf("checkpoint: %w", err))
		}
	}
	if err := w.Close(); err != nil {
		w.store.failed = cmp.Or(w.store.failed, err)
	}
}
