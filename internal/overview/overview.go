// Package overview shows what there is in the databases of workspaces: which there are (List), what is pending in one
// (Status), and which sessions it had (Log); and it removes one (Remove). Each has a form for people and one for
// programs, an object a line.
package overview

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say where to write, and in which form.
type Options struct {
	Stdout, Stderr io.Writer
	Terminal       bool // Stdout is one
	JSON           bool
	All            bool // of a status: each path has a line of its own
	// Spans are those of the log that are shown; nil: all.
	Spans *[]history.Span
	// Session connects to the session that writes the database, to know what it has not committed. It may be nil.
	Session func(context.Context) (*os.File, error)
}

// object writes a line for programs.
func (o *Options) object(value any) error {
	text, err := quote.JSON(value)
	if err == nil {
		_, err = fmt.Fprintln(o.Stdout, text)
	}
	return err
}

func (o *Options) line(format string, args ...any) error {
	_, err := fmt.Fprintf(o.Stdout, format+"\n", args...)
	return err
}

// name is a path as people are shown it.
func (o *Options) name(path string) string { return quote.Name(path, o.Terminal) }

// openDatabase opens a database for reading, also beside a session.
func openDatabase(path string) (*sqlvfs.Store, error) {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return s, nil
}

// sizeOf returns how much a database takes, with its log.
func sizeOf(path string) (size int64) {
	if sqlvfs.IsRemote(path) {
		size, _ = sqlvfs.RemoteSize(path)
		return size
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Lstat(path + suffix); err == nil {
			size += info.Size()
		}
	}
	return size
}

// took is a span of time for people.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "?" // a clock was set meanwhile
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	text := d.Round(time.Second).String()
	if d >= time.Hour {
		text = strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return text
}

// moment is a time of a database, or nil if it cannot be one: another program may have written it.
func moment(t *sqlvfs.Timespec) *time.Time {
	if t == nil || t.Sec < 0 || t.Sec > 253402300799 { // the end of the year 9999
		return nil
	}
	at := t.Time()
	return &at
}

// command is a command for people, in one line.
func command(args []string) string { return quote.Command(args, 100) }
