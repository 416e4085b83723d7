package sqlvfs

import (
	"cmp"
	"math"
	"sync"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	// MaxProcessID is the highest number of a process in the log. None comes near it: only another program has written a higher one.
	MaxProcessID = 1<<48 - 1
	// maxProcessText bounds the arguments of a process together, and its directory, in bytes.
	maxProcessText = 4 << 10
	// maxQuiet bounds what is kept of a session's processes that have ended and changed nothing. The first to end go first.
	maxQuiet = 10_000
	// maxNewProcesses bounds those that wait for the disk.
	maxNewProcesses = 10_000
)

// Process is an execution of a program in the guest, from its execve(2) to its end or its next execve(2).
type Process struct {
	ID      int64    // grows with time; 0: unknown
	Session int64    // in the log of that database; 0: it is not there
	Layer   int      // in whose log it is, where it is read: see [Change]
	Parent  int64    // the process that has started it; 0: unknown
	PID     int      // in the guest's numbers; 0: unknown
	Argv    []string // as far as it is kept
	Cut     bool     // Argv or Dir is not all of it
	Dir     string   // its working directory, as the guest sees it, when it was started; "": unknown
	Started Timespec
	Ended   *Timespec // nil while it runs, and for good where nobody was left to say
	Code    *int      // its exit code, 128+n where signal n has ended it; nil: unknown
}

// processes are those that the database has not heard of yet, or not all. It has a lock of its own: who starts processes does not wait
// for steps.
type processes struct {
	mu    sync.Mutex
	begun bool               // GUARDED_BY(mu). Their session is in the log: without that, they are written only with changes
	first int64              // GUARDED_BY(mu). The number of the first one
	next  int64              // GUARDED_BY(mu). The number of the next one; 0: there can be none
	new   map[int64]*Process // GUARDED_BY(mu). That were added since the writer has last looked
	ends  map[int64]end      // GUARDED_BY(mu). Of others
}

type end struct {
	at   Timespec
	code *int
}

// AddProcess writes down that a process has started, with the next commit, and returns its number. It waits for nothing. p.ID and
// p.Session are not looked at: the session is the one that has begun. What is too long is cut.
func (s *Store) AddProcess(p Process) (id int64) {
	if s.readOnly || s.frozen {
		return 0
	}
	p.Argv, p.Cut = cutArgv(p.Argv, p.Cut)
	if len(p.Dir) > maxProcessText {
		p.Dir, p.Cut = p.Dir[:maxProcessText], true
	}
	l := &s.processes
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == 0 || l.next > MaxProcessID {
		return 0
	}
	p.ID = l.next
	if l.next++; p.Parent >= p.ID {
		p.Parent = 0
	}
	p.Code = exitCode(p.Code)
	if len(l.new) < maxNewProcesses {
		if len(l.new) == 0 && l.begun {
			s.tx.kickLater()
		}
		l.new[p.ID] = &p
	}
	return p.ID
}

// cutArgv cuts a command line down to what is kept of one. What it returns is a copy if it is shorter.
func cutArgv(argv []string, cut bool) ([]string, bool) {
	room := maxProcessText
	for i, arg := range argv {
		if room -= len(arg) + 1; room < 0 {
			short := append([]string(nil), argv[:i]...)
			if keep := len(arg) + room; keep > 0 {
				short = append(short, arg[:keep])
			}
			return short, true
		}
	}
	return argv, cut
}

// EndProcess writes down that a process has ended, and with what exit code; nil: nobody knows. It waits for nothing.
func (s *Store) EndProcess(id int64, at Timespec, code *int) {
	code = exitCode(code)
	l := &s.processes
	l.mu.Lock()
	defer l.mu.Unlock()
	switch p := l.new[id]; {
	case p != nil:
		p.Ended, p.Code = &at, code
	case id > 0 && id < l.next && len(l.ends) < maxNewProcesses:
		if len(l.ends) == 0 && l.begun {
			s.tx.kickLater()
		}
		l.ends[id] = end{at, code}
	}
}

// exitCode is a code that a process can have, or nil.
func exitCode(code *int) *int {
	if code == nil || *code < 0 || *code > 255 {
		return nil
	}
	return code
}

// waiting tells whether the writer has not taken all.
func (l *processes) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun && len(l.new)+len(l.ends) > 0
}

// take moves all into a batch.
func (l *processes) take(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.new)+len(l.ends) == 0 || !l.begun && !b.changes() && len(b.noted) == 0 {
		return
	}
	b.processes, b.ends = over(b.processes, l.new), over(b.ends, l.ends)
	l.new, l.ends = map[int64]*Process{}, map[int64]end{}
}

