package overview

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
)

// session is an entry of the log as JSON has it.
type session struct {
	Started  *time.Time `json:"started"`
	Ended    *time.Time `json:"ended"` // null: it runs, or was killed
	Seconds  *float64   `json:"seconds"`
	Running  bool       `json:"running"`
	PID      int        `json:"pid"`
	Command  []string   `json:"command"`
	ExitCode *int64     `json:"exit_code"`
	Made     *int64     `json:"made"`
	Changed  *int64     `json:"changed"`
	Deleted  *int64     `json:"deleted"`
	Why      string     `json:"why,omitempty"`     // what ended it, if not its command alone
	Denied   int64      `json:"denied,omitempty"`  // how often its guest was denied something on the network
	Dropped  int64      `json:"dropped,omitempty"` // checkpoints that it has dropped because there was no room

	elsewhere bool // it is of a copy, whose session may still run
}

// Log shows the sessions and the checkpoints of a database, the latest first.
func Log(database string, o Options) error {
	list, err := sessions(database, o.Spans)
	if err != nil {
		return err
	}
	checkpoints, err := checkpoints(database)
	if err != nil {
		return err
	}
	if o.Spans != nil {
		checkpoints = slices.DeleteFunc(checkpoints, func(c history.Record) bool {
			return !slices.ContainsFunc(*o.Spans, func(s history.Span) bool {
				return c.Checkpoint == s.From.ID || s.To != nil && c.Checkpoint == s.To.ID
			})
		})
	}
	// show shows the checkpoints of a session, or of what came after it: what it has found is made with its first change, but is what was
	// there before.
	show := func(s *session, found bool) error {
		for len(checkpoints) > 0 && !s.isAfter(&checkpoints[0]) && (checkpoints[0].Kind == string(sqlvfs.AtSession)) == found {
			if err := o.checkpoint(&checkpoints[0]); err != nil {
				return err
			}
			checkpoints = checkpoints[1:]
		}
		return nil
	}
	for _, s := range list {
		if err := show(&s, false); err != nil {
			return err
		}
		if o.JSON {
			err = o.object(s)
		} else {
			err = o.line("%s  %-7s  %-9s  %-32s  %s", s.when(), s.took(), s.ending(), s.did(), command(s.Command))
			if s.Why != "" {
				err = errors.Join(err, o.line("%18s%s", "", s.Why))
			}
			if s.Denied > 0 {
				err = errors.Join(err, o.line("%18s%s", "", fmt.Sprintf("network: denied %s: art net --denied", report.Count(int(s.Denied), "time"))))
			}
			if s.Dropped > 0 {
				err = errors.Join(err, o.line("%18s%s", "", control.Dropped(uint64(s.Dropped))))
			}
		}
		if err = errors.Join(err, show(&s, true)); err != nil {
			return err
		}
	}
	for i := range checkpoints {
		if err := o.checkpoint(&checkpoints[i]); err != nil {
			return err
		}
	}
	return nil
}

// isAfter tells whether a session began after a checkpoint was made.
func (s *session) isAfter(c *history.Record) bool {
	return s.Started != nil && c.Made != nil && s.Started.After(*c.Made)
}

func (o *Options) checkpoint(c *history.Record) error {
	if o.JSON {
		return o.object(c)
	}
	when := "?               "
	if c.Made != nil {
		when = c.Made.Local().Format("2006-01-02 15:04")
	}
	label := ""
	if c.Label != nil {
		label = cli.Printable(*c.Label)
	}
	what := c.Why()
	if c.Files != nil && *c.Files+*c.Bytes > 0 {
		what += fmt.Sprintf(" (%s, %s)", report.Count(int(*c.Files), "file"), cli.Bytes(*c.Bytes))
	}
	return o.line("%s", strings.TrimRight(fmt.Sprintf("%s  checkpoint %-6d  %-32s  %s", when, c.Checkpoint, what, label), " "))
}

// checkpoints returns the checkpoints of a database, the latest first.
func checkpoints(database string) ([]history.Record, error) {
	s, err := openDatabase(database)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	list, err := s.Checkpoints()
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints of %s: %w", database, err)
	}
	amounts, err := s.Amounts(list)
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints of %s: %w", database, err)
	}
	var records []history.Record
	for i := range list {
		r := history.NewRecord(&list[i])
		if a := amounts[i]; a != nil {
			r.Files, r.Bytes = &a.Files, &a.Bytes
		}
		records = append(records, r)
	}
	return records, nil
}

// sessions returns the sessions of a database that ran in one of some spans, or all with nil, the latest first.
func sessions(database string, spans *[]history.Span) ([]session, error) {
	s, err := openDatabase(database)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	list, err := s.Sessions()
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", database, err)
	}
	denials, err := s.Denials()
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", database, err)
	}
	_, open, err := sqlvfs.Writer(database)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", database, err)
	}
	ran := map[int64]bool{}
	if spans != nil {
		for _, s := range *spans {
			for _, e := range s.Ran(list) {
				ran[e.ID] = true
			}
		}
	}
	out := make([]session, 0, len(list))
	for i, e := range list {
		if spans != nil && !ran[e.ID] {
			continue
		}
		x := session{
			Started: moment(&e.Started), Ended: moment(e.Ended), PID: e.PID, Command: e.Command, ExitCode: e.ExitCode,
			Made: e.Made, Changed: e.Changed, Deleted: e.Deleted, Why: cli.Printable(e.Why), Dropped: e.Dropped, Denied: denials[e.ID],
			Running: open && i == 0 && e.Ended == nil, elsewhere: sqlvfs.IsRemote(database) && i == 0 && e.Ended == nil,
		}
		if x.Command == nil {
			x.Command = []string{}
		}
		if x.Started != nil && x.Ended != nil {
			seconds := x.Ended.Sub(*x.Started).Round(time.Millisecond).Seconds()
			x.Seconds = &seconds
		}
		out = append(out, x)
	}
	return out, nil
}

func (s *session) when() string {
	if s.Started == nil {
		return "?               "
	}
	return s.Started.Local().Format("2006-01-02 15:04")
}

func (s *session) took() string {
	switch {
	case s.Running && s.Started != nil:
		return took(time.Since(*s.Started))
	case s.Seconds == nil:
		return "?"
	}
	return took(s.Ended.Sub(*s.Started))
}

func (s *session) ending() string {
	switch {
	case s.Running:
		return "running"
	case s.elsewhere:
		return "?"
	case s.ExitCode == nil: // nobody was left to say one
		return "killed"
	}
	return fmt.Sprintf("exit %d", *s.ExitCode)
}

// did says in short what the session changed.
func (s *session) did() string {
	var parts []string
	for _, of := range []struct {
		n    *int64
		what string
	}{{s.Made, "made"}, {s.Changed, "changed"}, {s.Deleted, "deleted"}} {
		if of.n != nil && *of.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", *of.n, of.what))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ", ")
}
