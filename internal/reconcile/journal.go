package reconcile

import (
	"cmp"
	"encoding/json"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// A row may have its content in a host file that the same pull replaces or removes, and a directory that the
// guest has renamed shows what is in the host's. Should the pull be killed in between, nobody could tell any
// more what is where. So before the workspace is changed, the database has a journal: the name of the staging
// directory, and the operations in their order. The next push or pull of the workspace that has that directory
// finds by it what the guest has (recover.go), removes the journal, and plans anew; a session waits for that.
// Where there is no such directory, the journal says nothing.
//
// So there is if there are checkpoints: a tree that goes back is a change of the guest's against what the pull has left, also if that was
// killed.
//
// Beside a session there is always one: the guest goes on, and what it changes of what has come to the host already would be a
// conflict of the two, if nobody knew that it had come from the guest.

// journalEntry is an operation, or an item that there is nothing to do about. Names are bytes, since JSON has
// room for UTF-8 only.
type journalEntry struct {
	Do    verb
	Path  []byte
	There uint32             // mode of what the host has there; 0: nothing
	Now   sqlvfs.Fingerprint // of that
	Seen  bool               // the guest sees that, in another place
	Attr  sqlvfs.Attr        // of what the guest has

	Tmp []byte
	Is  sqlvfs.Fingerprint // what it is known by once it is in place, and while it is staged

	Row     sqlvfs.Ino         // that has it; 0: it shows through from the host
	Other   sqlvfs.Ino         // row of the file that it becomes another name of, if it has none itself
	Source  []byte             // host path that the rest of its content comes from
	Version sqlvfs.Fingerprint // of that

	Agreed bool            // in place, it is all that the row had, and nothing else
	Ctime  sqlvfs.Timespec // change time of the row then
	Hash   []byte          // of its content; nil: unknown
}

// writeJournal writes the journal, if any row or checkpoint depends on what the host has, or a session goes on.
func (p *puller) writeJournal(order []*operation) error {
	if !p.sameTree || p.exports || len(order) == 0 {
		return nil
	}
	for _, o := range order {
		p.depends = p.depends || o.source != "" || o.replaces() && p.origins[o.path] != nil
	}
	if !p.depends && p.session == nil {
		return nil
	}
	if p.staging == nil { // nothing but removals
		var err error
		if p.staging, err = staging.New(p.host.dir); err != nil {
			return p.host.failed(err)
		}
	}
	if err := p.staging.Own(p.host.db.ID(), p.store.Path()); err != nil {
		return p.host.failed(hostfs.Unwrap(err))
	}
	entries := [][]byte{[]byte(p.staging.Name)}
	for _, o := range order {
		entries = append(entries, jsonOf(p.entry(o)))
	}
	for _, a := range p.items {
		if a.op == nil && !a.left && a.node == nil && a.source != "" {
			entries = append(entries, jsonOf(p.entry(&operation{item: a})))
		}
	}
	p.rows().set(func(tx *sqlvfs.Tx) { tx.SetJournal(entries) })
	if err := p.store.Sync(); err != nil {
		return p.opt.writing(err)
	}
	p.journaled = true
	return nil
}

// leftByAnother notes what a pull from another database has left, which its rows may need.
func (p *planner) leftByAnother(name, where string) {
	p.report.Note(p.hostPath(name), "left as it is: a pull from "+p.report.Name(where)+" was killed, and another from there needs it; if that is gone, remove it")
}

// entry is what the journal says of an operation.
func (p *puller) entry(o *operation) *journalEntry {
	e := &journalEntry{Do: o.do, Path: []byte(o.path), There: o.host.Mode, Now: o.now, Attr: o.attr, Is: o.now,
		Source: []byte(cmp.Or(o.source, o.from)), Version: o.version}
	if e.Seen = o.there != 0 && p.live(o.path); o.there == 0 {
		e.There = 0
	}
	switch {
	case o.copyOf != nil:
	case o.node != nil:
		e.Row = o.node.Ino
	case o.link != nil && o.link.node != nil:
		e.Other = o.link.node.Ino
	}
	if e.Agreed = o.agrees(); e.Agreed {
		e.Ctime, e.Hash = o.node.Attr.Ctime, o.hash
	}
	switch {
	case o.patch: // it says so itself (inplace.go)
		e.Do, e.Is.Size, e.Is.Mtime = keep, o.attr.Size, o.attr.Mtime
	case o.do == attributes:
		e.Is.Mtime = o.attr.Mtime
	case o.tmp != "" && o.do != mkdir:
		e.Tmp = []byte(o.tmp)
		if st, err := p.stagedStat(o); err == nil {
			e.Is = hostfs.Fingerprint(&st)
		}
	}
	return e
}

// agrees reports whether the host, once it has what is staged, has all that the row had, and nothing of its own.
func (o *operation) agrees() bool {
	switch {
	case o.node == nil, o.copyOf != nil, o.part, o.patch, o.base != nil, o.decision.Push():
		return false
	case o.do == mkdir:
		return o.node.Origin == nil // else entries of the host's come along, which have no rows
	}
	return o.do == write || o.do == symlink || o.do == hardLink
}

// stagedStat returns the attributes of what is staged.
func (p *puller) stagedStat(o *operation) (st unix.Stat_t, err error) {
	if o.is != nil {
		return *o.is, nil
	}
	d, name, err := p.staging.Parent(o.tmp)
	if err != nil {
		return st, err
	}
	defer p.staging.Done(d)
	return hostfs.StatAt(d, name)
}

// endJournal makes sure that the journal is gone before what was staged is.
func (p *puller) endJournal() error {
	if !p.journaled {
		return nil
	}
	if err := p.store.Sync(); err != nil {
		return p.opt.writing(err)
	}
	if p.unkept {
		p.leaveStaging()
	}
	return nil
}

func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and bytes can be reported
	}
	return data
}
