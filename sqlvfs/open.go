package sqlvfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// Options say how a database is opened.
type Options struct {
	// ReadOnly opens beside a writer, or without one, and changes nothing.
	ReadOnly bool
	// Beside opens beside a writer, and shows what the database held then for as long as the store is open. What
	// is changed in it is passed to Beside by Sync and Close, for the writer to make (see Changes). The writer must
	// be in [Store.Freeze] until Open returns.
	Beside func(*Changes) error
	// At shows the tree as it was at a checkpoint: its number, or its label. The store is read-only.
	At string
	// Checkpoint, if it is not "", has a checkpoint be made of the tree as it is found, with the first change of it.
	Checkpoint Occasion
	// Every is how often a session that goes on changing has a checkpoint of Options.Checkpoint; 0: whenever it rests.
	Every time.Duration
	// Keep is how much history stays, when there is time to drop the rest.
	Keep Keep
	// Create makes the database, readable for its owner alone, if it does not exist.
	Create bool
	// Root are the attributes of a new tree's root directory.
	Root Attr
	// Waiting is told, once, when Open waits for another process that is about to close the
	// database, and which that is (0: unknown). May be nil.
	Waiting func(pid int)
	// Placed is called once the database's files are all there: it, its log and the log's index.
	// Open goes on, and may still fail. May be nil.
	Placed func()
	// Bulk says that much comes in at once, to stay: it is copied from the log while more comes.
	Bulk bool
	// Replicated says that another process copies the log to a store while this one writes it (see Replicated). The log is left to that, but for
	// that of a fork, which is not replicated.
	Replicated bool
	// OnCommit is told what has been committed: changes of files that steps have made which are a guest's (see [Tx.ByGuest]), and checkpoints.
	// It is called by whoever commits, by one at a time, and must not wait. nil: nobody is told, and nothing is done for it.
	OnCommit func(*CommitEvent)
	// MaxDirty bounds the content in memory that is not committed yet, in bytes. 0 means 96 MiB.
	MaxDirty int
}

// Store is an open database and the live inodes of its tree. Its methods may be called by several goroutines at once.
type Store struct {
	*fixed
	mu sync.Mutex
	tx Tx // GUARDED_BY(mu)

	lockFile *os.File
	left     *database.Left // how the last writer has left the database; nil: unknown
	leaving  *database.Left // how this one leaves it, as soon as the writer has ended; nil: unknown
	other    *Other         // see OtherProgram
	unnoted  bool           // history has no checkpoint of what another program has left
	waiting  func(pid int)
	writer   *writer              // nil: read-only, or beside one
	beside   func(*Changes) error // nil: changes are written here
	stopped  chan struct{}        // closed when the writer has ended
}

// tuning are the VFS, the delays and the sizes that a Store works with.
type tuning struct {
	query    string        // parameters that connections are opened with: the VFS
	linger   time.Duration // see Linger
	retry    time.Duration // between attempts at what the disk does not take
	logLimit int           // the write-ahead log is copied back when it is longer than this, in bytes
	logMost  int           // and the writer waits for that when it is longer than this
	cache    int           // of the writer's connection, in bytes
	clean    int           // bound of what can be read again, see keep, in bytes
	busy     time.Duration // between checkpoints of a session that never rests
	room     func(path string) room
}

var defaults = tuning{query: database.HostFiles, linger: Linger, retry: time.Second, logLimit: 128 << 20, logMost: 256 << 20, cache: 32 << 20, clean: 32 << 20, busy: time.Minute, room: hostRoom}

// bulk is the tuning for what comes in at once, to stay. A long log pays where much of it is void by the
// time it is copied; here nothing is.
func (t tuning) bulk() tuning {
	t.logLimit, t.logMost, t.cache = 16<<20, 64<<20, 8<<20
	return t
}

// NewRoot are the attributes of a new tree's root directory: it belongs to the user.
func NewRoot() Attr {
	now := Now()
	return Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Atime: now, Mtime: now, Ctime: now}
}

// Open opens a database. A file that is no database, that belongs to another application, that a
// newer version of art has made, or that cannot be written is refused with the matching Err; one
// that another process writes to, with [*InUseError], unless that is about to close it. Nothing is
// changed in any of these cases.
func Open(path string, opt Options) (*Store, error) {
	switch {
	case opt.Replicated:
		return openStore(path, opt, defaults.replicated())
	case opt.Bulk:
		return openStore(path, opt, defaults.bulk())
	}
	return openStore(path, opt, defaults)
}

