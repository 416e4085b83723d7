package sync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/inspect/raw"
	"github.com/riverlytech/art/internal/sync/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Pull brings `/<base name of the directory>/` from the database opt.DB to the workspace opt.Dir.
// Only what differs is written and printed; what only the host has stays. See the package
// documentation for the steps and for what a hostile database can not do.
//
// [ErrIncomplete] means that some paths could not be done; each was told on standard error. After
// any other error that comes before the first line of output, the workspace is as it was.
func Pull(ctx context.Context, opt Options) error {
	abs, name, err := workspaceName(opt.Dir)
	if err != nil {
		return err
	}
	h, err := openHost(abs)
	if err != nil {
		return err
	}
	defer h.close()
	s, err := sqlvfs.Open(opt.DB, sqlvfs.Options{ReadOnly: opt.DryRun})
	if err != nil {
		return openError(opt.DB, err)
	}
	p := &puller{
		ctx: ctx, opt: &opt, report: newReporter(&opt, "art-sync"), host: h, store: s, name: name,
		asRoot: os.Geteuid() == 0, entered: map[sqlvfs.Ino]*action{}, files: map[sqlvfs.Ino]*action{},
		copies: map[object]*action{}, shared: map[object]*action{}, needed: map[string]bool{},
	}
	err = p.run()
	if cerr := s.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("write %s: %w", opt.DB, cerr)
	}
	return p.report.end(err)
}

// puller is one run of Pull.
type puller struct {
	ctx    context.Context
	opt    *Options
	report *reporter
	host   *host
	store  *sqlvfs.Store
	name   string
	asRoot bool // owners are set too, and count when files are compared

	actions []*action // in the order of the tree: a directory before what is in it
	dirs    []*action // every directory that the database or a copy names, in the same order

	entered map[sqlvfs.Ino]*action // directories of the database
	files   map[sqlvfs.Ino]*action // files with several names, by their row
	shared  map[object]*action     // files that the guest may see under other names of the host's
	copies  map[object]*action     // files with several names that are copied, by their source

	// needed are host files that rows still depend on because their copies failed: to replace them
	// would lose what the guest has.
	needed map[string]bool

	staging *staging
	buf     []byte
}

func (p *puller) run() error {
	top, err := p.top()
	if err != nil {
		return err
	}
	defer p.put(top)
	if p.host.db, err = findDatabase(p.store.Path()); err != nil {
		return fmt.Errorf("find %s: %w", p.opt.DB, err)
	}
	p.report.line("Workspace name: %s", p.report.name(p.name))
	p.report.line("Exporting from: %s", p.report.name("/"+p.name+"/"))
	root := &action{do: keep, path: ".", attr: top.Attr}
	p.dirs = append(p.dirs, root)
	if err := p.planDir(root, top, true); err != nil {
		return err
	}
	if err := p.planSharedNames(root, top, "."); err != nil {
		return err
	}
	if err := p.tellHidden(); err != nil {
		return fmt.Errorf("read %s: %w", p.opt.DB, err)
	}
	if p.opt.DryRun {
		for _, a := range p.actions {
			p.print(a)
		}
		return nil
	}
	if err := sweepStaging(p.host); err != nil {
		return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
	}
	defer p.endStaging()
	if err := p.stage(); err != nil {
		return err
	}
	err = p.place()
	// Also after an interruption: rows must not depend on what was just replaced.
	if rerr := p.renewOrigins(); err == nil {
		err = rerr
	}
	return err
}

// top returns the workspace's directory in the database, held.
func (p *puller) top() (*sqlvfs.Inode, error) {
	p.store.Lock()
	defer p.store.Unlock()
	c, ok, _, err := p.store.Child(p.store.Root(), p.name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.opt.DB, err)
	}
	if !ok {
		return nil, p.noWorkspace()
	}
	in, err := p.store.Get(c.Ino)
	if err == nil && !in.Attr.IsDir() {
		p.store.Put(in)
		err = unix.ENOTDIR
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: /%s: %w", p.opt.DB, p.name, err)
	}
	return in, nil
}

// noWorkspace says what there is instead. The Store's lock must be held.
func (p *puller) noWorkspace() error {
	all, err := p.store.Children(p.store.Root())
	if err != nil {
		return fmt.Errorf("read %s: %w", p.opt.DB, err)
	}
	var dirs []string
	for _, c := range all {
		if kind(c.Mode) == unix.S_IFDIR {
			dirs = append(dirs, quote.Name("/"+c.Name+"/", p.opt.StderrTerminal))
		}
	}
	slices.Sort(dirs)
	has := "it has no directories"
	if len(dirs) > 0 {
		has = "it has " + strings.Join(dirs, ", ")
	}
	return cli.WithHint(fmt.Errorf("%s: no workspace /%s/: %s", p.opt.DB, p.name, has),
		"give the host directory the name that the workspace has in the database, or push it first")
}

// tellHidden names the entries in the workspace's directories that were not planned because nobody
// can see them.
func (p *puller) tellHidden() error {
	db, err := raw.Open(p.store.Path())
	if err != nil {
		return err
	}
	defer db.Close()
	hidden, err := db.HiddenEntries()
	if err != nil {
		return err
	}
	for _, h := range hidden {
		if dir := p.entered[h.Dir]; dir != nil {
			p.report.fail(p.hostPath(dir.path)+"/"+h.Name, fmt.Errorf("not an entry that can be: %s", h.Why))
		}
	}
	return nil
}

func (p *puller) put(in *sqlvfs.Inode) {
	p.store.Lock()
	p.store.Put(in)
	p.store.Unlock()
}

// print tells of one action.
func (p *puller) print(a *action) {
	name := p.report.name(p.hostPath(a.path))
	switch a.do {
	case mkdir, chmodDir:
		p.report.line("DIR  %s", name)
	case symlink:
		p.report.line("LINK %s -> %s", name, p.report.name(a.target))
	case write, touch, hardLink:
		p.report.line("FILE %s (%d bytes)", name, a.attr.Size)
	}
}

// hostPath is how a path of the workspace is called in what pull prints.
func (p *puller) hostPath(rel string) string {
	if rel == "." {
		return p.name
	}
	return p.name + "/" + rel
}

// fail says that an action cannot be done. The directories above it will not be complete, and the
// host file that it takes its content from must stay for another attempt.
func (p *puller) fail(a *action, err error) {
	a.failed = true
	p.lacking(a, err)
	if a.source != "" {
		p.needed[a.source] = true
	}
}

// lacking says that a directory will be there, but not all of what belongs into it.
func (p *puller) lacking(a *action, err error) {
	p.report.fail(p.hostPath(a.path), err)
	for d := a; d != nil; d = d.in {
		d.incomplete = true
	}
}

// interrupted tells whether the run is to end.
func (p *puller) interrupted() error {
	if p.ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// fatal tells whether an error would hit all the other files too.
func fatal(err error) bool {
	for _, e := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, errInterrupted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
