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

// dying is a session that is killed after it has done what it was asked for some times, before it answers.
type dying struct {
	t        *testing.T
	db       string
	requests int
	ended    bool
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
		for left := d.requests; ; {
			r, _, err := control.ReceiveRequest(theirs)
			var secret []byte
			var at, path string
			if err == nil {
				secret, at, path, err = r.AsFork()
			}
			var c sqlvfs.Checkpoint
			if err == nil {
				c, err = s.AddFork(path, secret, at)
			}
			if err != nil {
				d.t.Error(err)
			}
			if left--; left == 0 {
				break
			}
			if err := control.SendRequest(theirs, -1, control.Request{Verb: control.Done, What: strconv.FormatInt(c.ID, 10)}); err != nil {
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

// Where a session ends before it has answered, the database knows of no fork that is not made.
func TestForkUnanswered(t *testing.T) {
	for requests := 1; requests <= 3; requests++ {
		db := filepath.Join(t.TempDir(), "a.db")
		s, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		d := &dying{t: t, db: db, requests: requests}
		o := Options{DB: db, Session: d.connect}
		var paths []string
		for i := range 3 {
			paths = append(paths, filepath.Join(filepath.Dir(db), strconv.Itoa(i)+".db"))
		}
		if _, err := o.forks(t.Context(), "", paths); !errors.Is(err, live.ErrUnanswered) {
			t.Errorf("after %d requests: %v", requests, err)
		}
		if s, err = sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true}); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Forks(); err != nil || len(list) > 0 {
			t.Errorf("after %d requests it knows of %v, %v", requests, list, err)
		}
		s.Close()
		for _, path := range paths {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("after %d requests %s is there", requests, path)
			}
		}
	}
}
