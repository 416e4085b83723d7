package reconcile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/internal/reconcile/report"
)

// Colours of a terminal (console_codes(4)), as git has them.
const (
	bold, red, green, yellow, cyan, plain = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[m"
)

func (d *comparer) show() (err error) {
	end := func() {}
	if d.opt.Pager && (len(d.changes) > 0 || len(d.refLines()) > 0) {
		if end, err = d.report.Page(); err != nil {
			return err
		}
	}
	switch d.opt.Form {
	case Patch:
		err = d.showPatch()
	case Stat:
		err = d.showStat()
	case JSON:
		err = d.showJSON()
	default:
		d.showNames()
	}
	d.report.Flush()
	end()
	return err
}

// colour paints text, if the user can see it.
func (d *comparer) colour(with, text string) string {
	if !d.opt.Colour {
		return text
	}
	return with + text + plain
}

var letterColour = map[byte]string{'A': green, 'D': red, 'M': yellow, 'T': yellow, 'R': cyan}

func (d *comparer) showNames() {
	d.showRefs()
	for _, c := range d.changes {
		text := d.report.Name(c.slashed(c.path))
		if c.from != "" {
			text = d.report.Name(c.slashed(c.from)) + " -> " + text
		}
		d.report.Line("%s %s", d.colour(letterColour[c.letter], string(c.letter)), text+c.mark())
	}
}

// each calls show for each change that a patch has words for. A file that could not be read is
// reported.
func (d *comparer) each(show func(*patch.File)) error {
	for _, c := range d.changes {
		if err := d.interrupted(); err != nil {
			return err
		}
		if slices.Contains(strings.Split(c.path, "/"), ".git") {
			continue // git-apply(1) touches no git directory
		}
		f, ok, err := d.file(c)
		switch {
		case err != nil:
			if !brokenSource(err) {
				d.report.Fail(d.hostPath(c.path), err)
			} else {
				d.report.Note(d.hostPath(c.path), "not shown: "+c.now.conflict)
			}
		case f == nil && d.opt.Form == Patch:
			d.report.Note(d.hostPath(c.path), "not in the patch: it is too large")
		case f == nil:
			d.report.Line("Binary files a/%s and b/%s differ", d.report.Name(c.path), d.report.Name(c.path))
		case ok:
			for _, f := range f.Split() {
				show(f)
			}
		}
	}
	return nil
}

func (d *comparer) showPatch() error {
	return d.each(func(f *patch.File) {
		if f.OldName == f.NewName && f.OldMode == f.NewMode && bytes.Equal(f.Old, f.New) {
			d.report.Note(d.hostPath(f.NewName), "not in the patch: git has no words for its permissions and attributes")
			return
		}
		d.patchText(f.String())
	})
}

// patchText shows a patch, or a part of one.
func (d *comparer) patchText(text string) {
	if !d.opt.Colour && !d.opt.StdoutTerminal {
		d.report.Raw(text)
		return
	}
	head := true
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "@@") {
			head = false
		}
		line = quote.Text(strings.TrimSuffix(line, "\n"), d.strong(head))
		switch {
		case head:
			line = d.colour(bold, line)
		case strings.HasPrefix(line, "@@"):
			line = d.colour(cyan, line)
		case strings.HasPrefix(line, "+"):
			line = d.colour(green, line)
		case strings.HasPrefix(line, "-"):
			line = d.colour(red, line)
		}
		d.report.Raw(line + "\n")
	}
}

// strong marks what stands for a character that is not shown. SGR 22 ends no more than that: the colour of
// the line goes on.
func (d *comparer) strong(head bool) func(string) string {
	if !d.opt.Colour || head { // which is bold as a whole, and has its names quoted
		return nil
	}
	return func(s string) string { return bold + s + "\x1b[22m" }
}

func (d *comparer) showStat() error {
	type row struct {
		name           string
		added, removed int
		binary         string
	}
	var rows []row
	wide, most, added, removed := 0, 1, 0, 0
	err := d.each(func(f *patch.File) {
		r := row{name: d.report.Name(f.NewName)}
		if f.OldName != f.NewName {
			r.name = d.report.Name(f.OldName) + " => " + r.name
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
			d.report.Line(" %s | %s", name, r.binary)
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
			bars = " " + d.colour(green, strings.Repeat("+", scale(r.added))) + d.colour(red, strings.Repeat("-", scale(r.removed)))
		}
		d.report.Line(" %s | %d%s", name, r.added+r.removed, bars)
	}
	if len(rows) > 0 {
		d.report.Line(" %s changed, %s(+), %s(-)", report.Count(len(rows), "file"), report.Count(added, "insertion"), report.Count(removed, "deletion"))
	}
	return err
}

// jsonChange is a change as JSON has it. Names that are not UTF-8 are told byte by byte too.
type jsonChange struct {
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
}

func (d *comparer) showJSON() error {
	if err := d.showJSONRefs(); err != nil {
		return err
	}
	for _, c := range d.changes {
		o := jsonChange{Status: string(c.letter), Path: c.path, From: c.from}
		if !utf8.ValidString(c.path) {
			o.Bytes = []byte(c.path)
		}
		old := c.was
		if a := c.now; a != nil {
			o.NewMode, o.NewSize, o.Kind = fmt.Sprintf("%06o", a.attr.Mode), a.attr.Size, hostfs.KindName(a.attr.Mode)
			if a.there != 0 && old == nil {
				old = a
			}
		}
		if old != nil {
			o.OldMode, o.OldSize = fmt.Sprintf("%06o", old.host.Mode), old.host.Size
			if o.Kind == "" {
				o.Kind = hostfs.KindName(old.host.Mode)
			}
		}
		o.Conflict, o.Held, o.Why = c.conflict() != "", c.held() != "", cmp.Or(c.conflict(), c.held())
		if err := d.json(o); err != nil {
			return err
		}
	}
	return nil
}

func (d *comparer) json(o any) error {
	text, err := quote.JSON(o)
	if err == nil {
		d.report.Line("%s", text)
	}
	return err
}