func openStore(path string, opt Options, t tuning) (_ *Store, err error) {
	defer database.CatchOutOfMemory(&err)
	if !database.IsRemote(path) {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	fresh, err := database.Inspect(path, opt.ReadOnly || opt.Beside != nil || opt.At != "", opt.Create)
	if err != nil {
		return nil, err
	}
	s := &Store{
		fixed: &fixed{
			tuning:      t,
			path:        path,
			readOnly:    opt.ReadOnly || opt.At != "",
			frozen:      opt.Beside != nil,
			replicated:  opt.Replicated,
			fresh:       fresh,
			maxDirty:    opt.MaxDirty,
			occasion:    opt.Checkpoint,
			every:       opt.Every,
			keepHistory: opt.Keep,
			kick:        make(chan struct{}, 1),
		},
		waiting: opt.Waiting,
		beside:  opt.Beside,
		stopped: make(chan struct{}),
	}
	if s.maxDirty == 0 {
		s.maxDirty = 96 << 20
	}
	if opt.OnCommit != nil {
		s.watch = &watch{tell: opt.OnCommit, places: map[Ino]NameIn{}}
	}
	s.done = sync.NewCond(&s.mu)
	s.tx = Tx{fixed: s.fixed, live: map[Ino]*Inode{}, gather: newBatch(1), most: s.maxDirty, ceiling: s.maxDirty}
	if err := s.open(fresh, opt); err != nil {
		s.shut()
		if fresh {
			database.RemoveFiles(path)
		}
		return nil, explainOpen(path, err)
	}
	return s, nil
}

// explainOpen is [database.Explain]. Where there is no room for what a database needs to be opened, such as its shared memory, SQLite says
// only that reading or writing has failed.
func explainOpen(path string, err error) error {
	if (errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.CANTOPEN)) && full(filepath.Dir(path)) {
		return syscall.ENOSPC
	}
	return database.Explain(err)
}

// full tells whether a file system has no room for as much as a database needs to begin with.
func full(dir string) bool {
	const least = 128 << 10
	var st syscall.Statfs_t
	err := syscall.Statfs(dir, &st)
	return err == nil && st.Blocks > 0 && st.Bavail < least/uint64(max(1, st.Bsize))
}

func (s *Store) open(fresh bool, opt Options) (err error) {
	switch {
	case s.frozen:
		return s.openBeside()
	case s.readOnly:
		return s.openReadOnly(opt.At)
	}
	if real, err := filepath.EvalSymlinks(s.path); err == nil {
		s.path = real
	}
	if s.lockFile, err = lock.Take(s.path, s.waiting); err != nil {
		return err
	}
	left, written := database.ReadLeft(s.lockFile, s.path)
	placed, err := placeLogFiles(s.lockFile, s.path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.closeReaders()
			placed.withdraw()
		}
	}()
	tellPlaced := opt.Placed
	if tellPlaced == nil {
		tellPlaced = func() {}
	}
	if placed != nil {
		tellPlaced()
	}
	s.scratch = diskvfs.OpenScratch(s.path)
	if s.tx.meta, err = database.Connect(s.path, sqlite3.OPEN_READWRITE, s.query); err != nil {
		return err
	}
	// The last connection to be closed copies the log into the file. One that someone else has left
	// stays as it is until the database is accepted.
	if _, err := s.tx.meta.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		return err
	}
	err = s.tx.meta.Cause(s.prepareFile(s.tx.meta, fresh, opt.Root))
	placed.release()
	if err == nil {
		s.stack, err = descend(s.tx.meta)
	}
	if err == nil && s.replicated && s.stack.Forked() { // a copy of it alone could not be read
		s.tuning, s.replicated = defaults, false
	}
	if err == nil {
		err = s.stack.Overlay(s.tx.meta)
	}
	if err != nil {
		return err
	}
	if placed == nil {
		tellPlaced()
	}
	s.readers = newConnPool(runtime.GOMAXPROCS(0)+stretchesAhead, func() (*conn, error) { return s.stack.Overlaid(s.connectReader) })
	if err := s.tx.start(); err != nil {
		return err
	}
	if err := placed.check(s.path); err != nil {
		return err
	}
	if _, err := s.tx.meta.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, false); err != nil {
		return err
	}
	s.writer = &writer{store: s, bases: map[string]int64{}, trees: map[Tree]int64{}, there: map[string]bool{}, pageSize: int(s.pageSize), maintained: true, newLog: placed.madeLog()}
	if err := s.noteOther(left, written); err != nil {
		return err
	}
	go s.write()
	return nil
}

