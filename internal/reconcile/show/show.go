// Package show prints lists of differences: by name, as a patch, as counted lines, or for programs.
package show

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/internal/reconcile/report"
)

// Form is how differences are shown.
type Form int

// The forms of a list of differences.
const (
	Names Form = iota // a letter and a path
	Patch             // what git-apply(1) and patch(1) read
	Stat              // counted lines
	JSON              // an object a line
)

// Lines tells whether the form shows content of files.
func (f Form) Lines() bool { return f == Patch || f == Stat }

// Change is the difference at one path.
type Change struct {
	Letter   byte   // A, M, D, R or T
	Path     string // where it is now, or was
	From     string // where it was, if it was renamed
	Dir      bool
	Old, New *Side // nil: nothing was there, or is

	Conflict, Held string // why pull does not bring it by itself, or nothing
	Beside         bool   // it is not in the workspace: no patch has it

	// File reads both sides; ok is false for what a patch has no words for, and a nil file is one that is too large.
	File func() (f *patch.File, ok bool, err error)
	// Failed is told that File has failed.
	Failed func(error)
	Name   string // in messages
}

// Side is what is at a path on one side.
type Side struct {
	Mode uint32
	Size int64
}

// Colours of a terminal (console_codes(4)), as git has them.
const (
	bold, red, green, yellow, cyan, plain = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[m"
)

// The colours that others use.
const (
	Red  = red
	Cyan = cyan
)

// Printer prints differences.
type Printer struct {
	Report      *report.Reporter
	Form        Form
	Colours     bool
	Terminal    bool         // standard output is one
	Interrupted func() error // why to end early; nil: there is no reason
}

// Print prints a list in the printer's form.
func (p *Printer) Print(list []*Change) error {
	switch p.Form {
	case Patch:
		return p.patch(list)
	case Stat:
		return p.stat(list)
	case JSON:
		return p.objects(list)
	}
	p.names(list)
	return nil
}

// Colour paints text, if the user can see it.
func (p *Printer) Colour(with, text string) string {
	if !p.Colours {
		return text
	}
	return with + text + plain
}

var letterColour = map[byte]string{'A': green, 'D': red, 'M': yellow, 'T': yellow, 'R': cyan}

func (p *Printer) names(list []*Change) {
	for _, c := range list {
		text := p.Report.Name(c.Slashed(c.Path))
		if c.From != "" {
			text = p.Report.Name(c.Slashed(c.From)) + " -> " + text
		}
		p.Report.Line("%s %s", p.Colour(letterColour[c.Letter], string(c.Letter)), text+c.mark())
	}
}

// mark says in a list of changes why pull does not bring this one by itself.
func (c *Change) mark() string {
	switch {
	case c.Conflict != "":
		return " (conflict: " + c.Conflict + ")"
	case c.Held != "":
		return " (held: " + c.Held + ")"
	}
	return ""
}

// Slashed is a change's path as it is shown: a directory's ends in a slash.
func (c *Change) Slashed(path string) string {
	if c.Dir && !strings.HasSuffix(path, "/") {
		return path + "/"
	}
	return path
}

// each calls show for each change that a patch has words for.
func (p *Printer) each(list []*Change, show func(*Change, *patch.File)) error {
	for _, c := range list {
		if err := p.Interrupted(); err != nil {
			return err
		}
		if c.Beside || slices.Contains(strings.Split(c.Path, "/"), ".git") {
			continue // git-apply(1) touches no git directory
		}
		f, ok, err := c.File()
		switch {
		case err != nil:
			c.Failed(err)
		case f == nil && p.Form == Patch:
			p.Report.Note(c.Name, "not in the patch: it is too large")
		case f == nil:
			p.Report.Line("Binary files a/%s and b/%s differ", p.Report.Name(c.Path), p.Report.Name(c.Path))
		case ok:
			for _, f := range f.Split() {
				show(c, f)
			}
		}
	}
	return nil
}

func (p *Printer) patch(list []*Change) error {
	return p.each(list, func(c *Change, f *patch.File) {
		if f.OldName == f.NewName && f.OldMode == f.NewMode && bytes.Equal(f.Old, f.New) {
			p.Report.Note(c.Name, "not in the patch: git has no words for its permissions and attributes")
			return
		}
		p.PatchText(f.String())
	})
}

// PatchText shows a patch, or a part of one.
func (p *Printer) PatchText(text string) {
	if !p.Colours && !p.Terminal {
		p.Report.Raw(text)
		return
	}
	head := true
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "@@") {
			head = false
		}
		line = quote.Text(strings.TrimSuffix(line, "\n"), p.strong(head))
		switch {
		case head:
			line = p.Colour(bold, line)
		case strings.HasPrefix(line, "@@"):
			line = p.Colour(cyan, line)
		case strings.HasPrefix(line, "+"):
			line = p.Colour(green, line)
		case strings.HasPrefix(line, "-"):
			line = p.Colour(red, line)
		}
		p.Report.Raw(line + "\n")
	}
}