// start begins where the database ends.
func (l *processes) start(c *conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.new, l.ends, l.next, l.begun = map[int64]*Process{}, map[int64]end{}, 1, false
	there, err := database.Has(c.Conn, "art_process")
	if err == nil && there {
		l.next, err = queryNumber(c, "SELECT ifnull(max(id), 0)+1 FROM main.art_process WHERE id BETWEEN 0 AND ?", int64(MaxProcessID))
	}
	l.first = l.next
	return err
}

// begin says that the session is in the log, also of those that have been written already.
func (l *processes) begin(c *conn, session int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	there, err := database.Has(c.Conn, "art_process")
	if err == nil && there {
		err = do(c, "UPDATE main.art_process SET session=? WHERE session=0 AND id>=?", session, l.first)
	}
	l.begun = err == nil
	return err
}

// quiet are the processes of a session that have changed nothing, as far as is known: to be forgotten when they are too many.
type quiet struct {
	known map[int64]bool // true: it has ended
	ended []int64        // in this order; some have changed something since
}

const (
	qPutProcess = `INSERT INTO main.art_process (id, session, parent, pid, argv, cut, dir, started, started_nsec, ended, ended_nsec, exit_code)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET ended=excluded.ended, ended_nsec=excluded.ended_nsec, exit_code=excluded.exit_code`
	qEndProcess  = "UPDATE main.art_process SET ended=?, ended_nsec=?, exit_code=? WHERE id=?"
	qDropProcess = "DELETE FROM main.art_process WHERE id=?"
)

// putProcesses writes down which processes have started and ended.
func (w *writer) putProcesses(b *batch) error {
	if len(b.processes)+len(b.ends) == 0 {
		return nil
	}
	if err := w.needTable("art_process"); err != nil {
		return err
	}
	if w.quiet.known == nil {
		w.quiet.known = map[int64]bool{}
	}
	for _, id := range sortedKeys(b.processes, cmp.Compare) {
		if err := w.putProcess(b.session, b.processes[id]); err != nil {
			return err
		}
		if _, ok := w.quiet.known[id]; !ok {
			w.quiet.known[id] = false
		}
	}
	for id, e := range b.ends {
		if err := do(w.conn, qEndProcess, e.at, number(e.code), id); err != nil {
			return err
		}
	}
	return w.putCalls(b)
}

func (w *writer) putProcess(session int64, p *Process) error {
	var parent, pid, dir, ended, endedNsec any
	if p.Parent > 0 {
		parent = p.Parent
	}
	if p.PID > 0 && p.PID <= math.MaxInt32 {
		pid = int64(p.PID)
	}
	if p.Dir != "" {
		dir = []byte(p.Dir)
	}
	if p.Ended != nil {
		ended, endedNsec = p.Ended.Sec, int64(p.Ended.Nsec)
	}
	return do(w.conn, qPutProcess, p.ID, session, parent, pid, joinArgv(p.Argv), p.Cut, dir, p.Started, ended, endedNsec, number(p.Code))
}

// joinArgv is a command line as a row has it: each argument is ended by a NUL.
func joinArgv(argv []string) []byte {
	line := []byte{}
	for _, arg := range argv {
		line = append(append(line, arg...), 0)
	}
	return line
}

// number is an exit code as a row has it.
func number(code *int) any {
	if code == nil {
		return nil
	}
	return int64(*code)
}

// quieten drops processes that have ended and changed nothing, the first to end first, when a session has too many. What has been changed
// so far has been put.
func (w *writer) quieten(b *batch) error {
	q := &w.quiet
	note := func(id int64) {
		if ended, ok := q.known[id]; ok && !ended {
			q.known[id] = true
			q.ended = append(q.ended, id)
		}
	}
	for _, id := range sortedKeys(b.processes, cmp.Compare) {
		if b.processes[id].Ended != nil {
			note(id)
		}
	}
	for id := range b.ends {
		note(id)
	}
	for len(q.ended) > maxQuiet {
		id := q.ended[0]
		if q.ended = q.ended[1:]; !q.known[id] {
			continue
		}
		delete(q.known, id)
		if err := do(w.conn, qDropProcess, id); err != nil {
			return err
		}
	}
	return nil
}

// needTable makes a table of [database.WhenNeeded], if it is not there.
func (w *writer) needTable(name string) error {
	if w.there[name] {
		return nil
	}
	there, err := database.Has(w.Conn, name)
	if err == nil && !there {
		err = w.Exec(database.WhenNeeded[name])
	}
	if err == nil {
		w.there[name] = true
	}
	return err
}
