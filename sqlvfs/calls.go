package sqlvfs

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// The Agent Filesystem format has a table of what an agent has called, tool_calls, one row each when it has ended. Of a session these are
// its command, and what that has started itself, which is what an agent does: a shell's own commands below that are in art_process alone.

const (
	// callName is the name of these rows: others may have rows of their own.
	callName = "art exec"
	// maxCalls bounds the rows of a session, and maxCallsOfAll those of all. The oldest go first.
	maxCalls, maxCallsOfAll = 1000, 10_000
)

// calls are the processes of the session of which there are to be rows, by their numbers.
type calls struct {
	first int64          // the session's first process; 0: not yet known
	pid   int            // its process id
	lead  map[int64]bool // what the first one has become by execve(2), and itself
	open  map[int64]*Process
	gone  map[int64]bool // of open, those that have become another one by execve(2), which is the same call
	able  bool           // the table is as the format has it
}

// note notes processes as they begin, in the order of their numbers. It may see one again.
func (c *calls) note(p *Process) {
	if c.first == 0 {
		c.first, c.pid, c.lead = p.ID, p.PID, map[int64]bool{}
		c.open, c.gone = map[int64]*Process{}, map[int64]bool{}
	}
	if p.ID == c.first || p.PID == c.pid && c.lead[p.Parent] && len(c.lead) < maxCalls {
		c.lead[p.ID] = true
	}
	was := c.open[p.Parent]
	again := was != nil && p.PID > 0 && was.PID == p.PID
	if (c.lead[p.ID] || c.lead[p.Parent] || again) && len(c.open) < maxCalls {
		c.open[p.ID] = p
		if again {
			c.gone[p.Parent] = true
		}
	}
}

const (
	qHasCalls = `SELECT count(*) FROM pragma_table_info('tool_calls', 'main') WHERE name IN
		('name', 'parameters', 'result', 'error', 'status', 'started_at', 'completed_at', 'duration_ms')`
	qPutCall = `INSERT INTO main.tool_calls (name, parameters, result, error, status, started_at, completed_at, duration_ms)
		VALUES (?,?,?,?,?,?,?,?)`
	qDropCalls = `DELETE FROM main.tool_calls WHERE name=?1 AND id<=(SELECT id FROM main.tool_calls WHERE name=?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
)

// putCalls writes down the calls that have ended.
func (w *writer) putCalls(b *batch) error {
	c := &w.calls
	began := sortedKeys(b.processes, cmp.Compare)
	for _, id := range began {
		known := c.first != 0
		if c.note(b.processes[id]); known {
			continue
		}
		n, err := queryNumber(w.conn, qHasCalls)
		if err != nil {
			return err
		}
		if c.able = n == 8; c.able {
			if err := do(w.conn, qDropCalls, callName, int64(maxCallsOfAll-maxCalls)); err != nil {
				return err
			}
		}
	}
	if !c.able {
		return nil
	}
	put := func(id int64, ended *Timespec, code *int) error {
		if p := c.open[id]; p != nil && ended != nil && !c.gone[id] {
			return w.putCall(p, *ended, code)
		}
		return nil
	}
	for _, id := range began {
		if _, again := b.ends[id]; again {
			continue
		}
		if err := put(id, b.processes[id].Ended, b.processes[id].Code); err != nil {
			return err
		}
	}
	for _, id := range sortedKeys(b.ends, cmp.Compare) {
		e := b.ends[id]
		if err := put(id, &e.at, e.code); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putCall(p *Process, ended Timespec, code *int) error {
	argv := make([]string, len(p.Argv))
	for i, arg := range p.Argv {
		argv[i] = strings.ToValidUTF8(arg, "\uFFFD")
	}
	what, err := json.Marshal(struct {
		Command []string `json:"command"`
		Cut     bool     `json:"cut,omitempty"`
		Dir     string   `json:"dir,omitempty"`
		Process int64    `json:"process"`
	}{argv, p.Cut, strings.ToValidUTF8(p.Dir, "\uFFFD"), p.ID})
	if err != nil {
		return err
	}
	var result, failed any
	status := "success"
	switch {
	case code == nil:
		failed, status = "it is not known how it has ended", "error"
	case *code != 0:
		failed, status = "exit code "+strconv.Itoa(*code), "error"
	default:
		result = `{"exit_code":0}`
	}
	return do(w.conn, qPutCall, callName, string(what), result, failed, status, p.Started.Sec, ended.Sec,
		max(0, (nanoseconds(ended)-nanoseconds(p.Started))/1e6))
}
