package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/reconcile/settings"
	"github.com/riverlytech/art/sqlvfs"
)

// Push stores what the host changed in the workspace opt.Dir since the last push or pull, deletions
// included, in the database opt.DB, which is made if it does not exist, under
// `/<base name of the directory>/`. What has a row keeps its inode number as long as it is of the
// same kind. What only the guest changed stays; what both changed is a conflict, unless both are
// equal. Of what did not change since, nothing is read but its attributes.
//
// [ErrConflicts] means that some paths were left alone, [ErrIncomplete] that some could not be
// stored; each was reported on standard error.
func Push(ctx context.Context, opt Options) error {
	opt.ctx = ctx
	for n := 1; ; n++ {
		err := opt.push(ctx, n == attempts)
		if n == attempts || !errors.Is(err, errOvertaken) {
			return err
		}
	}
}

// errOvertaken says that nothing was done, since the session has changed meanwhile what was to be replaced.
var errOvertaken = errors.New("overtaken")

// push is one attempt of Push. Nothing is printed of one that ends in errOvertaken, but of the last.
func (opt Options) push(ctx context.Context, last bool) error {
	abs, err := opt.workspacePath()
	if err != nil {
		return err
	}
	h, err := openHost(abs)
	if err != nil {
		return err
	}
	defer h.close()
	r := newReporter(&opt)
	r.Doing = "push"
	p := &pusher{planner: planner{ctx: ctx, opt: &opt, report: r, host: h}, own: settings.Own(abs),
		groups: map[object]*linkGroup{}, owner: map[sqlvfs.Ino]object{}, kept: map[sqlvfs.Ino]bool{}, written: map[sqlvfs.Ino]bool{}, replaced: map[string]bool{}, seen: map[string]bool{}}
	if err := p.openForPush(); err != nil {
		return err
	}
	s := p.store
	name, err := opt.workspaceName(s, abs)
	if err == nil && sqlvfs.IsLayer(name) {
		err = cli.WithHint(fmt.Errorf("workspace %s: %s has it as a mount of mode overlay, in which the guest sees the host's anyway", abs, opt.DB),
			"to store it as a workspace too, give it another name with --name")
	}
	if err == nil && s != nil {
		err = opt.claim(ctx, s, h, abs, name, true)
	}
	if err != nil {
		if s != nil {
			s.Discard()
			p.endSession()
		}
		return err
	}
	p.name = name
	if p.beside {
		r.Pause() // until it is done
	}
	err = p.run(abs)
	s = p.store // another one, if git was waited for
	if err == nil && s != nil && !p.beside && !opt.DryRun && r.Failures == 0 && len(opt.Paths) == 0 && len(opt.Exclude) == 0 && !opt.NoIgnored {
		err = setWhole(s, name)
	}
	if s != nil {
		cerr := p.closeStored(err)
		switch overtaken := p.beside && errors.Is(cerr, unix.EAGAIN); {
		case overtaken && !last:
			return errOvertaken
		case err == nil && cerr != nil:
			err = opt.writing(cerr)
			if overtaken {
				err = cli.WithHint(err, "nothing was changed: push again")
			}
		}
	}
	if err != nil && isFull(err) {
		err = cli.WithHint(err, "what is stored stays: make room, and push again")
	}
	return r.End(err)
}

// openForPush opens the database, or none for a dry run without one.
func (p *pusher) openForPush() error {
	opt := p.opt
	err := p.openStore(sqlvfs.Options{
		Waiting:    opt.waiting(opt.DB),
		ReadOnly:   opt.DryRun,
		Create:     !opt.DryRun,
		Bulk:       true,
		Checkpoint: sqlvfs.BeforePush,
		Root:       sqlvfs.NewRoot(),
	})
	if opt.DryRun && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sqlvfs.ErrForkParent) {
		if _, err := os.Stat(path.Dir(opt.DB)); err != nil {
			return openError(opt.DB, hostfs.Unwrap(err))
		}
		return nil
	}
	if err != nil {
		return openError(opt.DB, err)
	}
	return nil
}

// closeStored closes the database after a run, which has come to err. What an unfinished one has gathered beside a session
// is given up: it is one step, or none.
func (p *pusher) closeStored(err error) error {
	defer p.endSession()
	if err != nil && p.session != nil {
		p.store.Abandon()
	}
	return p.store.Close()
}

