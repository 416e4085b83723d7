package control

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a guest asks over the socket in its view: one line, "checkpoint LABEL", or "checkpoint" for one without a label; and the answer, one
// line too: "checkpoint 12", or "error: why".

const (
	checkpointWord = "checkpoint"
	// MaxGuestLabel bounds the label, in bytes, and MaxGuestLine the line with its end.
	MaxGuestLabel = 200
	MaxGuestLine  = len(checkpointWord) + 1 + MaxGuestLabel + 1
	// GuestError begins an answer that is no checkpoint.
	GuestError = "error: "
)

var (
	errGuestLine  = errors.New(`this is not "checkpoint LABEL" in one line`)
	errGuestLabel = errors.New("a label is up to 200 bytes of text in one line")
)

// GuestLine is the line that asks for a checkpoint.
func GuestLine(label string) (string, error) {
	line := checkpointWord + " " + label + "\n"
	if label == "" {
		line = checkpointWord + "\n"
	}
	_, err := ParseGuestLine([]byte(line))
	return line, err
}

// ParseGuestLine reads the line: the label, or "".
func ParseGuestLine(line []byte) (label string, err error) {
	text, whole := strings.CutSuffix(string(line), "\n")
	label, labelled := strings.CutPrefix(text, checkpointWord+" ")
	switch {
	case len(line) > MaxGuestLine && labelled: // no more of it may have been read
		return "", errGuestLabel
	case len(line) > MaxGuestLine, !whole, strings.Contains(text, "\n"), !labelled && text != checkpointWord:
		return "", errGuestLine
	case !labelled:
		return "", nil
	case label == "", !utf8.ValidString(label), strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", errGuestLabel
	}
	return label, nil
}
