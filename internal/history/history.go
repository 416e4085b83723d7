// Package history makes checkpoints of the tree of a database, and brings the tree back to them.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say what database it is about, and how to tell of it.
type Options struct {
	Prog string // which the user has called, as messages have it
	DB   string
	Dir  string // the workspace on the host
	// Session reaches the session that writes the database; the error is [live.ErrNone] if none does.
	Session func(context.Context) (*os.File, error)
	// Begin makes the database before forks are made of it, if it is to be; nil: it is there.
	Begin  func(context.Context) error
	Stdout io.Writer
	JSON   bool
	Quiet  bool
}

// Checkpoint makes a checkpoint, of a session that runs or between sessions, and says which.
func Checkpoint(ctx context.Context, label string, o Options) error {
	c, err := o.checkpoint(ctx, label)
	if err != nil {
		return fmt.Errorf("make a checkpoint in %s: %w", o.DB, Hinted(o.DB, err))
	}
	return o.tell(c, "checkpoint %d", c.ID)
}

func (o *Options) checkpoint(ctx context.Context, label string) (sqlvfs.Checkpoint, error) {
	return o.atWriter(ctx, func(c *live.Client) (int64, error) { return c.Checkpoint(label) },
		func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) { return s.Checkpoint(sqlvfs.ByUser, label) })
}

// atWriter has the session that writes the database do something, or does it itself if none does.
func (o *Options) atWriter(ctx context.Context, beside func(*live.Client) (int64, error), do func(*sqlvfs.Store) (sqlvfs.Checkpoint, error)) (sqlvfs.Checkpoint, error) {
	sock, err := o.Session(ctx)
	if err == nil {
		client := live.NewClient(sock)
		defer client.Close()
		id, err := beside(client)
		if err == nil && id < 0 {
			return sqlvfs.Checkpoint{}, nil
		}
		if err == nil {
			return find(o.DB, id)
		}
		if errors.Is(err, live.ErrUnanswered) {
			return sqlvfs.Checkpoint{}, cli.WithHint(err, "it may have been done: art log shows the newest checkpoints")
		}
		if !errors.Is(err, live.ErrGone) {
			return sqlvfs.Checkpoint{}, err
		}
	} else if !errors.Is(err, live.ErrNone) {
		return sqlvfs.Checkpoint{}, err
	}
	s, err := sqlvfs.Open(o.DB, sqlvfs.Options{Waiting: o.waiting()})
	if err != nil {
		return sqlvfs.Checkpoint{}, err
	}
	if other := s.OtherProgram(); other != nil {
		cli.Fail(o.Prog, fmt.Errorf("%s: %v", o.DB, other))
	}
	c, err := do(s)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return c, err
}

// waiting says that another process is waited for, such as a pull that keeps what the checkpoints here show.
func (o *Options) waiting() func(pid int) {
	if o.Quiet {
		return nil
	}
	return cli.Waiting(os.Stderr, o.Prog, o.DB)
}

// find returns a checkpoint by its number.
func find(db string, id int64) (c sqlvfs.Checkpoint, err error) {
	s, err := sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return c, err
	}
	defer s.Close()
	list, err := s.Checkpoints()
	if i := slices.IndexFunc(list, func(c sqlvfs.Checkpoint) bool { return c.ID == id }); i >= 0 {
		return list[i], err
	}
	return c, cmp.Or(err, sqlvfs.ErrNoCheckpoint)
}

// Undo brings the tree back to before the last change, of a session that runs or between sessions, as do Redo and Rewind.
func Undo(ctx context.Context, o Options) error {
	return o.back(ctx, "undo", sqlvfs.Undo, (*live.Client).Undo, "")
}

// Redo brings back what Undo or Rewind has replaced.
func Redo(ctx context.Context, o Options) error {
	return o.back(ctx, "redo", sqlvfs.Redo, (*live.Client).Redo, "")
}

// Rewind brings the tree back to a checkpoint, by its number or label; or only what is at some paths, if any are given.
func Rewind(ctx context.Context, name string, paths []string, o Options) error {
	to := sqlvfs.To(name)
	var below []string
	var linked []sqlvfs.LinkedName
	if len(paths) > 0 {
		var err error
		if below, linked, err = inTree(ctx, name, paths, &o); err != nil {
			return err
		}
		to = sqlvfs.Part(name, below, linked...)
	}
	return o.back(ctx, "rewind", to, func(c *live.Client) (int64, error) { return c.Rewind(name, below, linked) }, name, slices.Concat(below, pathsOf(linked))...)
}