// pusher is one run of Push.
type pusher struct {
	planner
	own map[string]bool // where the user's settings of art lie in the workspace: no guest is to see what is in them

	supplied map[string]sqlvfs.Supplied     // rows that have an origin, by its path
	agreed   map[sqlvfs.Ino]sqlvfs.Timespec // see [sqlvfs.Store.Agreed]
	seen     map[string]bool                // paths that the host has
	bothGit  map[string]int                 // what is known of repositories, by git directory

	groups   map[object]*linkGroup   // host files that are postponed
	owner    map[sqlvfs.Ino]object   // which host file was stored in a row with several names
	kept     map[sqlvfs.Ino]bool     // rows that have names which the host has
	written  map[sqlvfs.Ino]bool     // rows that the host's content goes into, since the guest has not changed theirs
	links    map[sqlvfs.Ino]uint32   // rows that sessions have made for host files with several names, and how many entries they have
	copiedUp map[object]*sqlvfs.Node // rows of files by the host file that they were copied up from
	paths    map[object]string       // see pathOf
	rowNames map[sqlvfs.Ino][]string // see names
	reopened []*folder               // directories whose rows are held after they were left
	replaced map[string]bool         // directories that something else took the place of
	spared   []*sqlvfs.Inode         // rows that are held to the end: see existing
	late     bool                    // all of the workspace was met
	begun    sqlvfs.Timespec         // when the storing of the file at hand began: see begin

	readers *readers
}

func (p *pusher) run(workspace string) (err error) {
	if err := p.load(); err != nil {
		return err
	}
	if len(p.opt.Paths) > 0 || p.beside {
		err = p.loadGuest()
	}
	if err == nil {
		err = p.awaitGit(func() error {
			p.tree = nil
			if err := p.load(); err != nil {
				return err
			}
			return p.loadGuest()
		})
	}
	if err == nil {
		err = p.limitTo(workspace)
	}
	if err != nil {
		return err
	}
	if on, err := p.mayPushAbsent(); !on {
		return err
	}
	p.report.Phase("push")
	p.report.Line("Workspace name: %s", p.report.Name(p.name))
	p.report.Line("Files will be stored under: %s", p.report.Name("/"+p.name+"/"))
	st, err := hostfs.Stat(p.host.dir)
	if err != nil {
		return p.host.failed(err)
	}
	root := &folder{row: p.rows().root()}
	defer p.rows().put(root.row)
	p.readers = newReaders()
	defer p.readers.End()
	defer p.expect()()
	defer func() {
		for _, row := range p.spared {
			p.rows().put(row)
		}
	}()
	top := &folder{rel: ".", name: p.name, in: root}
	if err := p.folder(top, &st); err != nil {
		return p.storeFailed(err)
	}
	err = p.dir(top)
	p.late = true
	if err == nil {
		err = p.postponed()
	}
	if err == nil {
		err = p.deleted()
	}
	return err
}

// load reads what the database knows of the workspace.
func (p *pusher) load() (err error) {
	if err := p.join(); err != nil {
		return err
	}
	if p.filter, err = selection.NewFilter(p.host.patterns(p.opt)); err != nil || p.store == nil {
		return err
	}
	p.supplied, err = sqlvfs.Query(p.store, func(tx *sqlvfs.Tx) (map[string]sqlvfs.Supplied, error) { return tx.Supplies(p.name) })
	if err == nil {
		p.links, err = p.rows().linked(p.name)
	}
	return p.storeFailed(err)
}

// guestPath is how a path of the workspace is called in the database.
func (p *pusher) guestPath(rel string) string {
	if rel == "." {
		return "/" + p.name
	}
	return "/" + p.name + "/" + rel
}

// inoText is what a line of output says of a row; a dry run has none for what is new, and a session numbers that itself.
func (p *pusher) inoText(row *sqlvfs.Inode, replaced bool) string {
	if row == nil || p.beside && (replaced || p.isNew(row)) {
		return "new"
	}
	return fmt.Sprintf("ino %d", row.Number())
}

// storeError is a failure of the database: the run ends.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func (p *pusher) storeFailed(err error) error {
	if err == nil || errors.As(err, new(*storeError)) {
		return err
	}
	return &storeError{p.opt.writing(err)}
}
