package sync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Push stores the workspace opt.Dir in the database opt.DB, which is made if it does not exist,
// under `/<base name of the directory>/`. What is there already is replaced in place and keeps its
// inode number when it is of the same kind; what is equal stays untouched and is not printed; what
// only the database has stays.
//
// [ErrIncomplete] means that some paths could not be stored; each was told on standard error.
func Push(ctx context.Context, opt Options) error {
	abs, name, err := workspaceName(opt.Dir)
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
	r := newReporter(&opt, "art-sync")
	p := &pusher{ctx: ctx, opt: &opt, report: r, host: h, rows: rows{s}, name: name,
		links: map[object]*stored{}, owner: map[sqlvfs.Ino]object{}}
	r.Phase("push")
	r.line("Workspace name: %s", r.name(name))
	r.line("Files will be stored under: %s", r.name("/"+name+"/"))
	err = p.run(opt.DB)
	if s != nil {
		if cerr := s.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("write %s: %w", opt.DB, cerr)
		}
	}
	return r.end(err)
}

// openForPush opens the database, or returns nil for a dry run without one.
func openForPush(opt *Options) (*sqlvfs.Store, error) {
	now := sqlvfs.Now()
	s, err := sqlvfs.Open(opt.DB, sqlvfs.Options{
		ReadOnly: opt.DryRun,
		Create:   !opt.DryRun,
		Root: sqlvfs.Attr{
			Mode: unix.S_IFDIR | 0o755, Nlink: 2,
			UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()),
			Atime: now, Mtime: now, Ctime: now,
		},
	})
	if opt.DryRun && errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path.Dir(opt.DB)); err != nil {
			return nil, openError(opt.DB, unwrap(err))
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
	ctx    context.Context
	opt    *Options
	report *reporter
	host   *host
	rows   rows
	name   string
	links  map[object]*stored    // host files with several names that were met
	owner  map[sqlvfs.Ino]object // which host file a row with several names stands for
	copied map[object]sqlvfs.Ino // rows that sessions have made for host files with several names
	buf    []byte
}

// stored is a host file in the database.
type stored struct {
	ino sqlvfs.Ino
}

func (p *pusher) run(db string) error {
	real := db
	if p.rows.store != nil {
		real = p.rows.store.Path()
	}
	var err error
	if p.host.db, err = findDatabase(real); err != nil {
		return fmt.Errorf("find %s: %w", db, err)
	}
	st, err := fstat(p.host.dir)
	if err != nil {
		return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
	}
	if p.copied, err = p.rows.ownNames(p.name, p.opt.DryRun); err != nil {
		return p.storeFailed(err)
	}
	root := p.rows.root()
	top, _, err := p.putDir(root, p.name, ".", &st)
	if err != nil {
		return p.storeFailed(err)
	}
	defer p.rows.put(top)
	return p.dir(".", top)
}

// guestPath is how a path of the workspace is called in the database.
func (p *pusher) guestPath(rel string) string {
	if rel == "." {
		return "/" + p.name
	}
	return "/" + p.name + "/" + rel
}

// subdir is a directory whose content is still to be stored.
type subdir struct {
	rel string
	row *sqlvfs.Inode
}

// dir stores a directory's entries, then those below. Only one directory is open at a time, so
// the depth of the tree is no matter. The error is one that ends the run.
func (p *pusher) dir(rel string, row *sqlvfs.Inode) error {
	subdirs, err := p.entries(rel, row)
	for i, s := range subdirs {
		if err == nil {
			err = p.dir(s.rel, s.row)
		}
		p.rows.put(s.row)
		subdirs[i].row = nil
	}
	return err
}

func (p *pusher) entries(rel string, row *sqlvfs.Inode) (subdirs []subdir, err error) {
	d, err := p.host.openDir(rel)
	if err != nil {
		p.report.fail(p.guestPath(rel), err)
		return nil, nil
	}
	defer d.Close()
	self, err := fstat(d)
	if err != nil {
		p.report.fail(p.guestPath(rel), err)
		return nil, nil
	}
	names, err := entries(d)
	if err != nil {
		p.report.fail(p.guestPath(rel), err)
	}
	for _, name := range names {
		if err := p.ctx.Err(); err != nil {
			return subdirs, errInterrupted
		}
		child, isDir, err := p.entry(d, objectOf(&self), rel, name, row)
		switch {
		case errors.As(err, new(*storeError)):
			return subdirs, err
		case errors.Is(err, unix.ENOENT):
			// It was deleted since the directory was read: then it is not part of the workspace.
		case err != nil:
			p.report.fail(p.guestPath(join(rel, name)), err)
		case isDir:
			subdirs = append(subdirs, subdir{join(rel, name), child})
		}
		p.report.Add(1, 0)
	}
	if err == nil && !p.opt.DryRun {
		if err := p.rows.countSubdirectories(row); err != nil {
			return subdirs, p.storeFailed(err)
		}
	}
	return subdirs, nil
}

// entry stores one entry of the open directory d, whose row is dir. For a directory it returns the
// directory's row, held, which is nil when a dry run finds none.
func (p *pusher) entry(d *os.File, self object, rel, name string, dir *sqlvfs.Inode) (row *sqlvfs.Inode, isDir bool, err error) {
	st, err := statAt(d, name)
	if err != nil {
		return nil, false, err
	}
	at := join(rel, name)
	if why := skipped(at); why != "" {
		p.report.note(p.guestPath(at), why)
		return nil, false, nil
	}
	if p.host.db.has(self, name, &st) {
		return nil, false, nil
	}
	switch kind(st.Mode) {
	case unix.S_IFDIR:
		row, changed, err := p.putDir(dir, name, at, &st)
		if err != nil {
			return nil, false, p.storeFailed(err)
		}
		if changed {
			p.report.line("DIR  %s (%s)", p.report.name(p.guestPath(at)), inoText(row))
		}
		return row, true, nil
	case unix.S_IFREG:
		return nil, false, p.file(d, at, name, &st, dir)
	case unix.S_IFLNK:
		return nil, false, p.symlink(d, at, name, &st, dir)
	}
	p.report.note(p.guestPath(at), "skipped: it is a "+kindName(st.Mode))
	return nil, false, nil
}

// skipped says why a path takes no part in push and pull, or nothing.
func skipped(rel string) string {
	switch {
	case rel == configDir:
		return "skipped: it holds art's own configuration"
	case isStaging(rel):
		return "skipped: it belongs to a pull"
	}
	return ""
}

func kindName(mode uint32) string {
	switch kind(mode) {
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFREG:
		return "file"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "device"
	}
	return "thing of an unknown kind"
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
	if errors.As(err, new(*storeError)) {
		return err
	}
	return &storeError{fmt.Errorf("write %s: %w", p.opt.DB, err)}
}

var errInterrupted = errors.New("interrupted")
