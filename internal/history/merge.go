package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// A three-way merge: theirs is what the fork is now, ours what the database is now, and base what both were when they last agreed: first
// the checkpoint that the fork was made of, later the fork as it was when it was merged last. Who changed what is decided, path by path, by
// package classify, as for push and pull. Where theirs is as base, nothing is looked at.
//
// Both trees lie over the same host, so what a row reads from there is taken over with it: the host is asked nothing.

// MergeOptions say what is merged, beside [Options].
type MergeOptions struct {
	Options
	Fork   string                                                  // the path of its database
	Other  func(db string) func(context.Context) (*os.File, error) // as Options.Session, of another database
	Force  bool                                                    // where both changed something, the fork's counts
	Ours   bool                                                    // where both changed something, what is there counts
	DryRun bool
	Report report.Options
}

// Merge takes what a fork has changed into the database that it was made of, as one change. [report.ErrConflicts] means that paths were
// left alone, because both have changed them; each was named. After any other error the database has not changed; the fork may have one
// more checkpoint.
func Merge(ctx context.Context, o MergeOptions) error {
	o.Report.Quiet, o.Report.DryRun = o.Quiet || o.JSON, o.DryRun
	told := report.New(o.Report, o.Prog)
	told.Doing = "merge"
	var err error
	if !o.DryRun {
		err = o.sweep(ctx, func(text string) {
			if !o.Quiet {
				fmt.Fprintf(o.Report.Stderr, "%s: %s\n", o.Prog, cli.Printable(text))
			}
		})
	}
	if err == nil {
		err = o.merge(ctx, told)
	}
	if err != nil {
		err = fmt.Errorf("merge %s into %s: %w", cli.Printable(o.Fork), o.DB, Hinted(o.DB, err))
	}
	return told.End(err)
}

// mostMerges is how often a merge beside a session begins anew that changes meanwhile what is to be merged.
const mostMerges = 20

// merge merges, through the session that writes the database if there is one.
func (o *MergeOptions) merge(ctx context.Context, told *report.Reporter) error {
	for n := 1; ; n++ {
		m := &merger{ctx: ctx, opt: o, report: told}
		var err error
		if m.beside, err = o.hasSession(ctx); err == nil {
			err = m.open()
		}
		if err == nil {
			err = m.run()
		}
		cerr, left := m.close()
		if err == nil && !m.beside { // beside a session it is merged, whatever comes of what was made for it
			err = cerr
		}
		if left != nil {
			cli.Fprint(o.Report.Stderr, o.Prog, cli.WithHint(fmt.Errorf("remove the fork %s: %w", cli.Printable(m.scratch), left), "the next merge removes it"))
		}
		switch again := m.beside && n < mostMerges && ctx.Err() == nil; {
		case err == nil:
			return m.tell()
		case again && errors.Is(err, unix.EAGAIN), again && errors.Is(err, live.ErrGone) && !errors.Is(err, live.ErrUnanswered), again && errors.Is(err, live.ErrNone):
			time.Sleep(time.Duration(n) * 10 * time.Millisecond)
		case errors.Is(err, live.ErrUnanswered):
			return cli.WithHint(err, "it may have been done: art log shows the newest checkpoints, and another merge whether anything is left")
		case m.beside && errors.Is(err, unix.EAGAIN):
			return cli.WithHint(errors.New("the session goes on to change what is to be merged"), "try it again when its programs rest")
		default:
			return err
		}
	}
}

// hasSession tells whether a session writes the database.
func (o *MergeOptions) hasSession(ctx context.Context) (bool, error) {
	if o.DryRun {
		return false, nil
	}
	sock, err := o.Session(ctx)
	if errors.Is(err, live.ErrNone) {
		return false, nil
	}
	if err == nil {
		err = sock.Close()
	}
	return true, err
}

