package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/sync/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// A row may have its content in a host file that the same pull replaces or removes. Should it be killed in
// between, nobody could tell any more what is where. So before the workspace is changed, the database has a
// journal: the name of the staging directory, and the operations in their order. The next push or pull of the
// workspace that has that directory does those that are left, has the rows refer to what is in place, and
// removes the journal; a session waits for that. Where there is no such directory, the journal says nothing.

// journalEntry is an operation. Names are bytes, since JSON has room for UTF-8 only.
type journalEntry struct {
	Do    verb
	Path  []byte
	Tmp   []byte
	Tree  int // the entry of the new directory that it is staged in, or -1
	There uint32
	Links uint32 // of what is there
	Now   sqlvfs.Fingerprint
	Attr  sqlvfs.Attr
	Row   sqlvfs.Ino // 0: none
	Part  bool       // some of the row's content is in a host file
}

// writeJournal writes the journal, if any row depends on what a host file holds.
func (p *puller) writeJournal(order []*operation) error {
	depends := false
	index := map[*operation]int{}
	for _, o := range order {
		depends = depends || o.source != "" || o.replaces() && p.origins[o.path] != nil
		index[o] = len(index)
	}
	if !depends || !p.sameTree || p.exports {
		return nil
	}
	if p.staging == nil { // nothing but removals
		var err error
		if p.staging, err = staging.New(p.host.dir); err != nil {
			return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
		}
	}
	entries := [][]byte{[]byte(p.staging.Name)}
	for _, o := range order {
		e := journalEntry{Do: o.journaled(), Path: []byte(o.path), Tmp: []byte(o.tmp), Tree: -1, There: o.there, Links: o.host.Nlink, Now: o.now, Attr: o.attr}
		if o.tree != nil {
			e.Tree = index[o.tree]
		}
		if o.node != nil && o.beside == nil && o.node.Origin != nil && !o.incomplete {
			e.Row, e.Part = o.node.Ino, o.source != ""
		}
		entries = append(entries, jsonOf(e))
	}
	p.store.Lock()
	p.store.SetJournal(entries)
	p.store.Unlock()
	if err := p.store.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", p.opt.DB, err)
	}
	p.journaled = true
	return nil
}

// journaled is what another pull has to do for an operation. What is written in place says so itself (inplace.go).
func (o *operation) journaled() verb {
	if o.patch {
		return keep
	}
	return o.do
}

// endJournal makes sure that the journal is gone before what was staged is.
func (p *puller) endJournal() error {
	if !p.journaled {
		return nil
	}
	if err := p.store.Sync(); err != nil {
		p.staging = nil // it stays
		return fmt.Errorf("write %s: %w", p.opt.DB, err)
	}
	return nil
}

func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and bytes can be told
	}
	return data
}

var errJournal = errors.New("its journal of a pull is damaged: it is left out")

// resume finishes what a pull that was killed had begun.
func resume(ctx context.Context, opt *Options, h *host, s *sqlvfs.Store, name string) error {
	s.Lock()
	entries, err := s.Journal()
	s.Unlock()
	if err != nil || len(entries) == 0 || s.ReadOnly() {
		return err
	}
	p := &puller{planner: planner{ctx: ctx, opt: opt, report: newReporter(opt, "art-sync"), host: h, store: s, name: name,
		asRoot: os.Geteuid() == 0, needed: map[string]bool{}}}
	p.settle = p
	if name := string(entries[0]); !staging.Is(name) || path.Base(name) != name {
		return p.forgetJournal(errJournal)
	}
	if p.staging, err = staging.Reopen(h.dir, string(entries[0])); err != nil {
		return nil
	}
	if h.db, err = findDatabase(s.Path()); err != nil {
		return err
	}
	if p.ops, err = p.readJournal(entries[1:]); err != nil {
		return p.forgetJournal(err)
	}
	for _, o := range p.ops {
		o.done = p.carriedOut(o)
	}
	p.carryOut(p.ops)
	for _, o := range p.ops {
		if err := p.referToPlaced(o); err != nil {
			return fmt.Errorf("write %s: %w", opt.DB, err)
		}
	}
	if err := unix.Syncfs(int(h.dir.Fd())); err != nil {
		return fmt.Errorf("workspace %s: sync: %w", h.dir.Name(), err)
	}
	return p.forgetJournal(nil)
}

// forgetJournal removes the journal and what was staged. why says what is wrong with it, if anything is.
func (p *puller) forgetJournal(why error) error {
	if why != nil {
		p.report.note(p.opt.DB, why.Error())
	}
	p.store.Lock()
	p.store.SetJournal(nil)
	p.store.Unlock()
	err := p.store.Sync()
	p.endStaging()
	return err
}

