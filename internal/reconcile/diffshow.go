package reconcile

import (
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/internal/reconcile/show"
)

// Form is how differences are shown.
type Form = show.Form

// The forms of a list of differences.
const (
	Names = show.Names
	Patch = show.Patch
	Stat  = show.Stat
	JSON  = show.JSON
)

func (d *comparer) show() (err error) {
	end := func() {}
	if d.opt.Pager && (len(d.changes) > 0 || len(d.refLines()) > 0) {
		if end, err = d.report.Page(); err != nil {
			return err
		}
	}
	switch d.opt.Form {
	case Names:
		d.showRefs()
	case JSON:
		err = d.showJSONRefs()
	}
	if err == nil {
		err = d.printer().Print(d.shown())
	}
	d.report.Flush()
	end()
	return err
}

func (d *comparer) printer() *show.Printer {
	return &show.Printer{Report: d.report, Form: d.opt.Form, Colours: d.opt.Colour, Terminal: d.opt.StdoutTerminal, Interrupted: d.interrupted}
}

// shown are the changes as they are printed.
func (d *comparer) shown() (list []*show.Change) {
	for _, c := range d.changes {
		s := &show.Change{
			Letter: c.letter, Path: c.path, From: c.from, Dir: c.isDir(), Conflict: c.conflict(), Held: c.held(), Name: d.hostPath(c.path),
			File: func() (*patch.File, bool, error) { return d.file(c) },
			Failed: func(err error) {
				if brokenSource(err) {
					d.report.Note(d.hostPath(c.path), "not shown: "+c.now.conflict)
				} else {
					d.report.Fail(d.hostPath(c.path), err)
				}
			},
		}
		old := c.was
		if a := c.now; a != nil {
			s.New = &show.Side{Mode: a.attr.Mode, Size: a.attr.Size}
			if a.there != 0 && old == nil {
				old = a
			}
		}
		if old != nil {
			s.Old = &show.Side{Mode: old.host.Mode, Size: old.host.Size}
		}
		list = append(list, s)
	}
	return list
}