// strong marks what stands for a character that is not shown. SGR 22 ends no more than that: the colour of
// the line goes on.
func (p *Printer) strong(head bool) func(string) string {
	if !p.Colours || head { // which is bold as a whole, and has its names quoted
		return nil
	}
	return func(s string) string { return bold + s + "\x1b[22m" }
}

func (p *Printer) stat(list []*Change) error {
	type row struct {
		name           string
		added, removed int
		binary         string
	}
	var rows []row
	wide, most, added, removed := 0, 1, 0, 0
	err := p.each(list, func(_ *Change, f *patch.File) {
		r := row{name: p.Report.Name(f.NewName)}
		if f.OldName != f.NewName {
			r.name = p.Report.Name(f.OldName) + " => " + r.name
		}
		if f.Binary() {
			r.binary = fmt.Sprintf("Bin %d -> %d bytes", len(f.Old), len(f.New))
		}
		r.added, r.removed = f.Count()
		added, removed = added+r.added, removed+r.removed
		wide, most = max(wide, utf8.RuneCountInString(r.name)), max(most, r.added+r.removed)
		rows = append(rows, r)
	})
	const bar = 50 // columns, at most
	for _, r := range rows {
		name := r.name + strings.Repeat(" ", wide-utf8.RuneCountInString(r.name))
		if r.binary != "" {
			p.Report.Line(" %s | %s", name, r.binary)
			continue
		}
		scale := func(n int) int {
			if most <= bar || n == 0 {
				return n
			}
			return max(1, n*bar/most)
		}
		bars := ""
		if r.added+r.removed > 0 {
			bars = " " + p.Colour(green, strings.Repeat("+", scale(r.added))) + p.Colour(red, strings.Repeat("-", scale(r.removed)))
		}
		p.Report.Line(" %s | %d%s", name, r.added+r.removed, bars)
	}
	if len(rows) > 0 {
		p.Report.Line(" %s changed, %s(+), %s(-)", report.Count(len(rows), "file"), report.Count(added, "insertion"), report.Count(removed, "deletion"))
	}
	return err
}

// Object is a change as JSON has it. Names that are not UTF-8 are told byte by byte too.
type Object struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Bytes   []byte `json:"path_bytes,omitempty"`
	From    string `json:"from,omitempty"`
	Kind    string `json:"kind"`
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldSize int64  `json:"old_size"`
	NewSize int64  `json:"new_size"`
	// Pull does not bring it by itself: both sides changed it, or it needs the user's permission.
	Conflict bool   `json:"conflict,omitempty"`
	Held     bool   `json:"held,omitempty"`
	Why      string `json:"why,omitempty"`
	Beside   bool   `json:"beside,omitempty"` // its path is below the guest's home, and not in the workspace
}

func (p *Printer) objects(list []*Change) error {
	for _, c := range list {
		o := Object{Status: string(c.Letter), Path: c.Path, From: c.From, Conflict: c.Conflict != "", Held: c.Held != "", Why: c.Conflict, Beside: c.Beside}
		if o.Why == "" {
			o.Why = c.Held
		}
		if !utf8.ValidString(c.Path) {
			o.Bytes = []byte(c.Path)
		}
		if s := c.New; s != nil {
			o.NewMode, o.NewSize, o.Kind = fmt.Sprintf("%06o", s.Mode), s.Size, hostfs.KindName(s.Mode)
		}
		if s := c.Old; s != nil {
			o.OldMode, o.OldSize = fmt.Sprintf("%06o", s.Mode), s.Size
			if o.Kind == "" {
				o.Kind = hostfs.KindName(s.Mode)
			}
		}
		if err := p.JSON(o); err != nil {
			return err
		}
	}
	return nil
}

// JSON prints an object as a line.
func (p *Printer) JSON(o any) error {
	text, err := quote.JSON(o)
	if err == nil {
		p.Report.Line("%s", text)
	}
	return err
}
