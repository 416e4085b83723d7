package sqlvfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A session's end seals what it has recorded: a row of art_seal has a digest of each record, and a hash of these and of the seal before it.
// What is changed or added later, or taken away where nothing else would, no longer fits; and a seal that is changed no longer fits those
// after it. There is a digest for each record because old ones are dropped one by one (thinLog, thin): what remains can still be verified.

// The kinds of records.
const (
	sealedSession = iota + 1
	sealedProcess
	sealedChange
	sealedCheckpoint
)

const (
	digestSize = 16 // bytes of a SHA-256, of each record
	// maxSeals bounds the seals that are kept, of which the oldest go first.
	maxSeals = 10_000
	// maxDigests bounds what one has of digests, in bytes: more changes than are kept.
	maxDigests = 64 << 20
)

// Hash is that of a seal.
type Hash [sha256.Size]byte

type digest [digestSize]byte

// sealed are the digests of one kind of records, of changes those after one checkpoint, in their order.
type sealed struct {
	kind       uint64
	checkpoint uint64
	digests    []digest
}

// sealedKinds are what is sealed of a session, by the kind: the table that it is in, what it is in words, and the query for its records. All
// columns count but a checkpoint's label and kind, which may change.
var sealedKinds = [...]struct{ table, name, query string }{
	sealedSession: {"art_session", "session", `SELECT id, pid, started, started_nsec, command, ended, ended_nsec, exit_code, made, changed, deleted,
		(SELECT value FROM main.fs_config WHERE key='art_end:' || id) FROM main.art_session WHERE id=?`},
	sealedProcess: {"art_process", "process", `SELECT id, session, parent, pid, argv, cut, dir, started, started_nsec, ended, ended_nsec, exit_code
		FROM main.art_process WHERE session=? ORDER BY id`},
	sealedChange: {"art_change", "a change by process", `SELECT checkpoint, ino, process, parent_ino, name, what, first, last FROM main.art_change
		WHERE process IN (SELECT id FROM main.art_process WHERE session=?) ORDER BY checkpoint`},
	sealedCheckpoint: {"art_checkpoint", "checkpoint", `SELECT id, made, made_nsec, session, max_ino, restored, redo FROM main.art_checkpoint
		WHERE session=? ORDER BY id`},
}

// records calls see for the digest of each record of a session, and, of a change, the checkpoint after which it was.
func records(c *conn, session int64, see func(kind, checkpoint uint64, id int64, d digest)) error {
	for kind := sealedSession; kind < len(sealedKinds); kind++ {
		there, err := database.Has(c.Conn, sealedKinds[kind].table)
		if err == nil && there && kind == sealedChange {
			there, err = database.Has(c.Conn, "art_process")
		}
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		var row []byte
		q := bind(c.Prep(sealedKinds[kind].query), session)
		for c.Step(q) {
			row = appendRecord(append(row[:0], byte(kind)), q)
			sum := sha256.Sum256(row)
			after, id := uint64(0), q.ColumnInt64(0)
			if kind == sealedChange {
				after, id = uint64(id), q.ColumnInt64(2)
			}
			see(uint64(kind), after, id, digest(sum[:digestSize]))
		}
		if err := c.Done(q); err != nil {
			return err
		}
	}
	return nil
}

// appendRecord appends a row in the form that is hashed: of each column a letter, and its length and bytes, or its number.
func appendRecord(to []byte, q *sqlite3.Stmt) []byte {
	for i := range q.ColumnCount() {
		switch q.ColumnType(i) {
		case sqlite3.NULL:
			to = append(to, 'n')
		case sqlite3.INTEGER:
			to = binary.BigEndian.AppendUint64(append(to, 'i'), uint64(q.ColumnInt64(i)))
		default: // a number with a fraction is none of ours
			text := q.ColumnRawBlob(i)
			to = append(binary.BigEndian.AppendUint64(append(to, 'b'), uint64(len(text))), text...)
		}
	}
	return to
}

