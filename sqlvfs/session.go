package sqlvfs

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// sessionTable is the log of the sessions that had the database: the process that ran each, when it began and ended,
// the command with its arguments, each ended by a NUL, the exit code, and how many files it made, changed and
// deleted. What is NULL is unknown: a session that was killed has no end.
const sessionTable = `
CREATE TABLE art_session (
	id INTEGER PRIMARY KEY,
	pid INTEGER NOT NULL,
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

const (
	maxSessions = 1000    // that the log keeps
	maxCommand  = 4 << 10 // bytes of one command in it
)

// qSessions bounds what is read: another program may have written the table.
const qSessions = `SELECT id, pid, started, started_nsec, substr(CAST(command AS BLOB), 1, 8192), ended, ended_nsec, exit_code, made, changed, deleted
	FROM art_session ORDER BY id DESC LIMIT 1000`

// Session is an entry of the log of sessions.
type Session struct {
	ID      int64
	PID     int // of the process that ran it
	Started Timespec
	Command []string // as far as the log keeps it
	// Ended is nil while the session runs, and for good if it was killed.
	Ended *Timespec
	// ExitCode, and the numbers of files that it made, changed and deleted, are nil where they are not known.
	ExitCode, Made, Changed, Deleted *int64
}

// Sessions returns the log, the latest session first. Takes the Store's lock.
func (s *Store) Sessions() (list []Session, err error) {
	s.Lock()
	defer s.Unlock()
	q := s.meta.prep(qSessions)
	number := func(i int) *int64 {
		if q.ColumnType(i) != sqlite3.INTEGER {
			return nil
		}
		n := q.ColumnInt64(i)
		return &n
	}
	for q.Step() {
		e := Session{
			ID: q.ColumnInt64(0), PID: int(q.ColumnInt64(1)),
			Started:  Timespec{q.ColumnInt64(2), int32(q.ColumnInt64(3))},
			Command:  split(string(q.ColumnRawBlob(4))),
			ExitCode: number(7), Made: number(8), Changed: number(9), Deleted: number(10),
		}
		if at := number(5); at != nil {
			e.Ended = &Timespec{*at, int32(q.ColumnInt64(6))}
		}
		list = append(list, e)
	}
	return list, s.meta.done(q)
}

// session is what happened since a Store was opened.
type session struct {
	id       int64 // in the log; 0: it is not there
	started  Timespec
	firstIno Ino   // numbers from here on are of what it made
	deleted  int64 // names of the host's, and files of earlier sessions
}

// BeginSession writes into the log that a session began when the Store was opened. It is committed at once, but
// survives a power cut only with what is committed later. Takes the Store's lock.
func (s *Store) BeginSession(pid int, command []string) error {
	return s.log(func() error {
		q := s.meta.prep("INSERT INTO art_session (pid, started, started_nsec, command) VALUES (?,?,?,?)")
		q.BindInt64(1, int64(pid))
		q.BindInt64(2, s.session.started.Sec)
		q.BindInt64(3, int64(s.session.started.Nsec))
		q.BindBlob(4, []byte(join(command)))
		if err := s.meta.run(q); err != nil {
			return err
		}
		s.session.id = s.meta.LastInsertRowID()
		q = s.meta.prep("DELETE FROM art_session WHERE id<=?")
		q.BindInt64(1, s.session.id-maxSessions)
		return s.meta.run(q)
	})
}

// EndSession writes into the log how the session ended that has begun; without an exit code if that is nil. Changes so
// far are committed. Takes the Store's lock.
func (s *Store) EndSession(exitCode *int) error {
	return s.log(func() error {
		if s.session.id == 0 {
			return nil
		}
		made, changed, err := s.countFiles()
		if err != nil {
			return err
		}
		now := Now()
		q := s.meta.prep("UPDATE art_session SET ended=?, ended_nsec=?, made=?, changed=?, deleted=?, exit_code=? WHERE id=?")
		for i, v := range []int64{now.Sec, int64(now.Nsec), made, changed, s.session.deleted} {
			q.BindInt64(i+1, v)
		}
		if exitCode != nil {
			q.BindInt64(6, int64(*exitCode))
		} else {
			q.BindNull(6)
		}
		q.BindInt64(7, s.session.id)
		return s.meta.run(q)
	})
}

// log has write change the log, when the writer has committed what there is and does not write.
func (s *Store) log(write func() error) error {
	s.Lock()
	defer s.Unlock()
	if s.readOnly {
		return ErrReadOnly
	}
	if !s.gather.empty() {
		if _, ok := s.writer.turn(); !ok {
			return fmt.Errorf("log of sessions: %w", s.failed)
		}
	}
	s.writer.take()
	defer s.writer.give()
	if err := s.meta.cause(write()); err != nil {
		return fmt.Errorf("log of sessions: %w", err)
	}
	return nil
}

// countFiles counts what the session has made and changed, of what is there. The Store's lock must be held.
func (s *Store) countFiles() (made, changed int64, err error) {
	if s.gather.seq == 1 {
		return 0, 0, nil // nothing was committed
	}
	q := s.meta.prep(`SELECT ifnull(sum(ino>=?1 AND NOT EXISTS (SELECT 1 FROM art_origin o WHERE o.ino=i.ino)), 0), count(*)
		FROM fs_inode i WHERE mode & 61440 <> 16384 AND (ino>=?1 OR ctime>?2 OR ctime=?2 AND ctime_nsec>=?3)`)
	q.BindInt64(1, int64(s.session.firstIno))
	q.BindInt64(2, s.session.started.Sec)
	q.BindInt64(3, int64(s.session.started.Nsec))
	if q.Step() {
		made = q.ColumnInt64(0)
		changed = q.ColumnInt64(1) - made
	}
	return made, changed, s.meta.done(q)
}

// countDeleted counts what a batch deletes, before it is frozen. The Store's lock must be held.
func (s *Store) countDeleted(b *batch) {
	for k, there := range b.whiteouts {
		switch {
		case there && !k.dir.whiteout[k.name]:
			s.session.deleted++
		case !there:
			s.session.deleted = max(0, s.session.deleted-1)
		}
	}
	for in, row := range b.inodes {
		if row && in.stored && (in.dead || in.Attr.Nlink == 0) && in.Ino < s.session.firstIno && in.Origin == nil && !in.Attr.IsDir() {
			s.session.deleted++
		}
	}
}

// join returns a command as the log keeps it. What is too long is cut off.
func join(command []string) string {
	var b strings.Builder
	for _, arg := range command {
		room := maxCommand - b.Len() - 1
		if len(arg) > room {
			b.WriteString(arg[:max(room, 0)] + "\x00...\x00")
			break
		}
		b.WriteString(arg + "\x00")
	}
	return b.String()
}

// split is the reverse of join.
func split(command string) []string {
	if command == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(command, "\x00"), "\x00")
}
