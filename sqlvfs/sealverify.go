package sqlvfs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Verified is what the seals say of the records.
type Verified struct {
	Seals       int      // that there are
	First, Last int64    // the first and the last session that has one
	Records     int      // that are as they were sealed
	Gone        int      // that were sealed, and are not there: history drops old ones
	Unsealed    []int64  // sessions without a seal, since the first that has one: each runs, or was killed
	Older       int      // sessions from before that
	Nobodys     int      // processes that are of no session: it was killed before it was in the log, or somebody has added them
	Differs     []string // what is not as it was sealed; at most maxDiffers of these are named
	More        int      // how many more there are
	Head        Hash     // of the last seal
	hashes      []Hash   // of all
	from, to    int64    // the numbers of the first and the last
}

// maxDiffers bounds what is named.
const maxDiffers = 100

// Sound tells whether all is as it was sealed.
func (v *Verified) Sound() bool { return len(v.Differs) == 0 }

// Has tells whether a hash is that of one of the seals: then what that and those before it have sealed is what it was when that was the
// last one.
func (v *Verified) Has(h Hash) bool { return slices.Contains(v.hashes, h) }

func (v *Verified) differ(format string, args ...any) {
	if len(v.Differs) < maxDiffers {
		v.Differs = append(v.Differs, fmt.Sprintf(format, args...))
	} else {
		v.More++
	}
}

const qSeals = `SELECT id, session, made, made_nsec, substr(CAST(previous AS BLOB), 1, 64), substr(CAST(digests AS BLOB), 1, ?),
	substr(CAST(digest AS BLOB), 1, 64), substr(CAST(hash AS BLOB), 1, 64) FROM main.art_seal ORDER BY id`

// Verify compares the records of the database, but not of what it is a fork of, with the seals.
func (m *Moment) Verify() (*Verified, error) {
	v := &Verified{}
	c := m.s.tx.meta
	err := v.verify(c)
	if err != nil {
		return nil, fmt.Errorf("verify the records: %w", c.Cause(err))
	}
	return v, nil
}

func (v *Verified) verify(c *conn) error {
	there, err := database.Has(c.Conn, "art_seal")
	if err != nil {
		return err
	}
	oldest, err := queryNumber(c, "SELECT ifnull(min(id), 0) FROM main.art_checkpoint")
	if err != nil {
		return err
	}
	newest, err := queryNumber(c, "SELECT ifnull(max(id), 0) FROM main.art_session")
	if err != nil {
		return err
	}
	l := limits{newest: newest, oldest: oldest}
	if l.changes, err = changesThinned(c); err != nil {
		return err
	}
	l.process, err = queryNumber(c, "SELECT ifnull((SELECT CAST(value AS INTEGER) FROM main.fs_config WHERE key=?), 0)", thinnedKey)
	if err != nil {
		return err
	}
	of := map[int64]bool{}
	if there {
		var before []byte
		var failed error
		q := bind(c.Prep(qSeals), int64(maxDigests))
		for c.Step(q) && failed == nil {
			s := seal{
				id: q.ColumnInt64(0), session: q.ColumnInt64(1), made: scanTime(q, 2),
				previous: bytes.Clone(q.ColumnRawBlob(4)), digest: bytes.Clone(q.ColumnRawBlob(6)), hash: bytes.Clone(q.ColumnRawBlob(7)),
			}
			if before == nil && s.id == 1 {
				before = make([]byte, sha256.Size)
			}
			list := v.link(&s, before, q)
			before = s.hash
			of[s.session] = true
			failed = v.compare(c, &s, list, &l)
		}
		if err := c.Done(q); failed == nil {
			failed = err
		}
		if failed != nil {
			return failed
		}
	}
	if v.from > 1 && v.to <= maxSeals {
		v.differ("the seals before that of session %d are gone", v.First)
	}
	if err := v.strays(c); err != nil {
		return err
	}
	q := c.Prep("SELECT id FROM main.art_session ORDER BY id LIMIT 10000")
	for c.Step(q) {
		switch id := q.ColumnInt64(0); {
		case of[id]:
		case v.Seals == 0 || id < v.First:
			v.Older++
		default:
			v.Unsealed = append(v.Unsealed, id)
		}
	}
	return c.Done(q)
}

// limits are up to where history has dropped records.
type limits struct {
	newest  int64 // the latest session: so many before it are in the log
	oldest  int64 // the oldest checkpoint, before which changes are dropped; 0: there is none
	changes bool  // recent changes, too, may have been dropped
	process int64 // the highest number of a process that was dropped
}

// changesThinned tells whether there are so many changes that recent ones may have been dropped, too.
func changesThinned(c *conn) (bool, error) {
	there, err := database.Has(c.Conn, "art_change")
	if err != nil || !there {
		return false, err
	}
	n, err := queryNumber(c, "SELECT count(*) FROM main.art_change")
	return n >= MaxChanges/2, err
}

