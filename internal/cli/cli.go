// Package cli holds the rules of talking to the user, in one place:
//
//   - Standard output belongs to what was asked for; everything a program of
//     this project says by itself goes to standard error.
//   - An error is one line, `PROGRAM: what failed: why`, in lower case and
//     without a period.
//   - Where something can be done about it, a second line follows:
//     `PROGRAM: hint: what to do`.
//   - The exit code tells a script who failed: the command, or the program that
//     was to run it.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Exit codes of art and art-trace, beside the command's own. They are those of
// env(1), nohup(1) and timeout(1).
const (
	// OK is success.
	OK = 0
	// ExitArt says that the program itself failed.
	ExitArt = 125
	// ExitCannotExec says that the command was found and cannot be executed.
	ExitCannotExec = 126
	// ExitNotFound says that there is no such command.
	ExitNotFound = 127
	// ExitSignal is added to the number of the signal that ended the command.
	ExitSignal = 128
)

// Exit codes of what runs no command, as diff(1) and rsync(1) have them.
const (
	// ExitError says that something went wrong.
	ExitError = 1
	// ExitUsage says that the command line was wrong.
	ExitUsage = 2
	// ExitConflicts says that conflicts were left alone.
	ExitConflicts = 3
)

// Exit codes of what is asked whether something is so, as diff(1) has them.
const (
	// ExitDiffers says that there are differences, or that something fails.
	ExitDiffers = 1
	// ExitTrouble says that something went wrong.
	ExitTrouble = 2
)

// Hinted is an error that knows what the user can do about it.
type Hinted interface {
	error
	// Hint returns what to do, in one line.
	Hint() string
}

type hinted struct {
	error
	hint string
}

func (h hinted) Hint() string  { return h.hint }
func (h hinted) Unwrap() error { return h.error }

// WithHint adds to err what the user can do about it. The text of err stays as
// it is. A nil err stays nil, and an empty hint adds nothing.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return hinted{err, hint}
}

// Fail prints err, and its hint if it has one, to standard error in the name of
// the program prog.
func Fail(prog string, err error) { Fprint(os.Stderr, prog, err) }

// Fprint is Fail to any writer. Control characters in the text are quoted, since
// file names of others appear in it and a terminal acts on some of them. Each
// of several that were joined has lines of its own.
func Fprint(w io.Writer, prog string, err error) {
	text, last := "", ""
	for _, one := range joined(err) {
		hint := ""
		if h, ok := errors.AsType[Hinted](one); ok {
			hint = fmt.Sprintf("%s: hint: %s\n", prog, Printable(h.Hint()))
		}
		if hint != last {
			text += last
		}
		text += fmt.Sprintf("%s: %s\n", prog, Printable(one.Error()))
		last = hint
	}
	io.WriteString(w, text+last) // one write, so that two programs' lines do not mix
}

// joined returns what [errors.Join] has made one error of.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var lines []string
	for _, one := range several.Unwrap() {
		all = append(all, joined(one)...)
		lines = append(lines, one.Error())
	}
	if strings.Join(lines, "\n") != err.Error() {
		return []error{err} // it says more than they do
	}
	return all
}

// Printable returns s with what does not print as escapes, but for tab: control characters, also
// those of eight bits, and what changes the direction of text. Other invalid UTF-8 stays: it is how
// the name is spelled.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		c := s[0]
		switch {
		case r == utf8.RuneError && n == 1:
			if c < 0xa0 { // a terminal that knows no UTF-8 takes it as a control character
				fmt.Fprintf(&b, `\x%02x`, c)
			} else {
				b.WriteByte(c)
			}
		case r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}
