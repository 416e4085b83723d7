package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// What a pull that was killed has left undone, nobody goes on with: the next push or pull plans anew, and holds
// back what it would hold back anyway. But rows may have content in files of the host that are replaced already.
// So before that, it is found where the pull has put it, by its journal (journal.go). Rows come to refer to what
// is in place, and take over what is staged. Nothing is changed in the workspace, and in the database nothing
// that whoever wrote the journal could not have written there as well.

var errJournal = errors.New("its journal of a pull is damaged: it is left out")

// recoverer brings the guest's tree back to what it was before a pull that was killed.
type recoverer struct {
	planner
	staging  *staging.Dir
	copied   map[object]sqlvfs.Ino // rows of copies that have several names
	vanished []string              // paths that the pull has removed from the host
	agreed   map[string]bool       // paths that both sides agree about
}

// recoverJournal finds what a pull that was killed has taken from rows. It returns the paths which that has removed from the host.
func recoverJournal(ctx context.Context, opt *Options, h *host, s *sqlvfs.Store, name string, entries [][]byte) (gone []string, err error) {
	r := &recoverer{planner: planner{ctx: ctx, opt: opt, report: newReporter(opt), host: h, store: s, name: name},
		copied: map[object]sqlvfs.Ino{}, agreed: map[string]bool{}}
	in := string(entries[0])
	if !staging.Is(in) || path.Base(in) != in {
		return nil, r.forgetJournal(errJournal)
	}
	r.staging, err = staging.Reopen(h.dir, in)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("workspace %s: open %s, which a pull that was killed has left: %w", h.dir.Name(), in, err)
	}
	defer func() {
		if err != nil {
			r.staging.Close() // for the next attempt
		}
	}()
	list, err := r.read(entries[1:])
	if err != nil {
		return nil, r.forgetJournal(err)
	}
	if err := r.look(); err != nil || !r.sameTree || r.top == nil || !r.top.Attr.IsDir() {
		return nil, err
	}
	written := devices{}
	for _, e := range list {
		if st, ok := r.placed(e); ok {
			written[st.Dev] = string(e.Path)
		}
	}
	if err := written.sync(h); err != nil {
		return nil, err
	}
	for _, e := range list {
		if err := cmp.Or(r.interrupted(), r.entry(e)); err != nil {
			return nil, opt.writing(err)
		}
	}
	return r.vanished, r.forgetJournal(nil)
}

// forgetJournal removes the journal and what was staged. why says what is wrong with it, if anything is.
func (r *recoverer) forgetJournal(why error) error {
	if why != nil {
		r.report.Note(r.opt.DB, why.Error())
	}
	r.rows().set(func(tx *sqlvfs.Tx) { tx.SetJournal(nil) })
	if err := r.store.Sync(); err != nil {
		return r.opt.writing(err)
	}
	if r.staging != nil {
		r.staging.Remove()
	}
	return nil
}

// read reads the journal's entries.
func (r *recoverer) read(entries [][]byte) (list []*journalEntry, err error) {
	for _, data := range entries {
		e := &journalEntry{}
		if json.Unmarshal(data, e) != nil || !r.carries(string(e.Path)) || len(e.Source) > 0 && !r.carries(string(e.Source)) {
			return nil, errJournal
		}
		list = append(list, e)
	}
	return list, nil
}

// carries reports whether push and pull have to do with a path.
func (r *recoverer) carries(rel string) bool {
	if rel == "." || len(rel) > maxPath {
		return rel == "."
	}
	at := "."
	for name := range strings.SplitSeq(rel, "/") {
		if at = join(at, name); !sqlvfs.ValidName(name) || skipped(at) != "" {
			return false
		}
	}
	d, name, err := r.host.openParent(rel)
	if err != nil {
		return true // nothing is there
	}
	defer d.Close()
	self, err := hostfs.Stat(d)
	if err != nil {
		return false
	}
	st, err := hostfs.StatAt(d, name)
	return err != nil || !r.host.db.Has(&self, name, &st)
}

// look reads what the database holds.
func (r *recoverer) look() (err error) {
	if r.id, err = r.host.tree(r.name); err != nil {
		return err
	}
	err = r.store.View(func(tx *sqlvfs.Tx) (err error) {
		if r.base, err = tx.Baselines(r.id); err == nil {
			err = r.loadTree(tx)
		}
		return err
	})
	return r.opt.reading(err)
}