// isForkOf makes sure that one database is a fork of the other.
func isForkOf(fork, db string) (secret []byte, err error) {
	parent, secret, err := sqlvfs.ForkOf(fork)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, cli.WithHint(err, "art list shows the databases that there are")
	case err != nil:
		return nil, err
	case parent == "":
		return nil, errors.New("it is no fork")
	}
	of, err := os.Stat(parent)
	if err != nil {
		return nil, fmt.Errorf("the database that it is a fork of: %w", err)
	}
	is, err := os.Stat(db)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(of, is) {
		return nil, cli.WithHint(fmt.Errorf("it is a fork of %s", cli.Printable(parent)), "name that with --db")
	}
	return secret, nil
}

// open opens the three trees, and the database to be changed unless nothing is to be.
func (m *merger) open() error {
	o := m.opt
	secret, err := isForkOf(o.Fork, o.DB)
	if err != nil {
		return err
	}
	now := ""
	switch {
	case o.DryRun:
		live.Settle(o.DB)
		live.Settle(o.Fork)
	case m.beside:
		now, err = m.makeScratch()
	default:
		m.store, err = sqlvfs.Open(o.DB, sqlvfs.Options{Checkpoint: sqlvfs.BeforeMerge, Waiting: o.waiting()})
	}
	if err != nil {
		return err
	}
	if m.ours, err = sqlvfs.OpenMoment(o.DB, now); err != nil {
		return err
	}
	was, err := m.ours.MergedOf(secret)
	if err != nil {
		return err
	}
	at := ""
	if !o.DryRun {
		c, err := m.checkpoint(secret, was.Checkpoint)
		if err != nil {
			return fmt.Errorf("make a checkpoint in it: %w", Hinted(o.Fork, err))
		}
		m.merged, at = c.ID, fmt.Sprint(c.ID)
	}
	if m.theirs, err = sqlvfs.OpenMoment(o.Fork, at); err != nil {
		return err
	}
	is, of, top := m.theirs.Parent()
	if !bytes.Equal(is, secret) {
		return errors.New("it has become another fork meanwhile")
	}
	m.secret, m.top, m.was = secret, top, was
	m.released, m.pulled = newReleased(m.theirs, o.Fork), newReleased(m.ours, o.DB)
	if m.released.since, err = m.theirs.Span(0); err == nil {
		m.pulled.since, err = m.ours.Span(of)
	}
	if err != nil {
		return err
	}
	m.pending = pendingOf(was.Conflicts)
	if was.Checkpoint == 0 {
		m.base, err = sqlvfs.OpenMoment(o.DB, fmt.Sprint(of))
		if err == nil {
			m.ourMay, err = m.ours.Since(m.base)
		}
		if err == nil {
			m.theirMay, err = m.theirs.SinceFork(m.base)
		}
		return err
	}
	m.again = true
	m.base, err = sqlvfs.OpenMoment(o.Fork, fmt.Sprint(was.Checkpoint))
	if errors.Is(err, sqlvfs.ErrNoCheckpoint) {
		return cli.WithHint(fmt.Errorf("its checkpoint %d, up to which it was merged, was dropped: what has changed since is not known", was.Checkpoint),
			"make another fork, and go on there; art undo, if nothing else has changed since, goes back to before that merge")
	}
	if err == nil {
		m.before = released{of: m.base, path: o.Fork, then: m.released.then}
		m.before.since, err = m.base.Span(0)
	}
	if err == nil {
		m.theirMay, err = m.theirs.Since(m.base)
	}
	return err
}

