package held

import (
	"slices"
	"strings"
)

// harmless are attributes that name no program (gitattributes(5), and those of well-known tools). Any
// other may be a macro, which stands for several.
var harmless = map[string]bool{"text": true, "eol": true, "crlf": true, "ident": true, "whitespace": true, "export-ignore": true, "export-subst": true,
	"delta": true, "encoding": true, "working-tree-encoding": true, "conflict-marker-size": true, "lockable": true}

// nothing are the words that take a driver away, and do nothing else. To unset a macro is not among them:
// that may uncover what the macro took away.
var nothing = []string{"-filter", "!filter", "-diff", "!diff", "-merge", "!merge", "binary"}

// newDrivers reports whether a .gitattributes may have git run a filter, a diff or a merge driver that it
// did not run before: lines that choose one must be the same, in the same order, since the last that fits
// counts. Between them may come new lines that choose none, which can only take a driver away.
func newDrivers(before, after []byte) bool {
	was := choices(before)
	for _, line := range choices(after) {
		switch {
		case len(was) > 0 && was[0].text == line.text:
			was = was[1:]
		case !line.none:
			return true
		}
	}
	return len(was) > 0
}

// choice is a line that has to do with drivers.
type choice struct {
	text string
	none bool // it only says that there is none
}

// choices returns these lines. git separates words by ASCII space alone, and takes a pattern in quotes as
// one word; here more is a word, so that none is overlooked.
func choices(data []byte) (list []choice) {
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		words := strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' })
		if len(words) == 0 {
			continue
		}
		words = slices.DeleteFunc(words[1:], func(w string) bool {
			name, _, _ := strings.Cut(strings.TrimLeft(w, "-!"), "=")
			return harmless[name] || strings.HasPrefix(name, "linguist-") || strings.HasPrefix(name, "gitlab-")
		})
		macro := strings.HasPrefix(line, "[attr]") || strings.HasPrefix(line, `"[`) || strings.HasPrefix(line, `"\`)
		if len(words) == 0 && !macro {
			continue
		}
		none := !macro && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(nothing, w) })
		list = append(list, choice{line, none})
	}
	return list
}
