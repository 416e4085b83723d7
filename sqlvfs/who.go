package sqlvfs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// Who has changed what, read from the log: the processes of sessions, and what each has done to which inode. A fork has a log of its own,
// and before that its parent's, until the checkpoint that it is of. Another program may have written all of it: what cannot be is left out,
// and what is read is bounded.

const (
	maxProcessesRead = 200_000  // of each database
	maxArgvRead      = 64 << 20 // bytes of command lines; of those beyond it, the beginning is read
	shortArgv        = 256      // bytes of that
	maxChangesRead   = 100_000  // of an inode
	layerShift       = 48       // processes of a parent have its number from here on
)

// Change is what a process has done to an inode, or to a name of one, in the time from one checkpoint to the next.
type Change struct {
	Ino         Ino   // 0: a file of the host that had no row
	Process     int64 // see [Process].ID
	After       int64 // the newest checkpoint then, in the same database's numbers; 0: there was none
	Layer       int   // in whose log it is: 0 is the database's own, 1 that of the one that it is a fork of, and so on
	What        What
	Dir         Ino // with Named and Removed, of the name; else 0
	Name        string
	First, Last Timespec
}

// Processes returns the processes of a session, or of all sessions if that is 0, as they have begun. Those of a fork's parents come first,
// until they were forked from; a session is one of the database itself.
func (m *Moment) Processes(session int64) (list []Process, err error) {
	budget := maxArgvRead
	err = m.logs("art_process", func(l *log) error {
		if session != 0 && l.layer != 0 {
			return nil
		}
		where, args := "(?=0 OR session=?)", []any{session, session}
		if l.layer > 0 {
			where += " AND (started, started_nsec)<=(SELECT made, made_nsec FROM " + l.schema + ".art_checkpoint WHERE id=?)"
			args = append(args, l.until)
		}
		of, err := m.processes(l, &budget, where, args...)
		list = append(of, list...)
		return err
	})
	return list, err
}

// Process returns the process with a number; nil: none is known.
func (m *Moment) Process(id int64) (p *Process, err error) {
	budget := maxArgvRead
	err = m.logs("art_process", func(l *log) error {
		if id>>layerShift != int64(l.layer) {
			return nil
		}
		list, err := m.processes(l, &budget, "id=?", id&MaxProcessID)
		if len(list) > 0 {
			p = &list[0]
		}
		return err
	})
	return p, err
}

// ChangesOf returns what processes have done to an inode until the moment, in the order in which they began to, and not what they have done to
// one that has had its number before. Of the host's files that had no row, which have the number 0, it returns all that were removed.
func (m *Moment) ChangesOf(ino Ino) (list []Change, err error) {
	born := map[Ino]int64{}
	if err := m.births(born, "i.ino=?", ino); err != nil {
		return nil, err
	}
	err = m.logs("art_change", func(l *log) error {
		return m.changes(l, func(c Change) {
			if !isOlder(c.Last, born, ino) {
				list = append(list, c)
			}
		}, "ino=? ORDER BY checkpoint DESC LIMIT ?", ino, int64(maxChangesRead))
	})
	slices.SortStableFunc(list, func(x, y Change) int {
		return cmp.Or(cmp.Compare(y.Layer, x.Layer), cmp.Compare(x.After, y.After), cmp.Compare(nanoseconds(x.First), nanoseconds(y.First)))
	})
	return list, err
}

// Changes calls see for what processes have done until the moment, in no order, and for all inodes. of chooses the processes; nil: all.
func (m *Moment) Changes(of func(process int64) bool, see func(Change)) error {
	return m.logs("art_change", func(l *log) error {
		return m.changes(l, func(c Change) {
			if of == nil || of(c.Process) {
				see(c)
			}
		}, "1")
	})
}

// log is that of a database: its own, or that of one below it.
type log struct {
	layer  int
	schema string
	until  int64 // what comes after this checkpoint is not shown; 0: all is
}

// logs calls see for the log of each database that has a table, the database itself first.
func (m *Moment) logs(table string, see func(*log) error) error {
	all := []log{{0, "main", 0}}
	for i, l := range m.s.stack.Layers {
		if i > 0 {
			all = append(all, log{})
		}
		all[i] = log{i, l.Schema, l.Checkpoint}
	}
	for i := range all {
		l := &all[i]
		there, err := queryNumber(m.s.tx.meta, "SELECT count(*) FROM "+l.schema+".sqlite_schema WHERE type='table' AND name=?", table)
		if err == nil && there > 0 {
			err = see(l)
		}
		if err != nil {
			return fmt.Errorf("log of processes: %w", err)
		}
	}
	return nil
}