// back goes back to a checkpoint, by its name if that was given.
func (o *Options) back(ctx context.Context, word string, to sqlvfs.Destination, beside func(*live.Client) (int64, error), name string, paths ...string) error {
	c, err := o.atWriter(ctx, beside, func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) { return s.GoBack(to, nil) })
	if err != nil {
		return fmt.Errorf("%s in %s: %w", word, o.DB, Hinted(o.DB, err))
	}
	at := c.ID
	if c.Kind == sqlvfs.AfterBack || c.Kind == sqlvfs.AfterPart {
		at = c.Restored
	}
	if name != "" { // which may have the tree of an earlier one
		if m, err := sqlvfs.OpenMoment(o.DB, name); err == nil {
			at = m.Checkpoint().ID
			m.Close()
		}
	}
	text := fmt.Sprintf("back at checkpoint %d", at)
	if len(paths) > 0 {
		var names []string
		for _, p := range paths {
			names = append(names, quote.Name(p, true))
		}
		text += ": " + strings.Join(names, ", ")
	}
	return o.tell(c, "%s", text)
}

// Thin drops checkpoints of which there are too many, and gives the space back to the disk. What forks are of stays; with gone, forks that
// are not where they were made are forgotten.
func Thin(k sqlvfs.Keep, gone bool, o Options) error {
	s, err := sqlvfs.Open(o.DB, sqlvfs.Options{Waiting: o.waiting()})
	if err != nil {
		return fmt.Errorf("gc in %s: %w", o.DB, Hinted(o.DB, err))
	}
	dropped := 0
	if err = tellForks(s, gone, &o); err == nil {
		dropped, err = s.Thin(k)
	}
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("gc in %s: %w", o.DB, err)
	}
	if o.Quiet {
		return nil
	}
	_, err = fmt.Fprintf(o.Stdout, "%d checkpoints dropped\n", dropped)
	return err
}

// Hinted says what to do about an error of a database.
func Hinted(db string, err error) error {
	if _, inUse := errors.AsType[*sqlvfs.InUseError](err); inUse {
		return cli.WithHint(err, cmp.Or(session.InUse(os.Getenv, db), "end that session first"))
	}
	if sqlvfs.Errno(err) == syscall.ENOSPC {
		return cli.WithHint(err, "make room in "+filepath.Dir(db))
	}
	return live.Hinted(err)
}

// Record is a checkpoint as JSON has it.
type Record struct {
	Checkpoint int64      `json:"checkpoint"`
	Made       *time.Time `json:"made"`
	Kind       string     `json:"kind"`
	Label      *string    `json:"label"`
	Session    *int64     `json:"session"`
	Restored   *int64     `json:"restored"`
	// Files and Bytes are how much has changed since the checkpoint before; nil: that is not counted.
	Files *int64 `json:"files,omitempty"`
	Bytes *int64 `json:"bytes,omitempty"`
}

// Why says in a few words why there is the checkpoint.
func (r *Record) Why() string {
	switch sqlvfs.Occasion(r.Kind) {
	case sqlvfs.ByUser:
		return "asked for"
	case sqlvfs.AtSession:
		return "before a session"
	case sqlvfs.ByGuest:
		return "by the guest"
	case sqlvfs.AtRest:
		return "by itself"
	case sqlvfs.BeforePush:
		return "before a push"
	case sqlvfs.BeforePull, sqlvfs.PullBeside:
		return "before a pull"
	case sqlvfs.BeforeReset:
		return "before a reset"
	case sqlvfs.BeforeMerge:
		return "before a merge"
	case sqlvfs.ForFork:
		return "for a fork"
	case sqlvfs.AfterOther:
		return "changed by another program"
	case sqlvfs.BeforeBack:
		return "before going back"
	case sqlvfs.AfterBack:
		if r.Restored != nil {
			return fmt.Sprintf("back at %d", *r.Restored)
		}
	case sqlvfs.AfterPart:
		if r.Restored != nil {
			return fmt.Sprintf("in part back at %d", *r.Restored)
		}
	}
	return "-"
}

// NewRecord is a checkpoint for programs.
func NewRecord(c *sqlvfs.Checkpoint) Record {
	r := Record{Checkpoint: c.ID, Kind: string(c.Kind), Made: timeOf(c.Made)}
	if c.Label != "" {
		r.Label = &c.Label
	}
	if c.Session != 0 {
		r.Session = &c.Session
	}
	if c.Restored != 0 {
		r.Restored = &c.Restored
	}
	return r
}

// timeOf is a time of a database, or nil if it cannot be one: another program may have written it.
func timeOf(t sqlvfs.Timespec) *time.Time {
	if !t.Valid() || t.Sec < 0 || t.Sec > 253402300799 { // the end of the year 9999
		return nil
	}
	at := t.Time()
	return &at
}

func (o *Options) tell(c sqlvfs.Checkpoint, format string, args ...any) error {
	if o.Quiet && !o.JSON {
		return nil
	}
	text := fmt.Sprintf(format, args...)
	if o.JSON {
		var err error
		if text, err = quote.JSON(NewRecord(&c)); err != nil {
			return err
		}
	} else if c.Label != "" {
		text += "  " + cli.Printable(c.Label)
	}
	_, err := fmt.Fprintln(o.Stdout, strings.TrimSpace(text))
	return err
}