// readJournal turns the journal's entries into operations again.
func (p *puller) readJournal(entries [][]byte) (ops []*operation, err error) {
	list := make([]journalEntry, len(entries))
	dirs := map[string]*item{}
	for i, data := range entries {
		e := &list[i]
		if err := json.Unmarshal(data, e); err != nil || !p.mayTouch(string(e.Path)) || e.Tree >= len(entries) {
			return nil, errJournal
		}
		a := &item{path: string(e.Path), there: e.There, now: e.Now, attr: e.Attr}
		a.host.Nlink = e.Links
		if a.in = dirs[path.Dir(a.path)]; a.in == nil && a.path != "." {
			a.in = &item{path: path.Dir(a.path), there: unix.S_IFDIR}
		}
		if e.Do == remove {
			a.attr = sqlvfs.Attr{}
		} else if a.attr.IsDir() {
			dirs[a.path] = a
		}
		if err := p.journaledRow(a, e); err != nil {
			return nil, err
		}
		a.op = &operation{item: a, do: e.Do, tmp: string(e.Tmp)}
		ops = append(ops, a.op)
	}
	for i, e := range list {
		if e.Tree >= 0 {
			ops[i].tree = ops[e.Tree]
		}
	}
	return ops, nil
}

// journaledRow finds the row of an item again.
func (p *puller) journaledRow(a *item, e *journalEntry) error {
	if e.Row == 0 {
		return nil
	}
	return p.rows().With(e.Row, func(row *sqlvfs.Inode) error {
		a.node = &sqlvfs.Node{Ino: row.Ino, Attr: row.Attr, Origin: row.Origin}
		if e.Part && row.Origin != nil {
			a.source = row.Origin.Path
		}
		return nil
	})
}

// mayTouch tells whether a pull may change anything at a path.
func (p *puller) mayTouch(rel string) bool {
	if rel == "." {
		return true
	}
	for name := range strings.SplitSeq(rel, "/") {
		if !sqlvfs.ValidName(name) {
			return false
		}
	}
	d, name, err := p.host.openParent(rel)
	if err != nil {
		return skipped(rel) == ""
	}
	defer d.Close()
	self, err := hostdir.Stat(d)
	if err != nil {
		return false
	}
	st, err := hostdir.StatAt(d, name)
	return skipped(rel) == "" && (err != nil || !p.host.db.has(objectOf(&self), name, &st))
}

// carriedOut tells whether an operation was carried out before the pull was killed.
func (p *puller) carriedOut(o *operation) bool {
	switch o.do {
	case write, symlink, hardLink:
		if o.tmp == "" {
			return true // chunks of it are written into what is there: planning finds it again
		}
	case mkdir:
		st, err := p.host.stat(o.path)
		return err == nil && kind(st.Mode) == unix.S_IFDIR
	case remove:
		return false // it is looked for again
	default:
		return true // planning finds it again
	}
	d, name, err := p.staging.Parent(o.tmp)
	if err != nil {
		return err == unix.ENOENT && p.isPlaced(o)
	}
	defer p.staging.Done(d)
	_, err = hostdir.StatAt(d, name)
	return err == unix.ENOENT && p.isPlaced(o)
}

// isPlaced tells whether a path has what was staged for it.
func (p *puller) isPlaced(o *operation) bool {
	st, err := p.host.stat(o.path)
	return err == nil && kind(st.Mode) == kind(o.attr.Mode) && (kind(st.Mode) != unix.S_IFREG || st.Size == o.attr.Size && timespec(st.Mtim) == o.attr.Mtime)
}

// referToPlaced has a row whose content, or whose entries, came from the host refer to what is in place now.
func (p *puller) referToPlaced(o *operation) error {
	if !o.done || o.node == nil || o.incomplete || !p.isPlaced(o) {
		return nil
	}
	st, err := p.host.stat(o.path)
	if err != nil {
		return nil // gone again: planning will tell
	}
	return p.rows().With(o.node.Ino, func(row *sqlvfs.Inode) error {
		if row.Origin == nil || row.Origin.Base != p.name {
			return nil
		}
		n := *row.Origin
		n.Path, n.Fingerprint, n.Mode, n.Hash = o.path, fingerprintOf(&st), st.Mode, ""
		if n.Limit > 0 {
			n.Limit = row.Attr.Size
		}
		p.store.SetOrigin(row, &n)
		return nil
	})
}
