// Package quote writes file names so that a line stays a line and a terminal is not told what to
// do: names come from other people, and may hold any byte but '/' and NUL.
//
// A name is written as it is unless it needs quoting. Then it becomes a word of bash's ANSI-C
// form, $'new\nline', which a shell turns back into the very same bytes.
//
//   - Everywhere: names with control characters are quoted, and those that begin with $', so that
//     what is quoted can be told from what is not.
//   - On a terminal: also names that are not UTF-8, or that hold characters which do not print;
//     among these are the ones that change the direction of text.
package quote

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name returns a name, a path or a link's target in the form to print.
func Name(s string, terminal bool) string {
	if !needed(s, terminal) {
		return s
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && n == 1 || !unicode.IsPrint(r):
			// Three octal digits, as ls(1) writes them: unlike \x, they cannot run into a digit
			// that follows.
			for _, c := range []byte(s[:n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	b.WriteByte('\'')
	return b.String()
}

func needed(s string, terminal bool) bool {
	if strings.HasPrefix(s, "$'") {
		return true
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == 0x7f {
			return true
		}
	}
	if !terminal {
		return false
	}
	if !utf8.ValidString(s) {
		return true
	}
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
