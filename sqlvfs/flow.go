package sqlvfs

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	// MaxFlows bounds what is kept of all sessions' connections. The oldest go first.
	MaxFlows = 50_000
	// maxFlowText bounds each text of one, and maxFlowCommand its command line, in bytes.
	maxFlowText    = 512
	maxFlowCommand = 1 << 10
)

// qFlows bounds what is read: another program may have written the table. The latest come first.
const qFlows = `SELECT session, number, began, began_nsec, ended, ended_nsec, pid, substr(CAST(command AS BLOB), 1, 2048), substr(CAST(name AS BLOB), 1, 512),
	substr(CAST(address AS BLOB), 1, 512), port, substr(CAST(protocol AS BLOB), 1, 16), denied, substr(CAST(rule AS BLOB), 1, 512),
	substr(CAST(why AS BLOB), 1, 512), substr(CAST(allow AS BLOB), 1, 512), sent, received, times
	FROM main.art_flow ORDER BY id DESC LIMIT 50000`

// qFlowsOf counts the denials of each session.
const qFlowsOf = "SELECT session, ifnull(sum(times), 0) FROM main.art_flow WHERE denied = 1 GROUP BY session"

// Flow is a connection of a guest's to the network, or something that it was denied there.
type Flow struct {
	Session int64 // in the log; 0: unknown
	Number  int64 // of a flow in its session: one that is added again replaces what was known of it
	Began   Timespec
	Ended   *Timespec // nil while it is open, and for good where nobody was left to say
	PID     int       // where commands are learnt, of the command's process as [Process] has it; else, or where that is unknown, in the host's numbers; 0: unknown
	Command []string  // of that process, as it has said; nil: unknown
	// Name is what the guest has asked for, Address where that was on the host's side. Without a name it is the count of those that
	// are not here.
	Name, Address  string
	Port           int
	Protocol       string
	Denied         bool
	Rule           string // that allows it
	Why            string // it was denied, or failed
	Allow          string // the rule that would allow it
	Sent, Received int64
	Times          int64 // that the same came
}

// Logged tells whether a session is in the log that has begun since the store was opened.
func (s *Store) Logged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tx.session.id != 0
}

// AddFlows writes down what a guest has done on the network, in the session that has begun. It is committed when AddFlows returns, and
// survives a power cut with what is committed later.
func (s *Store) AddFlows(list []Flow) error {
	s.mu.Lock()
	id := s.tx.session.id
	s.mu.Unlock()
	return s.unsynced(func(w *writer) error {
		there, err := database.Has(w.Conn, "art_flow")
		if err == nil && !there {
			err = w.Exec(database.WhenNeeded["art_flow"])
		}
		for i := range list {
			if err == nil {
				err = w.putFlow(id, &list[i])
			}
		}
		if err == nil {
			// By their numbers, which grow by one: to count them would be to read them all.
			err = do(w.conn, "DELETE FROM main.art_flow WHERE id <= (SELECT max(id) FROM main.art_flow) - ?", int64(MaxFlows))
		}
		return err
	})
}

func (w *writer) putFlow(session int64, f *Flow) error {
	var ended, endedNsec, pid, command any
	if f.Ended != nil {
		ended, endedNsec = f.Ended.Sec, int64(f.Ended.Nsec)
	}
	if f.PID != 0 {
		pid = int64(f.PID)
	}
	if f.Command != nil {
		line := strings.Join(f.Command, "\x00") + "\x00"
		command = []byte(line[:min(len(line), maxFlowCommand)])
	}
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return strings.ToValidUTF8(s[:min(len(s), maxFlowText)], "?")
	}
	denied := int64(0)
	if f.Denied {
		denied = 1
	}
	return do(w.conn, `INSERT INTO main.art_flow (session, number, began, began_nsec, ended, ended_nsec, pid, command, name, address, port, protocol, denied,
		rule, why, allow, sent, received, times) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (session, number) DO UPDATE SET ended=excluded.ended, ended_nsec=excluded.ended_nsec, address=excluded.address, rule=excluded.rule,
		why=excluded.why, sent=excluded.sent, received=excluded.received, times=excluded.times, denied=excluded.denied, allow=excluded.allow`,
		session, f.Number, f.Began, ended, endedNsec, pid, command, text(f.Name), text(f.Address), int64(f.Port), text(f.Protocol), denied,
		text(f.Rule), text(f.Why), text(f.Allow), f.Sent, f.Received, f.Times)
}

// Flows returns what guests have done on the network, the latest first.
func (s *Store) Flows() ([]Flow, error) { return Query(s, (*Tx).flows) }

// Flows returns them, as [Store.Flows] does.
func (m *Moment) Flows() ([]Flow, error) { return m.s.tx.flows() }

// Denials returns how often each session's guest was denied something on the network, by the session's number.
func (s *Store) Denials() (map[int64]int64, error) {
	return Query(s, func(tx *Tx) (denials map[int64]int64, err error) {
		denials = map[int64]int64{}
		if there, err := database.Has(tx.meta.Conn, "art_flow"); err != nil || !there {
			return denials, err
		}
		err = tx.each(qFlowsOf, func(q *sqlite3.Stmt) { denials[q.ColumnInt64(0)] = q.ColumnInt64(1) })
		return denials, err
	})
}

func (tx *Tx) flows() (list []Flow, err error) {
	if there, err := database.Has(tx.meta.Conn, "art_flow"); err != nil || !there {
		return nil, err
	}
	err = tx.each(qFlows, func(q *sqlite3.Stmt) {
		text := func(i int) string { return string(q.ColumnRawBlob(i)) }
		f := Flow{
			Session: q.ColumnInt64(0), Number: q.ColumnInt64(1), Began: scanTime(q, 2), PID: int(q.ColumnInt64(6)), Command: split(text(7)),
			Name: text(8), Address: text(9), Port: int(q.ColumnInt64(10)), Protocol: text(11), Denied: q.ColumnInt64(12) == 1,
			Rule: text(13), Why: text(14), Allow: text(15), Sent: q.ColumnInt64(16), Received: q.ColumnInt64(17), Times: q.ColumnInt64(18),
		}
		if q.ColumnType(4) == sqlite3.INTEGER {
			ended := scanTime(q, 4)
			f.Ended = &ended
		}
		list = append(list, f)
	})
	return list, err
}

// thinFlows drops what is older than the history that is kept.
func (w *writer) thinFlows(k *Keep) error {
	there, err := database.Has(w.Conn, "art_flow")
	if err != nil || !there || k.For <= 0 {
		return err
	}
	before := Now().Sec - int64(k.For.Seconds())
	old, err := queryNumber(w.conn, "SELECT EXISTS (SELECT 1 FROM main.art_flow WHERE began < ?)", before)
	if err != nil || old == 0 {
		return err
	}
	err = w.transact(func() error { return do(w.conn, "DELETE FROM main.art_flow WHERE began < ?", before) })
	if err != nil {
		return fmt.Errorf("drop old connections: %w", w.Cause(err))
	}
	return nil
}
