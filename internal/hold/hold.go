// Package hold says what the patterns may be by which a preset has pull hold back files of a workspace. Those of a preset
// are checked by it, and so are those that a database remembers, which anybody may have written.
package hold

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is one of them, and why what fits it is held back.
type Pattern struct{ Text, Why string }

const (
	// MaxPatterns bounds how many a preset has, and how many a database remembers.
	MaxPatterns = 256
	// MaxText and MaxWhy are in bytes. What is remembered says also which preset it was.
	MaxText, MaxWhy = 256, 256
	maxRemembered   = MaxWhy + 128
)

// Check says what is wrong with a pattern. One that holds a slash is about the end of a path, any other about the last
// name; one that ends in a slash is about everything in such a directory. In a name, * stands for any text, and ? for a
// character.
func Check(text string) error {
	names := strings.Split(strings.TrimSuffix(text, "/"), "/")
	bad := func(name string) bool { return name == "" || name == "." || name == ".." }
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("it is longer than %d bytes", MaxText)
	case !printable(text):
		return errors.New("it has characters that cannot be printed")
	case slices.ContainsFunc(names, bad):
		return errors.New("it is relative to any directory, and has names alone")
	case strings.Contains(text, "**"):
		return errors.New(`a slash at the end is for all that is in a directory, and "**" for nothing`)
	case strings.ContainsAny(text, `[]\`):
		return errors.New(`it can have no bracket or backslash; "?" stands for any character`)
	}
	return nil
}

// CheckWhy says what is wrong with a reason.
func CheckWhy(why string) error { return checkWhy(why, MaxWhy) }

func checkWhy(why string, most int) error {
	switch {
	case why == "":
		return errors.New("there is none")
	case len(why) > most:
		return fmt.Errorf("it is longer than %d bytes", most)
	case !printable(why):
		return errors.New("it has characters that cannot be printed")
	}
	return nil
}

// By returns the pattern as a database remembers it.
func (p Pattern) By(preset string) Pattern {
	return Pattern{p.Text, p.Why + ", as preset " + preset + " says"}
}

// Valid says whether a pattern can be one that a database was told to remember.
func (p Pattern) Valid() bool { return Check(p.Text) == nil && checkWhy(p.Why, maxRemembered) == nil }

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
