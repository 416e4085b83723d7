package history

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
)

// TimelineOptions say of what, and how it is shown.
type TimelineOptions struct {
	DB, Dir  string
	Session  int64  // 0: all
	Command  string // a pattern that command lines match, in which "*" is any text, or "": all
	All      bool   // also commands that have changed nothing, and all paths
	Stdout   io.Writer
	Stderr   io.Writer // gets a line if there is nothing to show
	Terminal bool      // Stdout is one
	JSON     bool
	HTML     bool
}

// ran is a command that ran in a session, as JSON has it.
type ran struct {
	Process  int64      `json:"process"`
	Parent   *int64     `json:"parent"`   // null: unknown
	Replaces *int64     `json:"replaces"` // the command that the process was before, which is its parent, too; null: it was none
	Session  *int64     `json:"session"`  // null: unknown, or of a database that this is a fork of
	PID      *int       `json:"pid"`
	Command  []string   `json:"command"`
	Cut      bool       `json:"cut"` // the command is longer than that
	Dir      *string    `json:"dir"` // as the guest sees it; null: unknown
	Started  time.Time  `json:"started"`
	Ended    *time.Time `json:"ended"` // null: it runs, or nobody was left to say
	ExitCode *int       `json:"exit_code"`
	Label    *string    `json:"label"` // of the first checkpoint after its beginning that has one, in its session
	Files    []touched  `json:"files"`
	Network  []reached  `json:"network"`

	layer int // see [sqlvfs.Process]
}

// touched is what a command has done to one path between two checkpoints.
type touched struct {
	Path      string    `json:"path"`
	Changes   []string  `json:"changes"`
	ByMapping bool      `json:"by_mapping"` // some of it by mapped pages: likely by this command
	There     bool      `json:"there"`      // it has that path now
	After     int64     `json:"after"`      // the checkpoint before; 0: there was none
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}

