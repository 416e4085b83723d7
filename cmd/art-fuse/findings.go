package main

import (
	"fmt"
	"io"

	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// teller says what was found and done.
type teller interface {
	finding(fsck.Finding) error
	repaired(path, before string) error
}

// lines are a teller for people.
type lines struct{ w io.Writer }

func (l *lines) repaired(path, before string) error {
	_, err := fmt.Fprintf(l.w, "%s is sound now; as it was, it is %s\n", path, before)
	return err
}

// finding prints a finding, and what was done about it, as one line.
func (l *lines) finding(f fsck.Finding) error {
	line := f.Text
	if f.Ino != 0 {
		line = fmt.Sprintf("inode %d: %s", f.Ino, f.Text)
	}
	if f.Mended != "" {
		line += " -> " + f.Mended
	}
	_, err := fmt.Fprintln(l.w, line)
	return err
}

// objects are a teller for scripts.
type objects struct{ w io.Writer }

func (o *objects) finding(f fsck.Finding) error {
	return o.print(struct {
		Ino    int64  `json:"ino,omitempty"`
		Text   string `json:"text"`
		Mended string `json:"mended,omitempty"`
	}{f.Ino, f.Text, f.Mended})
}

func (o *objects) repaired(_, before string) error {
	return o.print(struct {
		Before string `json:"before"`
	}{before})
}

func (o *objects) print(value any) error {
	text, err := quote.JSON(value)
	if err == nil {
		_, err = fmt.Fprintln(o.w, text)
	}
	return err
}