// prepareFile sets the file's modes, creates or migrates its tables, and reaps what the last
// session could not: the content of files that were deleted while they were open.
func (s *Store) prepareFile(w *conn, fresh bool, root Attr) error {
	// An empty one was being made by a process that was killed.
	app, version, err := admit(w.Conn)
	if err != nil && !errors.Is(err, database.ErrEmpty) {
		return err
	}
	_ = database.ForgetLeft(s.lockFile) // what is written from here on is art's, also if it is killed; else a session or a checkpoint is newer than it names
	if fresh {
		// No auto_vacuum: other tools' engines do not maintain the pointer map that comes with it
		// (https://sqlite.org/fileformat2.html, section 1.8), and leave a damaged file behind.
		if err := w.Exec(fmt.Sprintf("PRAGMA page_size=%d", database.PageSize)); err != nil {
			return err
		}
	}
	if err := s.setModes(w); err != nil {
		return err
	}
	if err := initSchema(w.Conn, app, version, root); err != nil {
		return err
	}
	if s.replicated {
		if err := identify(w); err != nil {
			return err
		}
	}
	orphans, err := database.QueryInt(w.Conn, "SELECT count(*) FROM art_orphan")
	if err != nil || orphans == 0 {
		return err
	}
	if err := w.Cause(reap(w)); !isFull(err) {
		return err
	}
	return nil // there may be room the next time
}

// reap deletes what is left of deleted files.
func reap(w *conn) (err error) {
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer database.End(w.Conn, &err)
	newest, err := newestCheckpoint(w)
	if err != nil {
		return err
	}
	for _, k := range []*database.Kept{database.KeptData, database.KeptXattr, database.KeptBirth, database.KeptSymlink} {
		const orphans = "ino IN (SELECT ino FROM art_orphan) AND ino NOT IN (SELECT ino FROM fs_inode)"
		if err := do(w, k.DeleteOwn(orphans), newest.ID, newest.maxIno); err != nil {
			return err
		}
		if err := w.Exec("DELETE FROM main." + k.Table + " WHERE " + orphans); err != nil {
			return err
		}
	}
	return w.Exec("DELETE FROM art_orphan")
}

// setModes prepares a connection for writing. NORMAL: a commit is ordered but not yet durable; the
// writer's sync makes it so.
func (s *Store) setModes(c *conn) error {
	return c.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=" + strconv.Itoa(s.logLimit))
}

func (s *Store) openReadOnly(at string) (err error) {
	open := func() (*conn, error) { return database.ConnectReadOnly(s.path, s.query) }
	if s.tx.meta, err = open(); err != nil {
		return err
	}
	app, version, err := admit(s.tx.meta.Conn)
	if err != nil {
		return err
	}
	s.tx.meta.Subst = substitutes(app, version) // the other connections read content only
	if s.stack, err = descend(s.tx.meta); err == nil && at != "" {
		err = s.tx.showAt(at)
	}
	if err == nil {
		err = s.stack.Overlay(s.tx.meta)
	}
	if err != nil {
		return err
	}
	s.readers = newConnPool(runtime.GOMAXPROCS(0), func() (*conn, error) { return s.stack.Overlaid(open) })
	s.tx.version, err = database.PragmaInt(s.tx.meta.Conn, "data_version")
	if err != nil {
		return err
	}
	s.tx.looked = time.Now()
	close(s.stopped)
	return s.tx.start()
}

