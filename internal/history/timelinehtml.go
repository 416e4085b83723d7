package history

import (
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed timeline.html
var timelinePage string

// page is what the page is made of.
type page struct {
	Name  string
	Parts []pagePart
	Quiet int
}

// pagePart is a session.
type pagePart struct {
	Heading string
	Rows    []pageRow
}

// pageRow is a command.
type pageRow struct {
	*ran
	Line, Took, Ending string
	Failed             bool
	Left, Width        float64 // when it ran, in percent of its session
	Touched, Reached   []string
}

// html writes the commands as one page, which needs nothing else and runs nothing.
func (t *timeline) html(out io.Writer) error {
	tmpl, err := template.New("timeline").Parse(timelinePage)
	if err != nil {
		return err
	}
	p := page{Name: t.opt.DB, Quiet: t.quiet}
	for i := 0; i < len(t.commands); {
		text, n := t.heading(t.commands[i]), i
		for n < len(t.commands) && t.heading(t.commands[n]) == text {
			n++
		}
		p.Parts = append(p.Parts, pagePart{text, t.rows(t.commands[i:n])})
		i = n
	}
	return tmpl.Execute(out, p)
}

func (t *timeline) rows(list []*ran) (rows []pageRow) {
	from, to := list[0].Started, list[0].Started
	for _, c := range list {
		for _, at := range []*time.Time{&c.Started, c.Ended} {
			if at != nil && at.After(to) {
				to = *at
			}
		}
	}
	all := max(to.Sub(from).Seconds(), 1e-9)
	for _, c := range list {
		r := pageRow{ran: c, Line: c.line(400), Took: c.took(), Ending: c.ending(), Failed: c.ExitCode != nil && *c.ExitCode != 0}
		end := to
		if c.Ended != nil {
			end = *c.Ended
		}
		r.Left = min(max(c.Started.Sub(from).Seconds()/all*100, 0), 100)
		r.Width = min(max(end.Sub(c.Started).Seconds()/all*100, 0.2), 100-r.Left)
		for _, f := range c.Files {
			r.Touched = append(r.Touched, f.text(true))
		}
		for _, n := range c.Network {
			r.Reached = append(r.Reached, n.text())
		}
		rows = append(rows, r)
	}
	return rows
}
