package sqlvfs

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A full disk takes nothing more, and yet what is deleted must make room, and what had been accepted must not be lost as a whole
// because it does not fit as a whole. So, where room is short,
//   - the database leaves a reserve to the log, by which pages become free, and never grows to where the log does not fit into it;
//   - little waits for the disk: a batch has no order in it that half of it could be committed, so batches are small, and
//     those that fit are a prefix of what happened;
//   - history gives way to the present: a transaction that does not fit is tried again without the oldest checkpoints that nobody has asked
//     for, and at last without any of these, so that less or nothing is copied of what it deletes. They are dropped in the same transaction,
//     and stay if that fails.

const (
	reserve    = 1 << 20   // bytes of the disk that new content leaves free
	leastDirty = 256 << 10 // bytes that may always wait for the disk
	rowBytes   = 128       // about what a row takes besides its content
	// readerLeaves is how long a full disk waits for who reads the log, and readerAgain when it does so again, if that was of no use.
	readerLeaves, readerAgain = 3 * time.Second, 30 * time.Second
	maxPages                  = math.MaxUint32 - 1 // what SQLite has as the most (https://sqlite.org/pragma.html#pragma_max_page_count)
)

// room is how much the files of a database may grow.
type room struct {
	free  int64 // bytes that are free on its file system
	limit int64 // the largest that a file may be, in bytes
}

// hostRoom asks the kernel. What it does not know is without end.
func hostRoom(path string) room {
	r := room{math.MaxInt64, math.MaxInt64}
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) == nil && fs.Blocks > 0 && fs.Bsize > 0 {
		blocks := fs.Bavail
		if os.Geteuid() == 0 {
			blocks = fs.Bfree
		}
		if blocks < math.MaxInt64/uint64(fs.Bsize) {
			r.free = int64(blocks) * fs.Bsize
		}
	}
	var most syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &most) == nil && most.Cur < math.MaxInt64 {
		r.limit = int64(most.Cur)
	}
	return r
}

// growth returns how large the database's file is, and how much larger it may become. What it grows by is in the log first.
func (f *fixed) growth() (size, more int64) {
	r := f.room(f.path)
	if r.free == math.MaxInt64 && r.limit == math.MaxInt64 {
		return 0, math.MaxInt64
	}
	if info, err := os.Stat(f.path); err == nil {
		size = info.Size()
	}
	return size, max(0, min((r.free-reserve)/2, r.limit-size))
}

// measure bounds what may wait for the disk by the room there is. LOCKS_REQUIRED(mu)
func (tx *Tx) measure() {
	_, more := tx.growth()
	tx.most = int(max(leastDirty, min(more/4, int64(tx.ceiling), int64(tx.maxDirty))))
}

// learn notes how a transaction went. What statfs(2) does not tell, as of a quota, failures do.
func (tx *Tx) learn(err error) {
	switch {
	case isFull(err):
		tx.ceiling = leastDirty
		tx.most = leastDirty
	case err == nil && tx.ceiling < tx.maxDirty:
		tx.ceiling = min(2*tx.ceiling, tx.maxDirty)
	}
}

// mostRows is how many rows may wait for the disk.
func (tx *Tx) mostRows() int { return min(maxRows, tx.most/rowBytes) }

// bound has the database grow no further than its files may, with the reserve left.
func (w *writer) bound() error {
	size, more := w.store.growth()
	w.more = more
	pages := int64(maxPages)
	if more < math.MaxInt64 {
		pages = min(pages, max(1, (size+more)/int64(w.pageSize)))
	}
	if pages == w.bounded || pages == maxPages && w.bounded == 0 {
		return nil
	}
	w.bounded = pages
	return w.Exec("PRAGMA max_page_count=" + strconv.FormatInt(pages, 10))
}

// logLimit is the length of the log, in bytes, from which on it is copied into the database.
func (w *writer) logLimit() int {
	return int(min(int64(w.store.tuning.logLimit), max(w.more/4, leastDirty)))
}

// makeRoom gives the space that the log takes to the next attempt, when there is none left: what is
// in it goes back into the database, and the log begins anew. It tells whether that made room.
func (w *writer) makeRoom() bool {
	w.awaitCheckpoint()
	had := w.logPages
	// If this fails for want of space too, only the host can make room.
	if err := w.truncateLog(); err != nil || had == 0 {
		return false
	}
	w.logPages, w.copied = 0, 0
	return w.bound() == nil
}

// truncateLog copies the log into the database, and gives the space that it takes back to the disk.
func (w *writer) truncateLog() error {
	if !w.copyFits(0) && !w.awaitReader() {
		return syscall.ENOSPC
	}
	_, _, err := w.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	return w.Cause(err)
}

