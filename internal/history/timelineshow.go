package history

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/report"
)

// shownPaths is how many paths of a command are shown to people, if not all are asked for.
const shownPaths = 8

// json prints an object for each command.
func (t *timeline) json(out io.Writer) error {
	for _, c := range t.commands {
		text, err := quote.JSON(c)
		if err == nil {
			_, err = fmt.Fprintln(out, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text prints the commands of each session below it, with what they have done below each.
func (t *timeline) text(out io.Writer) error {
	var b bytes.Buffer
	in := ""
	for _, c := range t.commands {
		if text := t.heading(c); text != in {
			in = text
			fmt.Fprintln(&b, text)
		}
		fmt.Fprintf(&b, "  %s  %7s  %8s  %s\n", c.Started.Local().Format("15:04:05"), c.took(), c.ending(), c.line(100))
		files := c.Files
		if !t.opt.All && len(files) > shownPaths {
			files = files[:shownPaths-1]
		}
		for _, f := range files {
			fmt.Fprintf(&b, "%31s%s\n", "", f.text(t.opt.Terminal))
		}
		if more := len(c.Files) - len(files); more > 0 {
			fmt.Fprintf(&b, "%31sand %d more\n", "", more)
		}
		for _, r := range c.Network {
			fmt.Fprintf(&b, "%31s%s\n", "", r.text())
		}
	}
	if t.quiet > 0 {
		fmt.Fprintf(&b, "%s changed nothing: --all shows them\n", report.Count(t.quiet, "other command"))
	}
	_, err := out.Write(b.Bytes())
	return err
}

// heading names the session of a command.
func (t *timeline) heading(c *ran) string {
	switch {
	case c.layer > 0:
		return "before it was forked"
	case c.Session == nil:
		return "of no session that is known"
	}
	s := t.session(*c.Session)
	if s == nil {
		return fmt.Sprintf("session %d", *c.Session)
	}
	return fmt.Sprintf("session %d  %s  %s", s.ID, s.Started.Time().Local().Format("2006-01-02 15:04"), quote.Command(s.Command, 80))
}

// line is the command, and what its turn is called.
func (c *ran) line(most int) string {
	text := quote.Command(c.Command, most)
	if len(c.Command) == 0 {
		text = "?"
	}
	if c.Cut && !strings.HasSuffix(text, "...") {
		text += " ..."
	}
	if c.Label != nil {
		text += "  (" + quote.Name(*c.Label, true) + ")"
	}
	return text
}

func (c *ran) took() string {
	if c.Ended == nil {
		return ""
	}
	switch d := c.Ended.Sub(c.Started); {
	case d < 0:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	default:
		return d.Round(time.Minute).String()
	}
}

func (c *ran) ending() string {
	switch {
	case c.ExitCode != nil:
		return fmt.Sprintf("exit %d", *c.ExitCode)
	case c.Ended != nil:
		return "ended"
	}
	return ""
}

// text is what was done to a path: "made, written lib/a.go".
func (f *touched) text(terminal bool) string {
	text := strings.Join(f.Changes, ", ") + " " + quote.Name(f.Path, terminal)
	if f.ByMapping {
		text += " (by mapping)"
	}
	return text
}

func (r *reached) text() string {
	did := "reached"
	if r.Denied {
		did = "denied"
	}
	text := did + " " + netrule.Shown(r.Name)
	if r.Port != 0 {
		text += fmt.Sprintf(":%d", r.Port)
	}
	if r.Times > 1 {
		text += fmt.Sprintf(" (%d times)", r.Times)
	}
	if r.Why != "" {
		text += ": " + quote.Name(r.Why, true)
	}
	return text
}