// entry looks at what became of an operation.
func (r *recoverer) entry(e *journalEntry) error {
	at := string(e.Path)
	st, placed := r.placed(e)
	r.notePulled(e, &st, placed)
	if e.Seen && !placed {
		r.rows().set(func(tx *sqlvfs.Tx) { tx.AddBaseline(r.id, at, &sqlvfs.Baseline{Mode: e.There, Fingerprint: e.Now}) })
	}
	if e.Do == remove {
		r.agreeGone(at)
		return r.removed(at)
	}
	if placed && e.There == 0 {
		if err := r.hide(at); err != nil {
			return err
		}
	}
	agreed := placed && e.Agreed && e.Row != 0
	if agreed {
		if err := r.agree(e, &st); err != nil {
			return err
		}
	}
	switch {
	case e.Other != 0:
		if placed && len(e.Source) > 0 { // the guest shows it from where it was, as what has come is not seen there yet
			r.rows().set(func(tx *sqlvfs.Tx) {
				tx.AddBaseline(r.id, at, &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(&st)})
			})
		}
		return r.otherName(e)
	case len(e.Source) == 0, !agreed && !r.lost(e):
		return nil
	case e.Row == 0:
		return r.copyUp(e, &st, placed)
	}
	return r.refer(e, &st, placed)
}

// agree writes down that both sides agree about what is in place. What the guest has changed of it since is news to the host, and
// no conflict with what has come from the guest before.
func (r *recoverer) agree(e *journalEntry, st *unix.Stat_t) error {
	b := &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(st), Hash: e.Hash, Row: e.Row, RowCtime: e.Ctime}
	r.agreed[string(e.Path)] = true
	r.rows().set(func(tx *sqlvfs.Tx) { tx.SetBaseline(r.id, string(e.Path), b) })
	for _, at := range r.basePaths(e.Row) {
		if n, _ := r.guestAt(at); at != string(e.Path) && (n == nil || n.Ino != e.Row) {
			r.seen(at, r.base[at])
		}
	}
	n := r.tree.Node(e.Row)
	if n == nil || n.Origin == nil || n.Origin.Base != r.name || n.Origin.Limit > 0 || e.Do == hardLink {
		return nil
	}
	if n.Origin.Path != string(e.Path) {
		r.seen(n.Origin.Path, n.Baseline())
	}
	n.Origin = &sqlvfs.Origin{Base: r.name, Path: string(e.Path), Number: n.Origin.Number, Fingerprint: hostfs.Fingerprint(st), Mode: st.Mode}
	return setOrigin(r.store, n)
}

// seen writes down that the guest had what it has no more at a path. It is the row of another place now.
func (r *recoverer) seen(at string, was *sqlvfs.Baseline) {
	if r.agreed[at] {
		return
	}
	b := *was
	b.Row, b.RowCtime = 0, sqlvfs.Timespec{}
	r.rows().set(func(tx *sqlvfs.Tx) { tx.SetBaseline(r.id, at, &b) })
}

// agreeGone does the same about what is on the host no more. What the guest has there now is new.
func (r *recoverer) agreeGone(at string) {
	if r.host.has(at) {
		return
	}
	if n, _ := r.guestAt(at); n != nil {
		r.rows().set(func(tx *sqlvfs.Tx) { tx.SetBaseline(r.id, at, nil) })
	}
}

// placed reports whether a path has what was to come there.
func (r *recoverer) placed(e *journalEntry) (unix.Stat_t, bool) {
	st, err := r.host.stat(string(e.Path))
	switch {
	case err != nil || e.Do == remove || kind(st.Mode) != kind(e.Attr.Mode):
		return st, false
	case e.Attr.IsDir():
		return st, true
	}
	return st, e.known(&st) || st.Dev != e.Is.Dev && st.Size == e.Is.Size && hostfs.Timespec(st.Mtim) == e.Is.Mtime
}

// known reports whether a file is the one that was staged. Its change time moves with its names.
func (e *journalEntry) known(st *unix.Stat_t) bool {
	return st.Ino == e.Is.Ino && st.Size == e.Is.Size && hostfs.Timespec(st.Mtim) == e.Is.Mtime
}

// lost reports whether the host has no more what the guest has of it.
func (r *recoverer) lost(e *journalEntry) bool {
	st, err := r.host.stat(string(e.Source))
	if err == nil && e.Attr.IsDir() {
		return kind(st.Mode) != unix.S_IFDIR || st.Ino != e.Version.Ino
	}
	now := hostfs.Fingerprint(&st)
	if e.Do == hardLink { // its change time moves with its names, also in the staging directory
		now.Ctime = e.Version.Ctime
	}
	return err != nil || now != e.Version
}

// staged opens the directory of what is staged, if it is what was staged.
func (r *recoverer) staged(e *journalEntry) (d *os.File, name string, st unix.Stat_t) {
	if len(e.Tmp) == 0 {
		return nil, "", st
	}
	d, name, err := r.staging.Parent(string(e.Tmp))
	if err != nil {
		return nil, "", st
	}
	if st, err = hostfs.StatAt(d, name); err == nil && e.known(&st) && kind(st.Mode) == kind(e.Attr.Mode) {
		return d, name, st
	}
	r.staging.Done(d)
	return nil, "", st
}

