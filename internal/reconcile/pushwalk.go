package reconcile

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

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
	p.rows().put(d.row)
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
	if p.beside {
		return nil // the session knows of its other entries
	}
	if err := p.rows().countSubdirectories(d.row); err != nil {
		return err
	}
	st, err := p.host.stat(d.rel)
	if err != nil {
		return err
	}
	attr := attrOf(&st)
	attr.Mode = d.row.Attr.Mode
	err = p.rows().update(d.in.row, d.name, d.row, func(*sqlvfs.Tx) { setAttr(d.row, attr) })
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
	names = slices.DeleteFunc(names, func(name string) bool { return !p.limit.Meets(join(d.rel, name)) || p.gitLock(join(d.rel, name)) })
	all := make([]found, len(names))
	ahead := p.readers.readAhead()
	defer ahead.End()
	for i, name := range names {
		f := &all[i]
		*f = found{in: d, at: join(d.rel, name), name: name, dir: in.f}
		if f.st, f.err = hostfs.StatAt(in.f, name); f.err == nil && p.readsAhead(f.at, &f.st) {
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
		if err := p.reportError(f.at, err); err != nil {
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
	} else if why == "" && p.hides(at, hostfs.Fingerprint(st)) {
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
	p.report.Note(p.guestPath(at), "skipped: it is a "+hostfs.KindName(st.Mode))
	return nil, nil
}

// readsAhead reports whether a file is read before it is its turn: one that seems new or changed, but
// for long ones, whose content is moved piece by piece, and for those with several names, which are
// read once.
func (p *pusher) readsAhead(at string, st *unix.Stat_t) bool {
	if p.opt.DryRun || kind(st.Mode) != unix.S_IFREG || st.Size >= bufferSize || st.Nlink > 1 || skipped(at) != "" {
		return false
	}
	b := p.base[at]
	return (b == nil || b.Fingerprint != hostfs.Fingerprint(st)) && p.filter.By(at, false) == ""
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
	return p.storeGroup([]*found{f})
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