// reached is what a command has done on the network.
type reached struct {
	Name     string `json:"name"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	Denied   bool   `json:"denied"`
	Why      string `json:"why,omitempty"`
	Times    int64  `json:"times"`
	Sent     int64  `json:"sent"`
	Received int64  `json:"received"`
}

// kindsOfChange are how changes are called.
var kindsOfChange = []struct {
	what sqlvfs.What
	name string
}{{sqlvfs.Made, "made"}, {sqlvfs.Written, "written"}, {sqlvfs.Attributes, "attributes"}, {sqlvfs.Named, "named"}, {sqlvfs.Removed, "removed"}}

// Timeline shows the commands that ran in sessions, and what each has changed and reached, the earliest first.
func Timeline(ctx context.Context, o TimelineOptions) error {
	live.Settle(o.DB)
	m, err := sqlvfs.OpenMoment(o.DB, "")
	if err != nil {
		return fmt.Errorf("open database %s: %w", o.DB, Hinted(o.DB, err))
	}
	defer m.Close()
	t := &timeline{moment: m, opt: &o, comparer: comparer{ctx: ctx, from: m, to: m, opt: &DiffOptions{DB: o.DB, Dir: o.Dir}}}
	if err := t.findWorkspace(); err != nil {
		return err
	}
	if t.host != nil {
		t.host.Close()
	}
	if err := t.gather(); err != nil {
		return fmt.Errorf("read %s: %w", o.DB, err)
	}
	if len(t.commands) == 0 && t.quiet == 0 {
		fmt.Fprintln(o.Stderr, "art: no such command is known: they are learnt in sessions that run with --commands")
	}
	switch {
	case o.HTML:
		return t.html(o.Stdout)
	case o.JSON:
		return t.json(o.Stdout)
	}
	return t.text(o.Stdout)
}

// timeline is what there is to show.
type timeline struct {
	comparer
	opt         *TimelineOptions
	moment      *sqlvfs.Moment
	checkpoints []sqlvfs.Checkpoint // the newest first
	dropped     []sqlvfs.Checkpoint // that had labels
	sessions    []sqlvfs.Session    // the latest first
	commands    []*ran              // by when they began
	quiet       int                 // of those that match, how many are not in commands: they have changed nothing
}

func (t *timeline) gather() (err error) {
	if t.checkpoints, err = t.moment.Checkpoints(); err == nil {
		t.sessions, err = t.moment.Sessions()
	}
	if err == nil {
		t.dropped, err = t.moment.DroppedLabels()
	}
	var list []sqlvfs.Process
	if err == nil {
		list, err = t.moment.Processes(t.opt.Session)
	}
	if err != nil {
		return err
	}
	byID, pids := map[int64]*ran{}, map[int64]int{}
	for i := range list {
		p := &list[i]
		pids[p.ID] = p.PID
		replaces := p.PID != 0 && pids[p.Parent] == p.PID // no other has the number while the parent has it
		if matches(t.opt.Command, strings.Join(p.Argv, " ")) || replaces && byID[p.Parent] != nil {
			c := t.ran(p)
			if replaces {
				c.Replaces = &p.Parent
			}
			byID[p.ID] = c
			t.commands = append(t.commands, c)
		}
	}
	if err = t.addFiles(byID); err == nil {
		err = t.addFlows()
	}
	if !t.opt.All && t.opt.Command == "" {
		all := len(t.commands)
		t.commands = slices.DeleteFunc(t.commands, func(c *ran) bool { return len(c.Files)+len(c.Network) == 0 })
		t.quiet = all - len(t.commands)
	}
	return err
}

// ran is what is known of a process.
func (t *timeline) ran(p *sqlvfs.Process) *ran {
	c := &ran{Process: p.ID, Command: p.Argv, Cut: p.Cut, Started: p.Started.Time(), ExitCode: p.Code, Files: []touched{}, Network: []reached{}, layer: p.Layer}
	if p.Parent != 0 {
		c.Parent = &p.Parent
	}
	if p.PID != 0 {
		c.PID = &p.PID
	}
	if p.Dir != "" {
		c.Dir = &p.Dir
	}
	if p.Ended != nil {
		c.Ended = timeOf(*p.Ended)
	}
	if p.Layer == 0 && p.Session != 0 {
		c.Session = &p.Session
		c.Label = labelAfter(t.checkpoints, t.dropped, t.session(p.Session), p.Started)
	}
	return c
}

func (t *timeline) session(id int64) *sqlvfs.Session {
	if i := slices.IndexFunc(t.sessions, func(s sqlvfs.Session) bool { return s.ID == id }); i >= 0 {
		return &t.sessions[i]
	}
	return nil
}

// labelAfter returns what a turn of a session is called: the label of the first checkpoint in it that has one, after a moment. If that had another one
// in between which is not there any more, nobody knows.
func labelAfter(newestFirst, dropped []sqlvfs.Checkpoint, s *sqlvfs.Session, then sqlvfs.Timespec) *string {
	if s == nil {
		return nil
	}
	for i := range slices.Backward(newestFirst) {
		c := &newestFirst[i]
		switch {
		case then.After(c.Made):
		case c.Kind == sqlvfs.AtSession && c.Session == s.ID: // made by its first change, however late that has come
		case c.Kind == sqlvfs.AtSession, s.Ended != nil && c.Made.After(*s.Ended):
			return nil
		case c.Label != "" && slices.ContainsFunc(dropped, func(d sqlvfs.Checkpoint) bool { return !then.After(d.Made) && !d.Made.After(c.Made) }):
			return nil
		case c.Label != "":
			return &c.Label
		}
	}
	return nil
}

// addFiles adds what the commands have changed.
func (t *timeline) addFiles(byID map[int64]*ran) error {
	paths, err := t.moment.Paths()
	if err != nil {
		return err
	}
	err = t.moment.Changes(func(id int64) bool { return byID[id] != nil }, func(c sqlvfs.Change) {
		at, there := paths.PathOf(&c)
		f := touched{Changes: []string{}, There: there && c.What&sqlvfs.Removed == 0, After: c.After, First: c.First.Time(), Last: c.Last.Time(), ByMapping: c.What&sqlvfs.ByMapping != 0}
		if f.Path, _ = t.outer(strings.TrimPrefix(at, "/")); at == "" {
			f.Path = "?"
		}
		for _, k := range kindsOfChange {
			if c.What&k.what != 0 {
				f.Changes = append(f.Changes, k.name)
			}
		}
		p := byID[c.Process]
		p.Files = append(p.Files, f)
	})
	for _, c := range t.commands {
		c.Files = merged(c.Files)
	}
	return err
}

// merged makes one of what a command has done to one path between two checkpoints, in the order in which it began to. What is made has a name.
func merged(list []touched) []touched {
	type key struct {
		path  string
		after int64
	}
	at := map[key]*touched{}
	for i := range list {
		f := &list[i]
		k := key{f.Path, f.After}
		if m := at[k]; m != nil {
			m.Changes = append(m.Changes, f.Changes...)
			m.ByMapping, m.There = m.ByMapping || f.ByMapping, m.There || f.There
			if f.First.Before(m.First) {
				m.First = f.First
			}
			if f.Last.After(m.Last) {
				m.Last = f.Last
			}
			continue
		}
		at[k] = f
	}
	all := make([]touched, 0, len(at))
	for _, f := range at {
		did := f.Changes
		f.Changes = []string{}
		for _, k := range kindsOfChange {
			if slices.Contains(did, k.name) && (k.what != sqlvfs.Named || !slices.Contains(did, kindsOfChange[0].name)) {
				f.Changes = append(f.Changes, k.name)
			}
		}
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b touched) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Path, b.Path)) })
	return all
}

// addFlows adds what the commands have done on the network, which is known by the number of the process and the time.
func (t *timeline) addFlows() error {
	flows, err := t.moment.Flows()
	if err != nil {
		return err
	}
	type key struct {
		session int64
		pid     int
	}
	of := map[key][]*ran{}
	for _, c := range t.commands {
		if c.Session != nil && c.PID != nil {
			k := key{*c.Session, *c.PID}
			of[k] = append(of[k], c)
		}
	}
	for i := range slices.Backward(flows) {
		f := &flows[i]
		var by *ran
		for _, c := range of[key{f.Session, f.PID}] {
			if began := f.Began.Time(); !c.Started.After(began) { // it may have ended, and have left others
				by = c
			}
		}
		if by == nil || f.Name == "" && f.Address == "" {
			continue
		}
		by.Network = append(by.Network, reached{
			Name: cmp.Or(f.Name, f.Address), Port: f.Port, Protocol: f.Protocol, Denied: f.Denied, Why: f.Why, Times: f.Times, Sent: f.Sent, Received: f.Received,
		})
	}
	return nil
}

// matches tells whether a text is as a pattern says, in which "*" is any text. Without a pattern all are.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	first, rest, more := strings.Cut(pattern, "*")
	text, begins := strings.CutPrefix(text, first)
	if !begins || !more {
		return begins && text == ""
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
