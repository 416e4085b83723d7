package sqlvfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

const (
	maxSessions = 1000    // that the log keeps
	maxCommand  = 4 << 10 // bytes of one command in it
	maxWhy      = 512     // bytes of why one ended
)

// endKey begins the keys of rows of fs_config that say why sessions ended; behind it comes the session's number.
const endKey = "art_end:"

// qSessions bounds what is read: another program may have written the table.
const qSessions = `SELECT id, pid, started, started_nsec, substr(CAST(command AS BLOB), 1, 8192), ended, ended_nsec, exit_code, made, changed, deleted,
	(SELECT substr(CAST(value AS BLOB), 1, 512) FROM fs_config WHERE key = 'art_end:' || id),
	(SELECT CAST(substr(value, 1, 20) AS INTEGER) FROM fs_config WHERE key = 'art_dropped:' || id)
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
	// Why is what ended it, where that was not its command alone and is known.
	Why string
	// Dropped is how many checkpoints it has dropped because there was no room.
	Dropped int64
}

// Sessions returns the log, the latest session first.
func (s *Store) Sessions() ([]Session, error) { return Query(s, (*Tx).sessions) }

func (tx *Tx) sessions() (list []Session, err error) {
	number := func(q *sqlite3.Stmt, i int) *int64 {
		if q.ColumnType(i) != sqlite3.INTEGER {
			return nil
		}
		n := q.ColumnInt64(i)
		return &n
	}
	err = tx.each(qSessions, func(q *sqlite3.Stmt) {
		e := Session{
			ID: q.ColumnInt64(0), PID: int(q.ColumnInt64(1)),
			Started:  scanTime(q, 2),
			Command:  split(string(q.ColumnRawBlob(4))),
			ExitCode: number(q, 7), Made: number(q, 8), Changed: number(q, 9), Deleted: number(q, 10),
			Why: string(q.ColumnRawBlob(11)), Dropped: max(0, q.ColumnInt64(12)),
		}
		if number(q, 5) != nil {
			ended := scanTime(q, 5)
			e.Ended = &ended
		}
		list = append(list, e)
	})
	return list, err
}

// session is what happened since a Store was opened.
type session struct {
	id       int64 // in the log; 0: it is not there
	started  Timespec
	firstIno Ino   // numbers from here on are of what it made
	deleted  int64 // names of the host's, and files of earlier sessions
	over     bool  // its end is in the log

	checkpoints int64 // the newest one when it began; those after it are its own
}

// BeginSession writes into the log that a session began when the Store was opened. It is committed at once, but
// survives a power cut only with what is committed later.
func (s *Store) BeginSession(pid int, command []string) error {
	return s.log(func(tx *Tx) error {
		err := do(tx.meta, "INSERT INTO art_session (pid, started, started_nsec, command) VALUES (?,?,?,?)",
			int64(pid), tx.session.started, []byte(join(command)))
		if err != nil {
			return err
		}
		tx.session.id = tx.meta.LastInsertRowID()
		if err := tx.processes.begin(tx.meta, tx.session.id); err != nil {
			return err
		}
		err = do(tx.meta, "UPDATE art_checkpoint SET session=? WHERE session IS NULL AND id>?", tx.session.id, tx.session.checkpoints)
		if err != nil {
			return err
		}
		tx.kickLater()
		if err := putDropped(tx.meta, tx.session.id, tx.dropped); err != nil {
			return err
		}
		if err := do(tx.meta, "DELETE FROM art_session WHERE id<=?", tx.session.id-maxSessions); err != nil {
			return err
		}
		for _, key := range []string{endKey, droppedKey} {
			// The end of the range is the text after all that begin with the key.
			after := strings.TrimSuffix(key, ":") + ";"
			err := do(tx.meta, "DELETE FROM fs_config WHERE key >= ?1 AND key < ?2 AND CAST(substr(key, length(?1)+1) AS INTEGER) <= ?3",
				key, after, tx.session.id-maxSessions)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EndSession writes into the log how the session ended that has begun; without an exit code if that is nil, and why, unless
// that is "". Changes so far are committed.
func (s *Store) EndSession(exitCode *int, why string) error {
	return s.log(func(tx *Tx) error {
		if tx.session.id == 0 {
			return nil
		}
		made, changed, err := tx.countFiles()
		if err != nil {
			return err
		}
		var code any
		if exitCode != nil {
			code = int64(*exitCode)
		}
		if why != "" {
			if err := tx.putWhy(tx.session.id, why); err != nil {
				return err
			}
		}
		tx.session.over = true
		return do(tx.meta, "UPDATE art_session SET ended=?, ended_nsec=?, made=?, changed=?, deleted=?, exit_code=? WHERE id=?",
			Now(), made, changed, tx.session.deleted, code, tx.session.id)
	})
}

// LoseSession writes into the log why a session ended that a process ran, if the latest of its sessions has no end.
func (s *Store) LoseSession(pid int, why string) error {
	return s.log(func(tx *Tx) error {
		id := int64(0)
		err := tx.each("SELECT id FROM art_session WHERE pid=? AND ended IS NULL ORDER BY id DESC LIMIT 1", func(q *sqlite3.Stmt) {
			id = q.ColumnInt64(0)
		}, int64(pid))
		if err != nil || id == 0 {
			return err
		}
		return tx.putWhy(id, why)
	})
}

// putWhy writes down what ended a session.
func (tx *Tx) putWhy(id int64, why string) error {
	return do(tx.meta, "INSERT OR REPLACE INTO fs_config (key, value) VALUES (?,?)",
		endKey+strconv.FormatInt(id, 10), strings.ToValidUTF8(why[:min(len(why), maxWhy)], "?"))
}

// log has a step change the log, when the writer has committed what there is and does not write.
func (s *Store) log(write func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readOnly {
		return ErrReadOnly
	}
	if !s.tx.gather.empty() {
		if _, ok := s.commitPending(); !ok {
			return fmt.Errorf("log of sessions: %w", s.tx.failed)
		}
	}
	s.acquireWriter()
	defer s.releaseWriter()
	if err := s.tx.meta.Cause(write(&s.tx)); err != nil {
		return fmt.Errorf("log of sessions: %w", err)
	}
	return nil
}

// countFiles counts what the session has made and changed, of what is there.
func (tx *Tx) countFiles() (made, changed int64, err error) {
	if tx.gather.seq == 1 {
		return 0, 0, nil // nothing was committed
	}
	err = tx.each(`SELECT ifnull(sum(ino>=?1 AND NOT EXISTS (SELECT 1 FROM art_origin o WHERE o.ino=i.ino)), 0), count(*)
		FROM fs_inode i WHERE mode & 61440 <> 16384 AND (ino>=?1 OR ctime>?2 OR ctime=?2 AND ctime_nsec>=?3)`, func(q *sqlite3.Stmt) {
		made = q.ColumnInt64(0)
		changed = q.ColumnInt64(1) - made
	}, tx.session.firstIno, tx.session.started)
	return made, changed, err
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
