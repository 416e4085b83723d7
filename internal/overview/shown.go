package overview

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	maxShown = 10 // paths that a status shows, of which a directory may be one
	manyIn   = 4  // from so many files on, a directory that has come or gone is one line
)

// shown is what a status shows of what is pending: in the order in which it comes, a directory before what is in it.
type shown struct {
	all    bool // each path has a line, however many there are
	lines  []*line
	within map[string]*line // directories that have come, gone or moved, by path, and repositories
	urgent int              // lines about what needs a decision
	more   int              // paths that have no line
}

// line stands for a difference; or for a directory and for the files that have come or gone with it, or for a repository and its
// references, if they are many.
type line struct {
	difference
	of    string       // what it gathers; "" is nothing
	first []difference // some of them
	n     int          // how many they are
}

func (s *shown) add(d difference) {
	needed := d.Conflict || d.Held
	switch {
	case s.all:
		s.lines = append(s.lines, &line{difference: d})
	case needed:
		s.urgent++
		s.lines = append(s.lines, &line{difference: d})
	case s.gathers(d):
	case d.Kind == "directory" && strings.Contains("ADR", d.Status):
		s.begin(d, "file")
	case d.Kind == "reference":
		s.begin(d, "reference")
		s.gathers(d)
	default:
		s.lines = append(s.lines, &line{difference: d})
	}
	s.trim()
}

// begin has a line gather what comes after it.
func (s *shown) begin(d difference, of string) {
	if s.within == nil {
		s.within = map[string]*line{}
	}
	l := &line{difference: d, of: of}
	s.within[d.Path] = l
	s.lines = append(s.lines, l)
}

// gathers reports whether a line that is there stands for a difference too.
func (s *shown) gathers(d difference) bool {
	for at := d.Path; at != "." && at != "/"; at = path.Dir(at) {
		l := s.within[at]
		if l == nil || (l.of == "reference") != (d.Kind == "reference") || l.of == "file" && l.Status != d.Status {
			continue
		}
		if d.Kind != "directory" {
			if l.n++; len(l.first) < manyIn {
				l.first = append(l.first, d)
			}
		}
		return true
	}
	return false
}

// trim leaves no more lines than are shown, and first of all those that need no decision.
func (s *shown) trim() {
	for !s.all && len(s.lines) > maxShown {
		last := len(s.lines) - 1
		if s.urgent <= maxShown {
			for s.lines[last].Conflict || s.lines[last].Held {
				last--
			}
		} else {
			s.urgent--
		}
		gone := s.lines[last]
		if gone.of == "" {
			s.more++
		} else { // what comes of it after this will be more
			s.more += gone.n
			delete(s.within, gone.Path)
		}
		s.lines = slices.Delete(s.lines, last, last+1)
	}
}

// text returns the lines.
func (s *shown) text(o *Options) (list []string) {
	for _, l := range s.lines {
		switch {
		case l.of == "" || l.n == 0:
			list = append(list, l.difference.text(o))
		case l.n < manyIn:
			for _, d := range l.first {
				list = append(list, d.text(o))
			}
		case l.of == "reference":
			list = append(list, fmt.Sprintf("M %s: %d references", o.name(l.Path), l.n))
		default:
			list = append(list, fmt.Sprintf("%s: %d files", l.difference.text(o), l.n))
		}
	}
	return list
}

// text is a difference for people.
func (d *difference) text(o *Options) string {
	at := d.Path
	if d.Bytes != nil {
		at = string(d.Bytes)
	}
	slash := ""
	if d.Kind == "directory" && d.Path != "." {
		slash = "/"
	}
	text := d.Status + " " + o.name(at+slash)
	if d.From != "" {
		text = d.Status + " " + o.name(d.From+slash) + " -> " + o.name(at+slash)
	}
	switch {
	case d.Why != "":
		text += ": " + d.Why
	case d.Ref != "":
		text += ": " + o.name(strings.TrimPrefix(d.Ref, "refs/heads/"))
		if n := len(d.Commits); n == 1 {
			text += ", 1 commit"
		} else if n > 1 {
			text += fmt.Sprintf(", %d commits", n)
		}
	case d.Other != "":
		text += ": " + o.name(d.Other)
	}
	return text
}
