package history

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// dying is a session that ends after it has done what it was asked for.
type dying struct {
	t      *testing.T
	db     string
	answer string // "": it is killed before it answers
	ended  bool
}

func (d *dying) connect(context.Context) (*os.File, error) {
	if d.ended {
		return nil, live.ErrNone
	}
	d.ended = true
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		return nil, err
	}
	s, err := sqlvfs.Open(d.db, sqlvfs.Options{})
	if err != nil {
		return nil, err
	}
	go func() {
		_, fd, err := control.ReceiveRequest(theirs)
		var forks control.Forks
		if err == nil {
			err = control.ReadChanges(fd, &forks)
		}
		if err == nil {
			var list []sqlvfs.ForkToBe
			for _, f := range forks.List {
				list = append(list, sqlvfs.ForkToBe{Path: f.Path, Secret: f.Secret})
			}
			_, err = s.AddForks(list, forks.At)
		}
		if err != nil {
			d.t.Error(err)
		}
		if d.answer != "" {
			err = control.SendRequest(theirs, -1, control.Request{Verb: control.Done, What: d.answer})
			if err != nil {
				d.t.Error(err)
			}
		}
		theirs.Close()
		if err := s.Close(); err != nil { // as the kernel lets go of its lock, a little later
			d.t.Error(err)
		}
	}()
	return ours, nil
}

// Where a session has done what it was asked for, but does not answer, or the checkpoint cannot be looked up, the database knows of no fork
// that is not made, and has no checkpoint that was made for one.
func TestForkUnanswered(t *testing.T) {
	for answer, want := range map[string]error{"": live.ErrUnanswered, "9": sqlvfs.ErrNoCheckpoint} {
		t.Run(answer, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "a.db")
			s, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
			must(t, err)
			must(t, s.Close())
			d := &dying{t: t, db: db, answer: answer}
			o := Options{DB: db, Session: d.connect}
			var paths []string
			for i := range 3 {
				paths = append(paths, filepath.Join(filepath.Dir(db), strconv.Itoa(i)+".db"))
			}
			if _, err := o.forks(t.Context(), "", paths); !errors.Is(err, want) {
				t.Errorf("made: %v", err)
			}
			s, err = sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true})
			must(t, err)
			defer s.Close()
			if list, err := s.Forks(); err != nil || len(list) > 0 {
				t.Errorf("it knows of %v, %v", list, err)
			}
			if list, err := s.Checkpoints(); err != nil || len(list) > 0 {
				t.Errorf("it has checkpoints %v, %v", list, err)
			}
			for _, path := range paths {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s is there", path)
				}
			}
		})
	}
}