// refer has a row refer to what is in place, or take over what is staged.
func (r *recoverer) refer(e *journalEntry, st *unix.Stat_t, placed bool) error {
	n := r.tree.Node(e.Row)
	if n == nil || !n.Attr.IsRegular() || n.Origin == nil || n.Origin.Limit == 0 || n.Origin.Base != r.name ||
		n.Origin.Path != string(e.Source) || n.Origin.Fingerprint != e.Version && !n.Follows() {
		return nil
	}
	d, name, is := r.staged(e)
	switch {
	case placed:
		is = *st
	case d == nil:
		return nil // planning will say what is missing
	}
	if d != nil {
		defer r.staging.Done(d)
	}
	o := *n.Origin
	if placed {
		if o.Path != string(e.Path) && !r.lost(e) { // that the guest has seen it is known by the row alone
			r.seen(o.Path, n.Baseline())
		}
		o.Path, o.Fingerprint, o.Mode, o.Hash = string(e.Path), hostfs.Fingerprint(&is), is.Mode, ""
	}
	switch {
	case n.Follows():
		n.Attr.Size, n.Attr.Mtime = is.Size, hostfs.Timespec(is.Mtim)
		o.Limit = n.Attr.Size
	case !e.Agreed || n.Attr.Ctime == e.Ctime:
		o.Limit = n.Attr.Size
	default: // what the guest has cut off since must not show again when the file grows
		o.Limit = min(o.Limit, n.Attr.Size)
	}
	n.Origin = &o
	if placed {
		return setOrigin(r.store, n)
	}
	row, err := r.rows().get(n.Ino)
	if err != nil {
		return err
	}
	defer r.rows().put(row)
	if n.Follows() {
		if err := setOrigin(r.store, n); err != nil {
			return err
		}
	}
	return r.takeOver(row, d, name)
}

// takeOver brings the content of what is staged into the database.
func (r *recoverer) takeOver(row *sqlvfs.Inode, d *os.File, name string) error {
	f, err := hostfs.Open(d, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.store.Fill(row, f, false, func(int) error { return r.interrupted() })
}

// otherName gives a row that refers to a new file of the host the name of a file that is still the old one, or is gone from where it shows
// through.
func (r *recoverer) otherName(e *journalEntry) error {
	row, err := r.rows().get(e.Other)
	if err != nil {
		return err
	}
	defer r.rows().put(row)
	o := row.Origin
	if o == nil || o.Base != r.name || !row.Attr.IsRegular() {
		return nil
	}
	moved := len(e.Source) > 0
	at, was := string(e.Path), e.Now
	if moved {
		at, was = string(e.Source), e.Version
	}
	st, err := r.host.stat(at)
	if err != nil && !moved || err == nil && (hostfs.Fingerprint(&st) == o.Fingerprint || st.Ino != was.Ino) {
		return nil
	}
	dir, name, err := r.untouched(r.shown(e))
	if err != nil || dir == nil {
		return err
	}
	defer r.rows().put(dir)
	return r.store.Update(func(tx *sqlvfs.Tx) error {
		if !moved {
			tx.AddBaseline(r.id, at, &sqlvfs.Baseline{Mode: e.There, Fingerprint: e.Now})
		}
		return tx.Link(dir, name, row)
	})
}

// removed has a directory that the guest has renamed show no more what is at its old path, if that is gone.
func (r *recoverer) removed(at string) error {
	n := r.origins[at]
	if n == nil || !n.Attr.IsDir() || r.places[n.Ino] == at {
		return nil
	}
	if st, err := r.host.stat(at); err == nil && kind(st.Mode) == unix.S_IFDIR {
		return nil
	}
	row, err := r.rows().get(n.Ino)
	if err != nil {
		return err
	}
	defer r.rows().put(row)
	return r.rows().change(row, func(tx *sqlvfs.Tx) { tx.SetOrigin(row, nil) })
}

// hide has a directory that the guest has renamed not show what the pull has made at its old path.
func (r *recoverer) hide(at string) error {
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		n := r.origins[dir]
		if n == nil && dir != "." {
			continue
		}
		if n == nil || !n.Attr.IsDir() || r.places[n.Ino] == dir || dir == "." {
			return nil
		}
		in, name, err := r.untouched(join(r.places[n.Ino], strings.TrimPrefix(at, dir+"/")))
		if err != nil || in == nil {
			return err
		}
		defer r.rows().put(in)
		return r.store.Update(func(tx *sqlvfs.Tx) error { return tx.SetWhiteout(in, name) })
	}
}