// start reads what every tree needs in memory.
func (tx *Tx) start() (err error) {
	if tx.chunkSize, err = database.ReadChunkSize(tx.meta.Conn); err != nil {
		return err
	}
	tx.pool.size = int(tx.chunkSize)
	if tx.pageSize, err = database.PragmaInt(tx.meta.Conn, "page_size"); err != nil {
		return err
	}
	if !tx.readOnly {
		top, err := tx.highestIno(tx.meta, true)
		if err != nil {
			return err
		}
		logged, err := highestLogged(tx.meta)
		if err != nil {
			return err
		}
		tx.nextIno = max(top, logged) + 1
		tx.session = session{started: Now(), firstIno: tx.nextIno}
		if err := tx.processes.start(tx.meta); err != nil {
			return err
		}
		if tx.session.checkpoints, err = queryNumber(tx.meta, "SELECT ifnull(max(id), 0) FROM art_checkpoint"); err != nil {
			return err
		}
	}
	tx.root = &Inode{Ino: RootIno, loaded: &nothing}
	if err := tx.load(tx.root); errors.Is(err, ErrNotExist) {
		return fmt.Errorf("%w: the root directory is not there", ErrCorrupt)
	} else if err != nil {
		return err
	}
	if !tx.root.Attr.IsDir() {
		return fmt.Errorf("%w: the root is no directory", ErrCorrupt)
	}
	tx.root.refs = 1
	tx.live[RootIno] = tx.root
	return nil
}

// highestIno is the highest inode number that a row mentions, be it one that another tool of the format has left behind when
// it deleted the inode; and ever, the highest that a checkpoint knows, which is not to come back either.
func (f *fixed) highestIno(c *conn, ever bool) (Ino, error) {
	var tops []string
	for _, c := range []string{
		"fs_inode.ino", "fs_data.ino", "fs_symlink.ino", "fs_origin.delta_ino", "art_origin.ino", "art_whiteout.parent_ino", "art_xattr.ino", "art_birth.ino",
	} {
		table, column, _ := strings.Cut(c, ".")
		// The first column of an index: no table is scanned.
		tops = append(tops, fmt.Sprintf("ifnull((SELECT max(%[1]s) FROM main.%[2]s WHERE %[1]s<%[3]d), 0)", column, table, MaxIno))
	}
	top, err := queryNumber(c, "SELECT max("+strings.Join(tops, ", ")+")")
	if err == nil && ever {
		var then int64
		then, err = queryNumber(c, "SELECT max_ino FROM art_checkpoint WHERE max_ino<? ORDER BY id DESC LIMIT 1", MaxIno)
		top = max(top, then)
	}
	if f.stack.Forked() {
		top = max(top, f.stack.Parents[0].MaxIno)
	}
	return max(RootIno, Ino(top)), err
}

// highestLogged is the highest inode number that the log of processes knows, which is of what it was: it does not come back as another one's.
func highestLogged(c *conn) (Ino, error) {
	there, err := database.Has(c.Conn, "art_change")
	if err != nil || !there {
		return 0, err
	}
	top, err := queryNumber(c, "SELECT ifnull(max(ino), 0) FROM main.art_change WHERE ino<?", MaxIno)
	return Ino(max(top, 0)), err
}

// connectWriter opens a connection that writes, which a session that only reads never needs.
func (s *Store) connectWriter() (*conn, error) {
	c, err := database.Connect(s.path, sqlite3.OPEN_READWRITE, s.query)
	if err != nil {
		return nil, err
	}
	if err = s.setModes(c); err != nil {
		err = c.Cause(err)
		c.Close()
		return nil, err
	}
	return c, nil
}

func (s *Store) connectReader() (*conn, error) {
	return database.Connect(s.path, sqlite3.OPEN_READONLY, s.query)
}

// Discard is [Store.Close]; if Open made the database and nothing was written to it since, it also
// removes it: a run that came to nothing leaves nothing behind.
func (s *Store) Discard() error {
	unused := s.fresh && !s.Changed()
	err := s.Close()
	if unused {
		database.RemoveFiles(s.path)
	}
	return err
}

// Changed tells whether anything of the tree was changed since the store was opened.
func (s *Store) Changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tx.changed || s.tx.gather.changes()
}

func (s *Store) closeReaders() (err error) {
	s.ahead.loading.Wait() // on these connections
	if s.readers != nil {
		s.readers.close()
		s.readers = nil
	}
	if s.tx.meta != nil {
		err = s.tx.meta.Close()
		s.tx.meta = nil
	}
	return err
}

func (s *Store) shut() {
	s.closeReaders()
	if s.scratch != nil {
		s.scratch.Close()
	}
	if s.lockFile != nil {
		s.lockFile.Close()
	}
}