// appendSealed appends digests as art_seal has them: the kind, the checkpoint, how many, and these.
func appendSealed(to []byte, s *sealed) []byte {
	to = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(to, s.kind), s.checkpoint), uint64(len(s.digests)))
	for i := range s.digests {
		to = append(to, s.digests[i][:]...)
	}
	return to
}

// parseSealed is the reverse; ok is false of what nobody has sealed.
func parseSealed(data []byte) (list []sealed, ok bool) {
	for len(data) > 0 {
		var n [3]uint64
		for i := range n {
			size := 0
			if n[i], size = binary.Uvarint(data); size <= 0 {
				return nil, false
			}
			data = data[size:]
		}
		if n[2] > uint64(len(data)/digestSize) {
			return nil, false
		}
		s := sealed{kind: n[0], checkpoint: n[1]}
		for part := range slices.Chunk(data[:n[2]*digestSize], digestSize) {
			s.digests = append(s.digests, digest(part))
		}
		data = data[n[2]*digestSize:]
		list = append(list, s)
	}
	return list, true
}

// seal is a row of art_seal.
type seal struct {
	id, session int64
	made        Timespec
	previous    []byte
	digest      []byte // of the digests
	hash        []byte
}

// sum is the hash that a seal has to have.
func (s *seal) sum() Hash {
	to := append([]byte("art seal 1\n"), s.previous...)
	for _, n := range []int64{s.id, s.session, s.made.Sec, int64(s.made.Nsec)} {
		to = binary.BigEndian.AppendUint64(to, uint64(n))
	}
	return sha256.Sum256(append(to, s.digest...))
}

const qNewestSeal = "SELECT id, hash FROM main.art_seal ORDER BY id DESC LIMIT 1"

// putSeal seals what a session has recorded, which has ended.
func putSeal(c *conn, session int64) (err error) {
	there, err := database.Has(c.Conn, "art_seal")
	if err != nil {
		return err
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer database.End(c.Conn, &err)
	if !there {
		if err := c.Exec(database.WhenNeeded["art_seal"]); err != nil {
			return err
		}
	}
	s := seal{id: 1, session: session, made: Now(), previous: make([]byte, sha256.Size)}
	q := c.Prep(qNewestSeal)
	if c.Step(q) {
		s.id, s.previous = q.ColumnInt64(0)+1, bytes.Clone(q.ColumnRawBlob(1))
	}
	if err := c.Done(q); err != nil {
		return err
	}
	var list []sealed
	err = records(c, session, func(kind, checkpoint uint64, _ int64, d digest) {
		n := len(list)
		if n == 0 || list[n-1].kind != kind || list[n-1].checkpoint != checkpoint {
			list = append(list, sealed{kind: kind, checkpoint: checkpoint})
			n++
		}
		list[n-1].digests = append(list[n-1].digests, d)
	})
	if err != nil {
		return err
	}
	digests := []byte{}
	for i := range list {
		digests = appendSealed(digests, &list[i])
	}
	sum := sha256.Sum256(digests)
	s.digest = sum[:]
	hash := s.sum()
	err = do(c, "INSERT INTO main.art_seal (id, session, made, made_nsec, previous, digests, digest, hash) VALUES (?,?,?,?,?,?,?,?)",
		s.id, s.session, s.made, s.previous, digests, s.digest, hash[:])
	if err == nil {
		err = do(c, "DELETE FROM main.art_seal WHERE id<=?", s.id-maxSeals)
	}
	return err
}

// sealSession seals the session, once its end is in the log and nothing of it is still to come. Without a seal the session is as one
// that was killed.
func (w *writer) sealSession() error {
	session := w.store.tx.session
	if session.id == 0 || !session.over {
		return nil
	}
	if w.conn == nil {
		return putSeal(w.store.tx.meta, session.id) // nothing was written but the log
	}
	w.wrote = true
	return putSeal(w.conn, session.id)
}
