package fsck

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// Repair makes a database sound that [Check] finds something in. It copies what can be read into a
// new file, mends the tree there, and once Check finds nothing in that, puts it in the place of the
// old one, which stays beside it under the name that is returned. No other process may have the
// database open. When Repair is cut off at any point, the file is the old one or the new one.
//
// report is told each finding and what was done about it. The name is "" when there was nothing to do.
func Repair(path string, report func(Finding)) (backup string, err error) {
	defer database.CatchOutOfMemory(&err)
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if _, err := database.Inspect(path, false, false); err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	held, err := lock.Take(path, nil)
	if err != nil {
		return "", err
	}
	defer held.Close()
	findings, err := Check(path)
	if err != nil || len(findings) == 0 {
		return "", err
	}
	for _, f := range findings {
		if !f.ofTree { // the others are found again in the copy
			f.Mended = "the tables were copied into a new file"
			report(f)
		}
	}
	n, err := database.MakeNew(path)
	if err != nil {
		return "", err
	}
	defer n.Discard()
	before, err := rebuild(path, n.Tmp, report)
	if err != nil {
		return "", database.Explain(err)
	}
	if left, err := Check(n.Tmp); err != nil {
		return "", err
	} else if len(left) > 0 {
		return "", fmt.Errorf("%w: it cannot be mended: inode %d %s", database.ErrCorrupt, left[0].Ino, left[0].Text)
	}
	return replace(n, held, before)
}

// ErrFork says that a database has a part of its tree alone, which cannot be mended without the rest.
var ErrFork = errors.New("it is a fork, which is mended by making a copy of it that is none")