func (m *Moment) processes(l *log, budget *int, where string, args ...any) (list []Process, err error) {
	number := func(id int64) int64 { // as callers know it
		if id <= 0 || id > MaxProcessID {
			return 0
		}
		return id | int64(l.layer)<<layerShift
	}
	text := func(column string) string { // what is too long for SQLite to take apart is not looked at
		return "iif(octet_length(" + column + ")<1000000, substr(CAST(" + column + " AS BLOB), 1, 4096), x'')"
	}
	err = m.s.tx.each("SELECT id, session, ifnull(parent, 0), ifnull(pid, 0), "+text("argv")+", cut, "+text("dir")+
		", started, started_nsec, ended, ended_nsec, exit_code FROM "+l.schema+".art_process WHERE "+where+" ORDER BY id LIMIT ?", func(q *sqlite3.Stmt) {
		p := Process{
			ID: number(q.ColumnInt64(0)), Layer: l.layer, Session: max(0, q.ColumnInt64(1)), Parent: number(q.ColumnInt64(2)), PID: int(q.ColumnInt64(3)),
			Cut: q.ColumnInt64(5) != 0, Dir: string(q.ColumnRawBlob(6)), Started: scanTime(q, 7),
		}
		argv := q.ColumnRawBlob(4)
		if *budget -= len(argv); *budget < 0 && len(argv) > shortArgv {
			argv, p.Cut = argv[:shortArgv], true
		}
		p.Argv = split(string(argv))
		if q.ColumnType(9) == sqlite3.INTEGER {
			ended := scanTime(q, 9)
			p.Ended = &ended
		}
		if code := q.ColumnInt64(11); q.ColumnType(11) == sqlite3.INTEGER && code >= 0 && code <= 255 {
			n := int(code)
			p.Code = &n
		}
		if p.Parent >= p.ID { // a process that has started another one has a lower number
			p.Parent = 0
		}
		if p.ID != 0 && p.PID >= 0 && inCalendar(p.Started) && (p.Ended == nil || inCalendar(*p.Ended)) {
			list = append(list, p)
		}
	}, append(args, int64(maxProcessesRead))...)
	return list, err
}

// inCalendar tells whether a time is in a year that RFC 3339 can say, from 1970 on.
func inCalendar(t Timespec) bool { return t.Valid() && t.Sec >= 0 && t.Sec <= 253402300799 }

func (m *Moment) changes(l *log, see func(Change), where string, args ...any) error {
	until := l.until
	if until == 0 {
		until = maxCheckpoint + 1
	}
	return m.s.tx.each("SELECT ino, checkpoint, process, parent_ino, substr(CAST(name AS BLOB), 1, 256), what, first, last FROM "+l.schema+
		".art_change WHERE checkpoint<? AND "+where, func(q *sqlite3.Stmt) {
		c := Change{
			Ino: Ino(q.ColumnInt64(0)), After: q.ColumnInt64(1), Process: q.ColumnInt64(2), Layer: l.layer, Dir: Ino(q.ColumnInt64(3)),
			Name: string(q.ColumnRawBlob(4)), What: What(q.ColumnInt64(5) & int64(allKinds)),
			First: fromNanoseconds(q.ColumnInt64(6)), Last: fromNanoseconds(q.ColumnInt64(7)),
		}
		ofName := c.Dir != 0
		if c.What&(Named|Removed) != 0 != ofName || ofName && (!c.Dir.valid() || !ValidName(c.Name)) || c.Ino != 0 && !c.Ino.valid() ||
			c.What == 0 || c.After < 0 || c.Process <= 0 || c.Process > MaxProcessID {
			return
		}
		c.Process |= int64(l.layer) << layerShift
		see(c)
	}, append([]any{until}, args...)...)
}

// fromNanoseconds is the moment so many nanoseconds after 1970.
func fromNanoseconds(n int64) Timespec {
	sec, nsec := n/1e9, n%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return Timespec{Sec: sec, Nsec: int32(nsec)}
}
