package database

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Left is how a writer has left a database: an extended attribute of the file says so, which is not there while one writes it, nor after
// one that was killed. It tells later whether another program has written the file since. In the file there is no such thing: in WAL mode
// its change counter stays as it is (https://sqlite.org/fileformat2.html, section 1.3.4), and what we would write there ourselves a copy
// has too. A copy is another file, and has no attribute or one that names another inode.
type Left struct {
	Session, Checkpoint int64 // the newest ones, by which a database that was put in the place of this one shows itself

	ino   uint64
	mtime int64 // in nanoseconds since 1970
	size  int64
	sum   int64 // CRC-32C of the content; -1: the file was too long for that
}

const (
	leftName = "user.art.left"
	leftForm = "1 %d %d %d %d %d %d" // its first number is of the form itself

	// mostSummed bounds the files whose content is summed up, which takes 0.2 ms for each MiB. Of longer ones, a copy that was written into
	// the file itself, without its time, is taken for what another program has changed.
	mostSummed = 8 << 20
)

// ReadLeft returns how a writer has left a database, or nil if that is not known, and whether the file has been written since. f is the
// database, which no writer of ours has open.
func ReadLeft(f *os.File, path string) (left *Left, written bool) {
	text := make([]byte, 200)
	n, err := unix.Fgetxattr(int(f.Fd()), leftName, text)
	if err != nil {
		return nil, false
	}
	left = &Left{}
	if _, err := fmt.Sscanf(string(text[:n]), leftForm, &left.ino, &left.mtime, &left.size, &left.Session, &left.Checkpoint, &left.sum); err != nil {
		return nil, false
	}
	now, err := statLeft(f)
	if err != nil || now.ino != left.ino {
		return nil, false
	}
	if hasLog(path) {
		return left, true // there was none when the writer left
	}
	if now.mtime == left.mtime && now.size == left.size {
		return left, false
	}
	return left, left.sum < 0 || now.size != left.size || sumLeft(f, now.size) != left.sum
}

// Leave writes down how a writer leaves a database that is closed. before, if not nil, is how it was found. Where the file system has no
// attributes, or a reader has had the log stay, nothing is known later.
func (l *Left) Leave(f *os.File, path string, before *Left) error {
	if hasLog(path) {
		return nil
	}
	now, err := statLeft(f)
	if err != nil {
		return err
	}
	l.ino, l.mtime, l.size = now.ino, now.mtime, now.size
	if before != nil && before.mtime == l.mtime && before.size == l.size {
		l.sum = before.sum
	} else {
		l.sum = sumLeft(f, l.size)
	}
	return l.PutBack(f)
}

// PutBack writes down again what ReadLeft has found.
func (l *Left) PutBack(f *os.File) error {
	text := fmt.Sprintf(leftForm, l.ino, l.mtime, l.size, l.Session, l.Checkpoint, l.sum)
	return unix.Fsetxattr(int(f.Fd()), leftName, []byte(text), 0)
}

// History returns the newest checkpoint of a database that was written since, whose rows may have changed without history knowing. It is 0
// if there is none, or if the database is another state of the tree, with the history of that.
func (l *Left) History(c *Conn) (upTo int64, err error) {
	session, checkpoint, err := NewestIDs(c)
	if err != nil || session != l.Session || checkpoint != l.Checkpoint {
		return 0, err
	}
	return checkpoint, nil
}

// NewestIDs are the numbers of the newest session and the newest checkpoint.
func NewestIDs(c *Conn) (session, checkpoint int64, err error) {
	q := c.Prep("SELECT (SELECT max(id) FROM art_session), (SELECT max(id) FROM art_checkpoint)")
	if c.Step(q) {
		session, checkpoint = q.ColumnInt64(0), q.ColumnInt64(1)
	}
	return session, checkpoint, c.Done(q)
}

// ForgetLeft is for who is about to write the database.
func ForgetLeft(f *os.File) error {
	err := unix.Fremovexattr(int(f.Fd()), leftName)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// hasLog tells whether a database has a log with something in it. An engine that only reads may leave its header.
func hasLog(path string) bool {
	const header = 32 // https://sqlite.org/fileformat2.html, section 4.1
	log, err := os.Lstat(path + "-wal")
	return err == nil && log.Size() > header
}

func statLeft(f *os.File) (l Left, err error) {
	st, err := f.Stat()
	if err == nil {
		l.ino, l.mtime, l.size = st.Sys().(*syscall.Stat_t).Ino, st.ModTime().UnixNano(), st.Size()
	}
	return l, err
}

// sumLeft sums up the content of a file, or returns -1.
func sumLeft(f *os.File, size int64) int64 {
	if size > mostSummed {
		return -1
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.CopyBuffer(sum, io.NewSectionReader(f, 0, size), make([]byte, 256<<10))
	if err != nil || n != size {
		return -1
	}
	return int64(sum.Sum32())
}