// rebuild makes a sound database of a damaged one, and returns how the damaged file looked when it
// was closed. Nobody can look into that meanwhile.
func rebuild(path, tmp string, report func(Finding)) (before os.FileInfo, err error) {
	from, err := connectExclusive(path)
	if err != nil {
		return nil, err
	}
	closed := false
	defer func() {
		if !closed {
			from.Close()
		}
	}()
	app, err := database.PragmaInt(from.Conn, "application_id")
	if err != nil {
		return nil, err
	}
	to, err := database.Connect(tmp, sqlite3.OPEN_READWRITE, database.HostFiles)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	if err := to.Exec(fmt.Sprintf("PRAGMA page_size=%d; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536; PRAGMA temp_store=FILE; BEGIN", database.PageSize)); err != nil {
		return nil, err
	}
	s := &salvager{from: from, to: to, report: report, unreadable: map[string]bool{}, some: map[string]bool{}}
	if err := s.run(); err != nil {
		return nil, err
	}
	if err := mendAll(to, app, s.births, report); err != nil {
		return nil, err
	}
	if err := s.holes(); err != nil {
		return nil, err
	}
	if err := to.Exec("COMMIT; PRAGMA journal_mode=WAL"); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	// Now the log is copied into the file: what stays of it is one file.
	closed = true
	if err := from.Close(); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// mendAll mends the tree of a database that holds what was saved of another, which had art_birth or not.
func mendAll(to *conn, app int64, births bool, report func(Finding)) error {
	chunkSize, err := database.ReadChunkSize(to.Conn)
	if errors.Is(err, database.ErrCorrupt) {
		report(Finding{Text: err.Error(), Mended: "it is that of the longest chunk"})
		chunkSize, err = guessChunkSize(to)
	}
	if err != nil {
		return err
	}
	k := &checker{conn: to, chunkSize: chunkSize}
	if err := database.Functions(k.Conn, k.chunkSize); err != nil {
		return err
	}
	if err := k.standIns(); err != nil {
		return err
	}
	if err := (&repairer{checker: k}).mend(report); err != nil {
		return err
	}
	if !births {
		if err := to.Exec(database.UnknownBirths); err != nil {
			return err
		}
	}
	if app != database.ApplicationID {
		if err := database.AdoptWhiteouts(to.Conn); err != nil {
			return err
		}
	}
	return to.Exec(fmt.Sprintf("INSERT OR IGNORE INTO fs_config (key, value) VALUES ('schema_version', '%s'); PRAGMA application_id=%d; PRAGMA user_version=%d",
		database.FormatVersion, database.ApplicationID, database.SchemaVersion))
}

// guessChunkSize sets the size of chunks to that of the longest, which is the right one if any file
// has more than one.
func guessChunkSize(to *conn) (int64, error) {
	n, err := database.QueryInt(to.Conn, "SELECT max("+dataLength+") FROM fs_data c")
	if err != nil {
		return 0, err
	}
	if n < 512 || n > database.MaxChunkSize {
		n = database.DefaultChunkSize
	}
	return n, to.Exec(fmt.Sprintf("INSERT OR REPLACE INTO fs_config (key, value) VALUES ('chunk_size', '%d')", n))
}

// connectExclusive opens a damaged database for reading, and nobody else can. A schema that makes no
// sense in part is read as far as it does: nothing is written by it.
func connectExclusive(path string) (*conn, error) {
	c, err := database.Connect(path, sqlite3.OPEN_READWRITE, database.HostFiles)
	if err != nil {
		return nil, err
	}
	if _, err = c.Config(sqlite3.DBCONFIG_DEFENSIVE, false); err == nil {
		err = c.Exec("PRAGMA query_only=ON; PRAGMA writable_schema=ON; PRAGMA busy_timeout=3000; PRAGMA locking_mode=EXCLUSIVE")
	}
	if err == nil {
		_, err = database.QueryInt(c.Conn, "SELECT count(*) FROM sqlite_schema")
	}
	if err != nil {
		c.Close()
		if errors.Is(err, sqlite3.BUSY) {
			return nil, fmt.Errorf("%w: %v", database.ErrBeingRead, err)
		}
		return nil, err
	}
	return c, nil
}

// replace puts a new database in the place of an old one, which keeps another name.
func replace(n *database.NewFile, old *os.File, before os.FileInfo) (backup string, err error) {
	if err := keepOthersOut(old); err != nil {
		return "", err
	}
	now, err := old.Stat()
	if err != nil {
		return "", err
	}
	log, err := os.Stat(n.Path + "-wal")
	if !os.SameFile(now, before) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) || err == nil && log.Size() > 0 {
		return "", errors.New("another program has changed the database meanwhile")
	}
	// An empty log may be left of a reader. It must not be taken for the new file's.
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(n.Path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := os.Chmod(n.Tmp, now.Mode().Perm()); err != nil {
		return "", err
	}
	if st, ok := now.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(n.Tmp, int(st.Uid), int(st.Gid)) // only root can, and only root needs to
	}
	if backup, err = keepOld(n.Path, old); err != nil {
		return "", err
	}
	return backup, n.Place(true)
}

// keepOthersOut waits, a moment at most, until no process has the database open, and lets none open
// it until the file is closed. The bytes are those that SQLite locks
// (https://sqlite.org/lockingv3.html): a connection to a database with a log keeps a shared lock
// on them.
func keepOthersOut(f *os.File) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 0x40000000, Len: 512}
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
		switch {
		case err == nil:
			return nil
		case err != unix.EAGAIN && err != unix.EACCES:
			return fmt.Errorf("lock: %w", err)
		case time.Now().After(deadline):
			return database.ErrBeingRead
		}
	}
}

// keepOld gives the old file one more name beside its own: one that is not taken, or that a repair which was killed has given it.
// Where there are no hard links, it is copied.
func keepOld(path string, old *os.File) (string, error) {
	now, err := old.Stat()
	if err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		name := database.BeforeRepair(path, i)
		if other, err := os.Lstat(name); err == nil && os.SameFile(now, other) {
			return name, nil
		}
		err := os.Link(path, name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = copyFile(name, old)
		}
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

func copyFile(name string, old *os.File) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = io.Copy(f, io.NewSectionReader(old, 0, 1<<62)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}
