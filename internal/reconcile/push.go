package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/reconcile/reading"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/reconcile/settings"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// Push stores what the host changed in the workspace opt.Dir since the last push or pull, deletions
// included, in the database opt.DB, which is made if it does not exist, under
// `/<base name of the directory>/`. What has a row keeps its inode number as long as it is of the
// same kind. What only the guest changed stays; what both changed is a conflict, unless both are
// equal. Of what did not change since, nothing is read but its attributes.
//
// [ErrConflicts] means that some paths were left alone, [ErrIncomplete] that some could not be
// stored; each was told on standard error.
func Push(ctx context.Context, opt Options) error {
	abs, err := opt.workspacePath()
	if err != nil {
		return err
	}
	h, err := openHost(abs)
	if err != nil {
		return err
	}
	defer h.close()
	s, err := openForPush(&opt)
	if err != nil {
		return err
	}
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
		}
		return err
	}
	r := newReporter(&opt)
	r.Doing = "push"
	p := &pusher{planner: planner{ctx: ctx, opt: &opt, report: r, host: h, store: s, name: name}, own: settings.Own(abs),
		kins: map[object]*kin{}, owner: map[sqlvfs.Ino]object{}, kept: map[sqlvfs.Ino]bool{}, written: map[sqlvfs.Ino]bool{}, replaced: map[string]bool{}, seen: map[string]bool{}}
	err = p.run(abs)
	if err == nil && s != nil && !opt.DryRun && r.Failures == 0 && len(opt.Paths) == 0 && len(opt.Exclude) == 0 && !opt.NoIgnored {
		err = setWhole(s, name)
	}
	if s != nil {
		if cerr := s.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("write %s: %w", opt.DB, cerr)
		}
	}
	if err != nil && isFull(err) {
		err = cli.WithHint(err, "what is stored stays: make room, and push again")
	}
	return r.End(err)
}

// openForPush opens the database, or returns nil for a dry run without one.
func openForPush(opt *Options) (*sqlvfs.Store, error) {
	now := sqlvfs.Now()
	s, err := sqlvfs.Open(opt.DB, sqlvfs.Options{
		Waiting:  opt.waiting(),
		ReadOnly: opt.DryRun,
		Create:   !opt.DryRun,
		Bulk:     true,
		Root: sqlvfs.Attr{
			Mode: unix.S_IFDIR | 0o755, Nlink: 2,
			UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()),
			Atime: now, Mtime: now, Ctime: now,
		},
	})
	if opt.DryRun && errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path.Dir(opt.DB)); err != nil {
			return nil, openError(opt.DB, hostdir.Unwrap(err))
		}
		return nil, nil
	}
	if err != nil {
		return nil, openError(opt.DB, err)
	}
	return s, nil
}

// pusher is one run of Push.
type pusher struct {
	planner
	own map[string]bool // where the user's settings of art lie in the workspace: no guest is to see what is in them

	supplied map[string]sqlvfs.Supplied     // rows that have an origin, by its path
	agreed   map[sqlvfs.Ino]sqlvfs.Timespec // see [sqlvfs.Store.Agreed]
	seen     map[string]bool                // paths that the host has
	bothGit  map[string]int                 // what is known of repositories, by git directory

	kins     map[object]*kin         // host files that are postponed
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

	readers *reading.Readers
}