// link looks whether a seal is what it was and follows the one before it, and returns its digests.
func (v *Verified) link(s *seal, before []byte, q *sqlite3.Stmt) []sealed {
	if v.Seals++; v.Seals == 1 {
		v.First, v.from = s.session, s.id
	}
	v.to = s.id
	digests := q.ColumnRawBlob(5)
	list, ok := parseSealed(digests)
	sum, hash := sha256.Sum256(digests), s.sum()
	switch {
	case !ok || !bytes.Equal(sum[:], s.digest) || !bytes.Equal(hash[:], s.hash):
		v.differ("the seal of session %d has been changed", s.session)
	case before != nil && !bytes.Equal(before, s.previous):
		v.differ("the seal of session %d does not follow the one before it", s.session)
	}
	v.Last, v.Head = s.session, hash
	v.hashes = append(v.hashes, hash)
	return list
}

// compare compares the records of a session with its seal.
func (v *Verified) compare(c *conn, s *seal, list []sealed, l *limits) error {
	type key struct{ kind, checkpoint uint64 }
	left, count := map[digest]int{}, map[key]int{}
	for i := range list {
		g := &list[i]
		for _, d := range g.digests {
			left[d]++
		}
		count[key{g.kind, g.checkpoint}] += len(g.digests)
	}
	numbers, others := map[digest]int64{}, 0 // of processes: those that are as they were, and how many are not
	err := records(c, s.session, func(kind, checkpoint uint64, id int64, d digest) {
		if kind == sealedProcess {
			numbers[d] = id
		}
		if left[d] == 0 {
			if kind == sealedProcess {
				others++
			}
			v.differ("%s %d of session %d is not as it was sealed", sealedKinds[kind].name, id, s.session)
			return
		}
		left[d]--
		count[key{kind, checkpoint}]--
		v.Records++
	})
	if err != nil {
		return err
	}
	if n := taken(list, numbers, l.process) - others; n > 0 {
		v.differ("%d processes of session %d are gone or not as they were sealed, which have not been dropped", n, s.session)
	}
	missing := 0
	for i := range list { // in their order
		k := key{list[i].kind, list[i].checkpoint}
		n := count[k]
		delete(count, k)
		switch {
		case n <= 0:
		case k.kind == sealedSession && s.session > l.newest-maxSessions:
			v.differ("session %d is not in the log as it was sealed", s.session)
		case k.kind == sealedChange && !l.changes && l.oldest > 0 && k.checkpoint >= uint64(l.oldest):
			missing += n
		default:
			v.Gone += n
		}
	}
	if missing > 0 {
		v.differ("%d changes of session %d are gone or not as they were sealed, which are too recent to have been dropped", missing, s.session)
	}
	return nil
}

// taken returns how many of the processes that were sealed are gone though their number is above the last that was dropped. They were sealed in
// the order of their numbers, and those that are there are known.
func taken(list []sealed, numbers map[digest]int64, dropped int64) (n int) {
	for i := range list {
		if list[i].kind != sealedProcess {
			continue
		}
		least := int64(0)
		for _, d := range list[i].digests {
			if id, there := numbers[d]; there {
				least = id
				continue
			}
			if least++; least > dropped {
				n++
			}
		}
	}
	return n
}

// strays looks for what no seal speaks of, and no session can have recorded.
func (v *Verified) strays(c *conn) error {
	if there, err := database.Has(c.Conn, "art_process"); err != nil || !there {
		return err
	}
	if err := v.misplaced(c); err != nil {
		return err
	}
	if there, err := database.Has(c.Conn, "art_change"); err != nil || !there {
		return err
	}
	// Processes are not dropped before their changes.
	n, err := queryNumber(c, "SELECT count(*) FROM main.art_change WHERE process NOT IN (SELECT id FROM main.art_process)")
	if err != nil {
		return err
	}
	if n > 0 {
		v.differ("%d changes are by processes that are not in the log", n)
	}
	// One session at a time writes, so what changed between two checkpoints of one is its own.
	n, err = queryNumber(c, `WITH within AS MATERIALIZED (
			SELECT id, session FROM (SELECT id, session, lead(session) OVER (ORDER BY id) AS next FROM main.art_checkpoint) WHERE session=next)
		SELECT count(*) FROM main.art_change a JOIN within w ON w.id=a.checkpoint JOIN main.art_process p ON p.id=a.process WHERE p.session<>w.session`)
	if err == nil && n > 0 {
		v.differ("%d changes are by processes of another session than the one that ran then", n)
	}
	return err
}

// misplaced looks for processes of no session, and for such as cannot be of the one that they are said to be of: both grow with time.
func (v *Verified) misplaced(c *conn) error {
	last, nobodys := int64(0), 0 // the session of those before, and how many of none have come since
	q := c.Prep(`SELECT p.id, p.session, p.session>(SELECT ifnull(max(id), 0) FROM main.art_session) FROM main.art_process p ORDER BY p.id`)
	for c.Step(q) {
		id, session := q.ColumnInt64(0), q.ColumnInt64(1)
		switch {
		case session <= 0:
			v.Nobodys++
			nobodys++
			continue
		case q.ColumnInt64(2) != 0:
			v.differ("process %d is of session %d, which is not in the log", id, session)
			continue
		case session < last:
			v.differ("process %d is of session %d, and came after those of session %d", id, session, last)
			continue
		case session == last && nobodys > 0:
			v.differ("%d processes before process %d are of no session, and ran in session %d", nobodys, id, session)
		}
		last, nobodys = session, 0
	}
	return c.Done(q)
}
