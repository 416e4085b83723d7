package sqlvfs

import (
	"cmp"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Tx is a step in memory: what it reads and changes is of one moment, and the writer takes all of its changes into one
// transaction of the database, or none. It is good until the function returns to which [Store.View], [Store.Update] or
// [Store.Reduce] gave it, and for the goroutine that called them, which must not call the Store meanwhile. A step neither
// waits nor asks the host for anything.
//
// It is also where all is kept that steps share, so that nothing of it can be reached without a step.
type Tx struct {
	*fixed
	meta      *conn // for rows of metadata
	live      map[Ino]*Inode
	clean     clean
	nextIno   Ino
	pool      pool
	changed   bool        // something that a transaction took was of the tree
	at        *Checkpoint // read-only: what is shown; nil: the present
	moved     *Moved      // read-only: what Move would have written; nil: nothing
	gather    *batch      // what the next transaction will commit
	inflight  *batch      // what the writer is committing, or nil
	failed    error       // why the last transaction failed; nil once one succeeds
	durable   uint64      // the newest batch that survives a power cut
	committed uint64      // the newest batch that is in the database
	closing   bool
	changing  bool // a step runs that may add to the tree
	writing   bool // a goroutine has the writer, see acquireWriter
	asleep    bool // the writer's goroutine looks at the batch no more until it is kicked
	session   session
	most      int   // bytes that may wait for the disk
	ceiling   int   // of that, after what the disk has refused
	dropped   int64 // checkpoints that were dropped for want of room

	by       int64     // whose changes the step makes; 0: nobody's. See By
	mapped   What      // with it, ByMapping or 0
	told     bool      // somebody is told of them, also if they are nobody's
	made     *Inode    // the last that the step has made; nil: none
	unlinked nameKey   // the last name that it has removed
	logged   uint64    // how often the log of processes was taken into a batch
	lateFrom time.Time // since when it has been put off; zero: it has not

	released map[Ino]bool // see Release

	objects   map[object]Ino // see FindObject; nil: not known
	objectsAt uint32         // the epoch of that

	entries   map[Ino]int // see Entries; nil: not known
	entriesAt uint32      // the epoch of that

	epoch   uint32    // read-only: counts changes made by the writer
	version int64     // read-only: data_version at the last look
	shown   int64     // read-only: data_version when the checkpoint that is shown was last known to be there; 0: never
	looked  time.Time // read-only: when that was
}

// fixed is what does not change once a Store is open.
type fixed struct {
	tuning
	path        string
	readOnly    bool
	replicated  bool // see Options.Replicated
	frozen      bool // all connections read one commit, see Options.Beside
	fresh       bool // made by Open
	chunkSize   int64
	pageSize    int64
	maxDirty    int
	occasion    Occasion       // see Options.Checkpoint
	every       time.Duration  // see Options.Every
	keepHistory Keep           // see Options.Keep
	stack       database.Stack // that its connections read
	scratch     *os.File       // nil: the file system has none. See shrink
	root        *Inode
	readers     *connPool // for content
	ahead       readAhead
	backs       atomic.Uint64 // how often the tree has gone back, or was about to
	done        *sync.Cond    // a batch was committed, or has failed
	kick        chan struct{} // there is something to do for the writer
	processes   processes     // of the guest, that are not committed
	watch       *watch        // for who is told of commits; nil: nobody is
}

// View runs a step that adds nothing to the tree, and returns its error: [Tx.New], [Tx.Link] and [Tx.SetWhiteout] fail in
// it. It may set attributes; what it sets is not waited for, and lost in a store that is read-only. The error is [syscall.ESTALE]
// if the store shows a checkpoint that was dropped meanwhile.
func (s *Store) View(step func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tx.newStep()
	err := step(&s.tx)
	return cmp.Or(s.tx.checkAt(), err)
}

// errViewing is what adding to the tree ends in where nothing has waited for room.
var errViewing = errors.New("a step of View adds to the tree")

// run runs a step that changes the tree.
func (tx *Tx) run(step func(*Tx) error) error {
	tx.newStep()
	tx.changing = true
	defer func() { tx.changing = false }()
	return step(tx)
}

// Query is View for a step that has a result, as every method of [Tx] that only asks.
func Query[T any](s *Store, step func(*Tx) (T, error)) (result T, err error) {
	err = s.View(func(tx *Tx) (err error) {
		result, err = step(tx)
		return err
	})
	return result, err
}

// Update runs a step that may make the tree larger. It waits while too much is not committed, and is refused while
// the disk takes nothing, with the disk's error, and in a store that is read-only, with [ErrReadOnly]. A step that ends
// in [*Missing] is run again when the content is in memory, unless that is the origin's.
func (s *Store) Update(step func(*Tx) error) error {
	for {
		err := s.update(step)
		m, ok := errors.AsType[*Missing](err)
		if !ok || m.src == fromBase {
			return err
		}
		if err := s.Supply(m, nil); err != nil {
			return err
		}
	}
}

func (s *Store) update(step func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.tx.awaitRoom(); err != nil {
		return err
	}
	if s.frozen {
		if err := s.passContents(); err != nil {
			return err
		}
	}
	return s.tx.run(step)
}

// awaitRoom waits for room for changes. It unlocks the Store while it waits.
func (tx *Tx) awaitRoom() error {
	for {
		switch {
		case tx.readOnly:
			return ErrReadOnly
		case tx.failed != nil:
			return tx.failed
		case tx.closing:
			return ErrClosed
		case !tx.full():
			return nil
		}
		tx.done.Wait()
	}
}

// Reduce runs a step that makes the tree smaller. It waits as Update does, but is refused only by a store that is
// read-only.
func (s *Store) Reduce(step func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &s.tx
	if tx.readOnly {
		return ErrReadOnly
	}
	for tx.failed == nil && !tx.closing && tx.full() {
		tx.done.Wait()
	}
	return tx.run(step)
}

// Path is the database's file.
func (f *fixed) Path() string { return f.path }

// ChunkSize is the size of a full row of content, in bytes.
func (f *fixed) ChunkSize() int64 { return f.chunkSize }

// ReadOnly tells whether the store was opened without write access.
func (f *fixed) ReadOnly() bool { return f.readOnly }

// MaxSize is the largest file, in bytes: what FUSE can address (loff_t), cut down to whole chunks.
func (f *fixed) MaxSize() int64 { return database.MaxSize(f.chunkSize) }
