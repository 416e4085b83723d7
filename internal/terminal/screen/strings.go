package screen

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

const (
	maxTitle  = 512
	maxTitles = 10 // xterm's stack (MAX_SAVED_TITLES)
	maxURI    = 2083
)

// osc follows a string for the terminal (Operating System Command).
func (s *Screen) osc() {
	command, ok := s.parser.Text()
	if !ok {
		return
	}
	number, text, _ := bytes.Cut(command, []byte(";"))
	switch n := string(number); n {
	case "0", "2":
		s.title = clean(text)
	case "8":
		s.link(string(text))
	case "4", "10", "11", "12":
		s.colours.set(n, string(text))
	case "104", "110", "111", "112":
		s.colours.reset(n[1:], string(text))
	}
}

// clean returns text without what acts on a terminal.
func clean(text []byte) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(text), ""))
	return strings.ToValidUTF8(s[:min(len(s), maxTitle)], "")
}

// printable says whether s is of printable ASCII.
func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// link is OSC 8: what is written from here on is a link, until one to nowhere.
func (s *Screen) link(text string) {
	params, uri, found := strings.Cut(text, ";")
	if !found || len(uri) > maxURI || !printable(text) {
		params, uri = "", ""
	}
	if uri == "" || len(params) > 256 {
		params = ""
	}
	e := s.extras.value(s.cur.pen.extra)
	e.params, e.uri = params, uri
	s.cur.pen.extra = s.extra(e)
}

// window is XTWINOPS, of which the stack of titles is kept.
func (s *Screen) window(what, which int) {
	switch {
	case what == 18:
		s.reportSize()
	case which == 1: // the icon's
	case what == 22 && len(s.titles) < maxTitles:
		s.titles = append(s.titles, s.title)
	case what == 23 && len(s.titles) > 0:
		s.title = s.titles[len(s.titles)-1]
		s.titles = s.titles[:len(s.titles)-1]
	}
}

// palette are the colours that programs have changed, by the command that does: "11" or "4;n".
type palette map[string]string

func (p *palette) set(number, text string) {
	for text != "" {
		key, value := number, ""
		if number == "4" {
			var n string
			n, text, _ = strings.Cut(text, ";")
			i, err := strconv.ParseUint(n, 10, 8)
			if err != nil {
				return
			}
			key += ";" + strconv.Itoa(int(i))
		}
		value, text, _ = strings.Cut(text, ";")
		if value != "" && value != "?" && len(value) <= 64 && printable(value) {
			if *p == nil {
				*p = palette{}
			}
			(*p)[key] = value
		}
		if number != "4" {
			return // xterm takes more, for the numbers that follow
		}
	}
}

func (p *palette) reset(number, text string) {
	number = strings.TrimPrefix(number, "0")
	if number != "4" {
		delete(*p, number)
		return
	}
	for key := range *p {
		if n, found := strings.CutPrefix(key, "4;"); found && (text == "" || slices.Contains(strings.Split(text, ";"), n)) {
			delete(*p, key)
		}
	}
}