// awaitReader waits for the process that copies the log elsewhere to make room, where that is what the disk is full of, and tells whether it has. That looks
// at the disk some times a second.
func (w *writer) awaitReader() bool {
	if !w.store.replicated || time.Since(w.awaited) < readerAgain {
		return false
	}
	for end := time.Now().Add(readerLeaves); time.Now().Before(end); time.Sleep(w.store.linger) {
		if w.copyFits(0) {
			return true
		}
	}
	w.awaited = time.Now()
	return false
}

// copyFits tells whether the database can take what is in the log, with so many bytes of the disk left: SQLite would fill it to the last
// one before it fails.
func (w *writer) copyFits(left int64) bool {
	r := w.store.room(w.store.path)
	pages, err := database.PragmaInt(w.Conn, "page_count")
	if err != nil {
		return false
	}
	info, err := os.Stat(w.store.path)
	size := pages * int64(w.pageSize)
	return err == nil && size <= r.limit && (size <= info.Size() || size-info.Size() <= r.free-left)
}

// withoutHistory commits a batch for which there is no room with all of history, at the cost of as many checkpoints as it needs, the oldest
// first. full is why there is none.
func (w *writer) withoutHistory(b *batch, full error) error {
	give, err := w.givingWay()
	if err != nil || len(give) == 0 && w.found {
		return full
	}
	for n := 1; n < len(give); n *= 2 {
		if err := w.attempt(b, n); !isFull(err) {
			return err
		}
	}
	return w.attempt(b, math.MaxInt)
}

// givingWay returns the checkpoints that go where there is no room, the oldest first, but those that going back has replaced last.
func (w *writer) givingWay() ([]Checkpoint, error) {
	all, err := checkpointsOf(w.conn)
	if err != nil {
		return nil, err
	}
	held, undone, err := w.needed(&w.store.keepHistory, all)
	if err != nil {
		return nil, err
	}
	var first, last []Checkpoint
	for _, c := range slices.Backward(all) {
		switch {
		case held[c.ID], c.askedFor():
		case undone[c.ID]:
			last = append(last, c)
		default:
			first = append(first, c)
		}
	}
	return append(first, last...), nil
}

// askedFor tells whether the user has asked for a checkpoint, and not the guest, which could take it away by filling the disk.
func (c *Checkpoint) askedFor() bool {
	return c.Kind != ByGuest && (c.Kind == ByUser || c.Label != "")
}

const (
	// droppedKey begins the keys of rows of fs_config that say how many checkpoints a session has dropped for want of room; behind it
	// comes the session's number.
	droppedKey = "art_dropped:"
	// lastKey is the key of the number of the last checkpoint, where that was dropped: no other gets it again.
	lastKey = "art_last_checkpoint"
)

// dropOldest drops the n oldest checkpoints that give way in a transaction; with more than there are, the one of what the session has found
// is not made either. Where none is left there is no history, until another is made.
func (w *writer) dropOldest(n int) error {
	give, err := w.givingWay()
	if err != nil {
		return err
	}
	changed, err := w.changedSince(&w.newest)
	if err != nil {
		return err
	}
	some := give[:min(n, len(give))]
	for i := range some {
		if err := w.drop(&some[i]); err != nil {
			return fmt.Errorf("drop checkpoints: %w", err)
		}
		if some[i].ID == w.newest.ID {
			if err := w.retire(w.newest.ID); err != nil {
				return err
			}
		}
	}
	if w.newest, err = newestCheckpoint(w.conn); err != nil {
		return err
	}
	dropped := int64(len(some))
	if n > len(give) {
		if changed && !w.found {
			dropped++ // the one that was to be made
		}
		w.found = true
	}
	w.dropped += dropped
	return putDropped(w.conn, w.store.tx.session.id, dropped)
}

// retire has no checkpoint get the number again that the newest one had.
func (w *writer) retire(id int64) error {
	w.last = max(w.last, id)
	return do(w.conn, "INSERT OR REPLACE INTO fs_config (key, value) VALUES (?,?)", lastKey, strconv.FormatInt(w.last, 10))
}

// putDropped writes down that a session has dropped so many checkpoints more, if it is in the log yet.
func putDropped(c *conn, session, n int64) error {
	if session == 0 || n == 0 {
		return nil
	}
	return do(c, `INSERT INTO fs_config (key, value) VALUES (?1, ?2)
		ON CONFLICT (key) DO UPDATE SET value=CAST(CAST(value AS INTEGER)+?2 AS TEXT)`, droppedKey+strconv.FormatInt(session, 10), strconv.FormatInt(n, 10))
}

// Dropped returns how many checkpoints were dropped since the store was opened because there was no room for them.
func (s *Store) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tx.dropped
}
