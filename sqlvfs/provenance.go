package sqlvfs

import (
	"slices"
	"time"
)

// What is what a process has done to an inode: one or several of these.
type What uint8

// Kinds of changes.
const (
	Made       What = 1 << iota // it is a new inode
	Written                     // content, or its length
	Attributes                  // mode, owner, times that were set, extended attributes
	Named                       // it has got a name
	Removed                     // it has lost one
	ByMapping                   // some of what was written came from pages that were mapped: it is likely whose, not certain
	allKinds   = 1<<iota - 1
)

// noted is what processes have done to an inode since the log was last written.
type noted struct {
	in    *Inode // nil: it was not in memory
	ino   Ino    // 0: an object of the host that has no row
	seq   uint64 // Tx.logged then
	notes []note
	room  [1]note // most have no more

	last, by int64 // when it was last changed, in nanoseconds since 1970, and by which process
}

// note is what a process has done to an inode, or to a name of one: it becomes a row of art_change.
type note struct {
	process     int64
	dir         Ino // 0: not of a name
	name        string
	what        What
	first, last int64 // nanoseconds since 1970
}

// By says whose changes the step makes from now on: those of a process that [Store.AddProcess] has numbered, or nobody's, which is 0, and
// what every step begins with. mapped says that its content comes from mapped pages.
func (tx *Tx) By(process int64, mapped bool) {
	tx.by, tx.mapped = process, 0
	if mapped {
		tx.mapped = ByMapping
	}
}

// newStep forgets whose the changes of the last step were.
func (tx *Tx) newStep() {
	tx.by, tx.mapped, tx.told, tx.made, tx.unlinked = 0, 0, false, nil, nameKey{}
}

// notes tells whether what the step changes is noted.
func (tx *Tx) notes() bool { return tx.by != 0 || tx.told }

// ChangedAttributes is [Tx.Dirty] for attributes that somebody has set, which are not those that follow from other changes.
func (tx *Tx) ChangedAttributes(in *Inode) {
	tx.Dirty(in)
	tx.note(in, Attributes)
}

// note notes what the step's process does to an inode. The step touches the inode, too.
func (tx *Tx) note(in *Inode, what What) {
	if tx.notes() {
		tx.noteAt(in, what, time.Now().UnixNano())
	}
}

// noteWritten is note of content that was written at a moment, for who writes often.
func (tx *Tx) noteWritten(in *Inode, at Timespec) {
	if tx.notes() {
		tx.noteAt(in, Written|tx.mapped, nanoseconds(at))
	}
}

func (tx *Tx) noteAt(in *Inode, what What, now int64) {
	n := tx.notesOf(in)
	now = n.next(now, tx.by)
	for i := range n.notes {
		if o := &n.notes[i]; o.process == tx.by && o.what&Removed == 0 {
			o.what |= what
			o.last = max(o.last, now)
			return
		}
	}
	n.notes = append(n.notes, note{process: tx.by, what: what, first: now, last: now})
}

// next is the moment of a change after those that are noted. One clock ticks and the other does not, so that by them alone what is written
// may be from before the file was made, and of two processes that have changed it within a tick neither would be the last.
func (n *noted) next(now, by int64) int64 {
	if now <= n.last && by != n.by {
		now = n.last + 1
	}
	n.last, n.by = max(n.last, now), by
	return now
}

// noteNamed notes that an inode has got a name.
func (tx *Tx) noteNamed(in *Inode, dir *Inode, name string) {
	if in == tx.made && in.Origin != nil { // it was copied up: it has had this name
		tx.made = nil
		return
	}
	if !tx.notes() {
		return
	}
	n := tx.notesOf(in)
	now := n.next(time.Now().UnixNano(), tx.by)
	for i := range n.notes {
		if o := &n.notes[i]; o.process == tx.by && (o.dir == dir.Ino && o.name == name || o.dir == 0) {
			o.dir, o.name, o.what, o.last = dir.Ino, name, o.what|Named, max(o.last, now)
			return
		}
	}
	n.notes = append(n.notes, note{tx.by, dir.Ino, name, Named, now, now})
}