func (p *pusher) run(workspace string) (err error) {
	if err := p.load(); err != nil {
		return err
	}
	if len(p.opt.Paths) > 0 {
		err = p.loadGuest()
	}
	if err == nil {
		err = p.limitTo(workspace)
	}
	if err != nil {
		return err
	}
	p.report.Phase("push")
	p.report.Line("Workspace name: %s", p.report.Name(p.name))
	p.report.Line("Files will be stored under: %s", p.report.Name("/"+p.name+"/"))
	st, err := hostdir.Stat(p.host.dir)
	if err != nil {
		return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
	}
	root := &folder{row: p.rows().Root()}
	defer p.rows().Put(root.row)
	p.readers = reading.NewReaders()
	defer p.readers.End()
	defer p.expect()()
	defer func() {
		for _, row := range p.spared {
			p.rows().Put(row)
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
		p.links, err = p.rows().Linked(p.name)
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

// folder is a directory of the host on its way into the database.
type folder struct {
	rel, name string
	in        *folder
	row       *sqlvfs.Inode // held; nil: not looked for yet, or a dry run found none
	looked    bool          // row is known
	changed   bool          // entries were
	hidden    bool          // the guest has removed or replaced it
	fresh     bool          // this push has made it
	live      bool          // hidden, and the guest sees its entries in another place
	left      bool          // the guest has something else there, which stays
}

// dir stores a directory's entries, then those below. Only one directory is open at a time, so
// the depth of the tree is no matter. The error is one that ends the run.
func (p *pusher) dir(d *folder) error {
	below, err := p.entries(d)
	for i, c := range below {
		if err == nil {
			err = p.dir(c)
		}
		p.letGo(c)
		below[i] = nil
	}
	if err == nil && d.changed && !p.opt.DryRun {
		if err := p.finish(d); err != nil {
			return p.storeFailed(err)
		}
	}
	return err
}

// letGo lets go of a directory's row. A file that is postponed may have it looked for again.
func (p *pusher) letGo(d *folder) {
	p.rows().Put(d.row)
	d.row, d.looked = nil, false
}

// finishAgain is finish for the directories that what was postponed has changed.
func (p *pusher) finishAgain() (err error) {
	for _, d := range p.reopened {
		if err == nil && d.changed && !p.opt.DryRun {
			err = p.storeFailed(p.finish(d))
		}
	}
	for _, d := range p.reopened {
		p.letGo(d)
	}
	return err
}

// finish brings up to date what follows from a directory's entries.
func (p *pusher) finish(d *folder) error {
	d.changed = false
	if err := p.rows().CountSubdirectories(d.row); err != nil {
		return err
	}
	st, err := p.host.stat(d.rel)
	if err != nil {
		return err
	}
	attr := attrOf(&st)
	attr.Mode = d.row.Attr.Mode
	err = p.rows().Update(d.in.row, d.name, d.row, func(*sqlvfs.Tx) { setAttr(d.row, attr) })
	if err == nil {
		p.agree(d.rel, &st, d.row, nil)
	}
	return err
}

func (p *pusher) entries(d *folder) (below []*folder, err error) {
	in, err := p.host.read(d.rel)
	var names []string
	if err == nil {
		defer in.close()
		names, err = in.names()
	}
	if err != nil {
		p.report.Fail(p.guestPath(d.rel), err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !p.limit.Meets(join(d.rel, name)) })
	all := make([]found, len(names))
	ahead := p.readers.Ahead()
	defer ahead.End()
	for i, name := range names {
		f := &all[i]
		*f = found{in: d, at: join(d.rel, name), name: name, dir: in.f}
		if f.st, f.err = hostdir.StatAt(in.f, name); f.err == nil && p.readsAhead(f.at, &f.st) {
			ahead.Add(in.f, name, &f.st)
		}
	}
	for i, name := range names {
		if err := p.ctx.Err(); err != nil {
			return below, errInterrupted
		}
		f := &all[i]
		f.content = ahead.Take(name)
		c, err := p.entry(in, f)
		if err := p.tell(f.at, err); err != nil {
			return below, err
		}
		if c != nil {
			below = append(below, c)
		}
		p.report.Add(1, 0)
	}
	return below, nil
}

// entry stores one entry of a directory. A directory it returns.
func (p *pusher) entry(in dir, f *found) (*folder, error) {
	at, st := f.at, &f.st
	if f.err != nil {
		return nil, f.err
	}
	if len(at) > maxPath {
		return nil, errTooLong
	}
	why := skipped(at)
	if p.own[at] {
		why = "skipped: it holds the user's settings of art"
	} else if why == "" && p.hides(at, fingerprintOf(st)) {
		why = "skipped: " + errHidden.Error()
	}
	if why != "" {
		p.report.Note(p.guestPath(at), why)
		return nil, nil
	}
	if in.hasDatabase(f.name, st) {
		p.report.Note(p.guestPath(at), "skipped: it belongs to the database")
		return nil, nil
	}
	p.seen[at] = true
	isDir := kind(st.Mode) == unix.S_IFDIR
	if why := p.filter.By(at, isDir); why != "" {
		p.report.LeftOut(why)
		return nil, nil
	}
	switch kind(st.Mode) {
	case unix.S_IFDIR:
		c := &folder{rel: at, name: f.name, in: f.in}
		if err := p.folder(c, st); err != nil {
			return nil, p.storeFailed(err)
		}
		return c, nil
	case unix.S_IFREG, unix.S_IFLNK:
		if !p.limit.Has(at) {
			return nil, nil // what the user named below it is gone
		}
		return nil, p.met(f)
	}
	p.report.Note(p.guestPath(at), "skipped: it is a "+hostdir.KindName(st.Mode))
	return nil, nil
}

// readsAhead tells whether a file is read before it is its turn: one that seems new or changed, but
// for long ones, whose content is moved piece by piece, and for those with several names, which are
// read once.
func (p *pusher) readsAhead(at string, st *unix.Stat_t) bool {
	if p.opt.DryRun || kind(st.Mode) != unix.S_IFREG || st.Size >= reading.BufferSize || st.Nlink > 1 || skipped(at) != "" {
		return false
	}
	b := p.base[at]
	return (b == nil || b.Fingerprint != fingerprintOf(st)) && p.filter.By(at, false) == ""
}

// met brings a file or a link, or postpones it. Most did not change, and of these nothing but the attributes
// is looked at.
func (p *pusher) met(f *found) error {
	isFile := kind(f.st.Mode) == unix.S_IFREG
	known := p.known(f)
	if isFile && f.st.Nlink > 1 {
		p.postpone(f)
	}
	switch {
	case known:
		return p.complete(f.at, &f.st)
	case isFile && f.st.Nlink > 1:
		return nil
	}
	if err := p.find(f); err != nil {
		return err
	}
	if p.shared(f) {
		p.postpone(f)
		return nil
	}
	return p.bring([]*found{f})
}

// skipped says why a path takes no part in push and pull, or nothing.
func skipped(rel string) string {
	switch {
	case rel == configDir:
		return "skipped: it holds art's own configuration"
	case staging.Is(rel):
		return "skipped: it belongs to a pull"
	}
	return ""
}

// inoText is what a line of output says of a row; a dry run has none for what is new.
func inoText(row *sqlvfs.Inode) string {
	if row == nil {
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
	return &storeError{fmt.Errorf("write %s: %w", p.opt.DB, err)}
}

var errInterrupted, errChanging = reading.ErrInterrupted, reading.ErrChanging
