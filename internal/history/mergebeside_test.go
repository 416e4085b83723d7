package history

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/live/writer"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// A merge that a session has taken over is one, also if the scratch fork cannot be removed: that is said, and nothing is merged again.
func TestMergedIsMerged(t *testing.T) {
	dir := t.TempDir()
	db, fork, secret := filepath.Join(dir, "a.db"), filepath.Join(dir, "fork.db"), sqlvfs.NewSecret()
	s, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	must(t, err)
	defer s.Close()
	c, err := s.AddFork(fork, secret, "")
	must(t, err)
	must(t, sqlvfs.MakeFork(db, fork, secret, c))
	f, err := sqlvfs.Open(fork, sqlvfs.Options{})
	must(t, err)
	must(t, f.Update(func(tx *sqlvfs.Tx) error {
		in, err := tx.New(sqlvfs.Attr{Mode: 0o100644, Nlink: 1})
		must(t, err)
		defer tx.Put(in)
		return tx.Link(tx.Root(), "made", in)
	}))
	must(t, f.Close())
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: s})
	must(t, err)
	w := writer.New(s, overlay)
	calls := 0
	o := MergeOptions{Options: Options{DB: db, Prog: "art"}, Fork: fork}
	o.Session = func(context.Context) (*os.File, error) {
		if calls++; calls == 4 { // after it was asked for, told of a fork, and given that
			return nil, errors.New("not now")
		}
		ours, theirs, err := libexec.Socketpair()
		if err == nil {
			go w.Serve(theirs, nil)
		}
		return ours, err
	}
	o.Other = func(string) func(context.Context) (*os.File, error) {
		return func(context.Context) (*os.File, error) { return nil, live.ErrNone }
	}
	var out, told strings.Builder
	o.Report = report.Options{Stdout: &out, Stderr: &told}
	if err := Merge(t.Context(), o); err != nil {
		t.Errorf("merged, but: %v", err)
	}
	if !strings.Contains(out.String(), "made") {
		t.Errorf("it says %q, and %q", out.String(), told.String())
	}
	if calls != 4 || !strings.Contains(told.String(), "not now") {
		t.Errorf("after %d calls it has told %q", calls, told.String())
	}
	must(t, s.View(func(tx *sqlvfs.Tx) error {
		if _, ok, _, err := tx.Child(tx.Root(), "made"); !ok || err != nil {
			t.Errorf("made: %t, %v", ok, err)
		}
		return nil
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