// noteRemoved notes that an inode has lost a name. One that it has got
// since the log was last written was none.
func (tx *Tx) noteRemoved(ino Ino, dir *Inode, name string) {
	tx.unlinked = nameKey{dir, name}
	in := tx.live[ino]
	if in != nil && in.noted != nil && in.noted.seq == tx.logged {
		for i := range in.noted.notes {
			if o := &in.noted.notes[i]; o.dir == dir.Ino && o.name == name && o.what&Removed == 0 {
				o.dir, o.name = 0, ""
				o.what &^= Named
				return
			}
		}
	}
	if !tx.notes() {
		return
	}
	now := time.Now().UnixNano()
	n := &noted{ino: ino}
	if in != nil {
		n = tx.notesOf(in)
	} else {
		tx.gather.noted = append(tx.gather.noted, n)
	}
	n.notes = append(n.notes, note{tx.by, dir.Ino, name, Removed, now, now})
}

// notesOf returns what is noted of an inode since the log was last written.
func (tx *Tx) notesOf(in *Inode) *noted {
	if in.noted == nil || in.noted.seq != tx.logged {
		n := &noted{in: in, ino: in.Ino, seq: tx.logged}
		if in.noted != nil {
			n.last, n.by = in.noted.last, in.noted.by
		}
		n.notes = n.room[:0]
		in.noted = n
		tx.gather.noted = append(tx.gather.noted, n)
	}
	return in.noted
}

// copiedUp forgets that an inode was made in the step: it has come to stand for an object of the host.
func (tx *Tx) copiedUp(in *Inode) {
	if in == tx.made && in.noted != nil {
		in.noted.notes = in.noted.notes[:0]
	}
}

// takeLog moves what is known of processes into a batch that was taken. With late, that waits for the next one, but for no longer than
// other changes do: who has all made durable again and again, as databases do, waits for the rows of its tree alone.
func (tx *Tx) takeLog(b *batch) {
	if b.late = b.late && !tx.closing && b.checkpoint == nil && (tx.lateFrom.IsZero() || time.Since(tx.lateFrom) < tx.linger); b.late {
		if tx.lateFrom.IsZero() {
			tx.lateFrom = time.Now()
		}
		b.noted, tx.gather.noted = nil, b.noted
		return
	}
	tx.lateFrom = time.Time{}
	tx.logged++
	tx.processes.take(b)
	b.session = tx.session.id
	b.noted = slices.DeleteFunc(b.noted, func(n *noted) bool { return n.in != nil && n.in.dead && n.in.tables == 0 })
	tx.watch.take(b)
}

// logs tells whether a batch has something of processes.
func (b *batch) logs() bool { return len(b.noted)+len(b.processes)+len(b.ends) > 0 }

func nanoseconds(t Timespec) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// anybodys tells whether it is known of a change whose it is.
func (n *noted) anybodys() bool {
	return slices.ContainsFunc(n.notes, func(o note) bool { return o.process != 0 })
}

// qPutChange adds to what is known of a process, an inode and a name in the time between two checkpoints.
const qPutChange = `INSERT INTO main.art_change (ino, checkpoint, process, parent_ino, name, what, first, last) VALUES (?,?,?,?,?,?,?,?)
	ON CONFLICT (ino, checkpoint, process, parent_ino, name) DO UPDATE SET what=what|excluded.what, last=max(last, excluded.last)`

// putNotes writes down what processes have done, since the newest checkpoint. Of a process that is not in the log, nothing is.
func (w *writer) putNotes(b *batch) error {
	if !slices.ContainsFunc(b.noted, (*noted).anybodys) {
		return nil
	}
	for _, table := range []string{"art_process", "art_change"} {
		if err := w.needTable(table); err != nil {
			return err
		}
	}
	known := map[int64]bool{}
	for _, n := range b.noted {
		for i := range n.notes {
			o := &n.notes[i]
			if o.process == 0 {
				continue
			}
			there, ok := known[o.process]
			if !ok {
				var err error
				if there, err = w.hasProcess(o.process); err != nil {
					return err
				}
				known[o.process] = there
				delete(w.quiet.known, o.process)
			}
			if !there || o.what == 0 {
				continue
			}
			q := w.Prep(qPutChange)
			for p, v := range [...]int64{int64(n.ino), w.newest.ID, o.process, int64(o.dir)} {
				q.BindInt64(p+1, v)
			}
			q.BindRawText(5, []byte(o.name))
			for p, v := range [...]int64{int64(o.what), o.first, o.last} {
				q.BindInt64(p+6, v)
			}
			if err := w.Run(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasProcess tells whether a process is in the log.
func (w *writer) hasProcess(id int64) (bool, error) {
	n, err := queryNumber(w.conn, "SELECT count(*) FROM main.art_process WHERE id=?", id)
	return n > 0, err
}