// checkpoint makes a checkpoint of what the fork is now, from which the next merge goes on: the fork keeps it as it would for a fork of its
// own, and with it the one up to which it was merged, from which a merge goes on if this one is not committed.
func (m *merger) checkpoint(secret []byte, merged int64) (c sqlvfs.Checkpoint, err error) {
	now, err := sqlvfs.OpenMoment(m.opt.Fork, "")
	if err != nil {
		return c, err
	}
	key, err := now.MergeKey(secret, merged)
	now.Close()
	if err != nil {
		return c, err
	}
	of, parent := Options{DB: m.opt.Fork, Session: m.opt.Other(m.opt.Fork)}, workspace.Absolute(m.opt.DB)
	return of.atWriter(m.ctx, func(c *live.Client) (int64, error) {
		if err := c.Forget(forgotten(true, key)); err != nil { // an undo of the merge leads back to that
			return 0, err
		}
		return c.Fork(&control.Forks{List: []control.ForkOf{{Secret: key, Path: parent}}})
	}, func(s *sqlvfs.Store) (sqlvfs.Checkpoint, error) {
		if err := s.DropForks([][]byte{key}, true); err != nil {
			return sqlvfs.Checkpoint{}, err
		}
		return s.AddFork(parent, key, "")
	})
}

// close closes what is open. left says why the scratch fork, if there is one, could not be removed.
func (m *merger) close() (err, left error) {
	m.released.close()
	m.pulled.close()
	for _, at := range []*sqlvfs.Moment{m.base, m.ours, m.theirs} {
		if at != nil {
			at.Close()
		}
	}
	if m.store != nil {
		err = m.store.Close()
	}
	if m.scratch != "" {
		left = m.opt.removeFork(context.WithoutCancel(m.ctx), m.scratch, false)
		m.held.Close()
	}
	return err, left
}

// run decides, and does it.
func (m *merger) run() error {
	if err := m.decide(); err != nil {
		return err
	}
	if m.nothing() {
		return nil
	}
	if m.store != nil {
		err := m.store.Merge(m.apply)
		if err != nil {
			return err
		}
	}
	if m.beside {
		return m.hand()
	}
	return nil
}

// nothing tells whether there is nothing to write, not even up to where the fork is merged now.
func (m *merger) nothing() bool {
	p := &m.plan
	return m.merged == m.was.Checkpoint && len(p.makes)+len(p.takes)+len(p.unlinks)+len(p.hides)+len(p.shows)+len(p.loses)+len(p.links) == 0 &&
		maps.Equal(pendingOf(p.left), m.pending)
}

// mergedPath is what is done at a path, as JSON has it.
type mergedPath struct {
	Path     string `json:"path"`
	Change   string `json:"change,omitempty"`
	Conflict string `json:"conflict,omitempty"`
}

// tell says what was done, or would be, and what is in conflict: first what is in a workspace. Of conflicts beside that, such as in caches,
// there may be hundreds, and only some are named.
func (m *merger) tell() error {
	slices.SortStableFunc(m.said, func(a, b said) int {
		if in := m.inWorkspace(a.at); in != m.inWorkspace(b.at) {
			if in {
				return -1
			}
			return 1
		}
		return compare(a.at, b.at)
	})
	beside := 0
	for _, s := range m.said {
		name := m.shown(s.at)
		if m.opt.JSON {
			text, err := quote.JSON(mergedPath{name, s.change, s.conflict})
			if err == nil {
				_, err = fmt.Fprintln(m.opt.Report.Stdout, text)
			}
			if err != nil {
				return err
			}
		}
		if s.conflict != "" && !m.inWorkspace(s.at) {
			beside++
		}
		switch {
		case s.conflict != "" && beside > mostNamed:
		case s.conflict != "":
			m.report.Conflict(name, s.conflict)
		case s.change == "deleted":
			m.report.Line("DEL  %s", m.report.Name(name))
		case s.dir:
			m.report.Line("DIR  %s", m.report.Name(name))
		case s.target != "":
			m.report.Line("LINK %s -> %s", m.report.Name(name), m.report.Name(s.target))
		default:
			m.report.Line("FILE %s (%d bytes)", m.report.Name(name), s.size)
		}
	}
	if more := beside - mostNamed; more > 0 {
		m.report.Conflicts("~", more, fmt.Sprintf("%d more in the home beside the workspace; --json names them", more))
	}
	return nil
}
