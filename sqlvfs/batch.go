package sqlvfs

import (
	"maps"
	"time"
)

// batch is a set of changes that one transaction will commit. It holds what is to be true
// afterwards, not how it came about, so that it may be written more than once, and two that follow one
// another are one in which the newer changes win. Steps change it until the writer takes it.
type batch struct {
	seq        uint64           // one more than that of the batch before
	since      time.Time        // when the first change came in
	inodes     map[*Inode]dirty // every inode mentioned
	dentries   edits[nameKey, Ino]
	whiteouts  edits[nameKey, struct{}]
	xattrs     edits[xattrKey, []byte]
	chunks     map[chunkKey]*chunk // new content
	cuts       map[*Inode]int64    // stored chunks from this index on are gone; before chunks
	baselines  map[baselineKey]baselineChange
	workspaces map[string]Workspace     // by name; nil: none
	pulled     map[pathOf]*Baseline     // what a pull has brought to the host; nil: nothing
	released   map[releasedKey]Released // what it has let go of
	holds      []Hold                   // that are remembered from now on
	journal    *[][]byte                // nil: it stays as it is
	places     []Place                  // beside the writer only
	releases   []Release                // same
	merges     bool                     // it takes over what a fork has:
	fills      []fill                   // content that is taken from there
	checkpoint *newCheckpoint           // to be made of what the batch leaves; nil: none
	noted      []*noted                 // what processes have done. It waits for what is
	untold     []untold                 // what is told of them
	found      map[Ino]NameIn           // where files are of which that was not known
	late       bool                     // until it is taken: what processes have done may come with the next one; then: it does
	session    int64                    // that has these:
	processes  map[int64]*Process       // that were added; nil: none
	ends       map[int64]end            // of others; nil: none
	numbers    map[uint64]Ino           // shown numbers of inodes with an origin, for FindNumber
	bytes      int                      // of content and names that came in, for the bound on memory
	patched    int                      // of these, in patches
	passAt     int                      // beside the writer: bytes, when content was passed ahead of the rest
	sync       bool                     // someone waits for this batch to be durable
	rows       []inodeRow               // of inodes, made by take
	committed  bool                     // it is in the database
}

// dirty is what is to be written of an inode itself.
type dirty uint8

const (
	dirtyRow    dirty = 1 << iota
	dirtyOrigin       // with the row
)

type nameKey struct {
	dir  *Inode
	name string
}

type xattrKey struct {
	in   *Inode
	name string
}

type chunkKey struct {
	in    *Inode
	index int64
}

// inodeRow is an inode as it was when the batch was taken.
type inodeRow struct {
	in     *Inode
	attr   Attr
	target string
	origin *Origin
	born   int64
	dead   bool
	dirty  dirty
	tables tables // that may have had rows of it before
}

func newBatch(seq uint64) *batch {
	return &batch{
		seq:       seq,
		inodes:    map[*Inode]dirty{},
		dentries:  edits[nameKey, Ino]{},
		whiteouts: edits[nameKey, struct{}]{},
		xattrs:    edits[xattrKey, []byte]{},
		chunks:    map[chunkKey]*chunk{},
		cuts:      map[*Inode]int64{},
		baselines: map[baselineKey]baselineChange{},
	}
}

func (b *batch) empty() bool {
	return !b.changes() && len(b.workspaces) == 0 && b.holds == nil && b.journal == nil && len(b.places)+len(b.releases) == 0 && b.checkpoint == nil
}

// changes tells whether anything of the tree is changed.
func (b *batch) changes() bool {
	return len(b.inodes)+len(b.baselines)+len(b.pulled)+len(b.released) > 0
}

// size is the number of rows that the batch may write, for deciding when to commit.
func (b *batch) size() int {
	return len(b.inodes) + len(b.dentries) + len(b.whiteouts) + len(b.xattrs) + len(b.chunks) + len(b.baselines)
}

// touch notes that the next transaction is about this inode, and keeps it in memory until then.
func (tx *Tx) touch(in *Inode, what dirty) {
	if in.changed != tx.gather.seq {
		tx.begin()
		in.changed = tx.gather.seq
	} else if what == 0 {
		return
	}
	tx.gather.inodes[in] |= what
}

// uncommitted tells whether changes of an inode are not committed.
func (tx *Tx) uncommitted(in *Inode) bool { return in.changed > tx.committed }

// begin has the writer take the batch a little after its first change.
func (tx *Tx) begin() {
	if !tx.gather.empty() {
		return
	}
	tx.gather.since = time.Now()
	tx.measure()
	if tx.asleep {
		tx.asleep = false
		tx.kickLater()
	}
}

// take ends the gathering of a batch, and copies of live inodes what the writer needs, so that it can work without the
// lock. From now on there may be rows of what is in the batch.
func (tx *Tx) take() *batch {
	b := tx.gather
	tx.gather, tx.inflight = newBatch(b.seq+1), b
	tx.takeLog(b)
	tx.changed = tx.changed || b.changes()
	b.rows = make([]inodeRow, 0, len(b.inodes))
	for in, what := range b.inodes {
		if in.dead && in.tables == 0 {
			continue // none of it was ever written
		}
		if what != 0 {
			b.rows = append(b.rows, inodeRow{in, in.Attr, in.target, in.Origin, in.born, in.dead, what, in.tables})
		}
		tx.expectRows(in)
	}
	return b
}

// expectRows notes which tables may have rows of an inode when what is dirty of it is written.
func (tx *Tx) expectRows(in *Inode) {
	switch {
	case in.Attr.Nlink > 0:
		in.tables |= inodeRows
		if in.Origin != nil || in.Attr.IsSymlink() {
			in.tables |= sideRows
		}
		if in.born != impliedBirth(&in.Attr) {
			in.tables |= birthRows
		}
	case in.tables&orphanRows == 0:
		in.tables |= orphanRows
		if in.Ino < tx.session.firstIno && in.Origin == nil && !in.Attr.IsDir() {
			tx.session.deleted++
		}
	}
	if len(in.chunks) > 0 {
		in.tables |= dataRows
	}
	if len(in.xattrs) > 0 {
		in.tables |= xattrRows
	}
}

// release ends a committed batch: its content can be read from the database now, and inodes that
// nobody else holds may leave memory.
func (tx *Tx) release(b *batch) {
	tx.committed = b.seq
	for _, n := range b.noted {
		if n.in != nil && n.in.noted == n {
			n.in.noted = nil
		}
	}
	for in := range b.cuts {
		in.renew() // what was read of its rows before has those that were cut off
	}
	for k, c := range b.chunks {
		if k.in.chunks[k.index] == c {
			delete(k.in.chunks, k.index)
			k.in.renew() // what was read of the row before lacks this
			switch {
			case k.in.own == nil:
			case c.patch == nil && len(c.data) == 0:
				delete(k.in.own, k.index)
			default:
				k.in.own[k.index] = struct{}{}
			}
			if k.in.keepContent(c) {
				continue
			}
		}
		tx.pool.put(c)
	}
	for in := range b.inodes {
		tx.keep(in)
		tx.evict(in)
	}
}

// merge puts a batch that could not be committed under the one that is gathering: the next
// attempt writes what both say, and what the newer one says where they differ.
func (tx *Tx) merge(old *batch) {
	g := tx.gather
	for in, what := range old.inodes {
		g.inodes[in] |= what
	}
	for k := range old.xattrs {
		if k.in.dead {
			delete(old.xattrs, k)
		}
	}
	g.dentries = old.dentries.then(g.dentries)
	g.whiteouts = old.whiteouts.then(g.whiteouts)
	g.xattrs = old.xattrs.then(g.xattrs)
	for k, c := range old.chunks {
		switch now := k.in.chunks[k.index]; {
		case now == c:
			c.batch = g.seq
			g.chunks[k] = c
		case now != nil && now.patch != nil:
			// It was begun with the older one's parts, which are still to be written.
			maps.Copy(now.dirty, c.dirty)
		}
	}
	for in, from := range old.cuts {
		if have, ok := g.cuts[in]; !ok || from < have {
			g.cuts[in] = from
		}
	}
	for k, c := range old.baselines {
		if now, ok := g.baselines[k]; ok {
			c = c.then(now)
		}
		g.baselines[k] = c
	}
	g.workspaces = over(old.workspaces, g.workspaces)
	g.pulled = over(old.pulled, g.pulled)
	g.released = over(old.released, g.released)
	g.numbers = over(old.numbers, g.numbers)
	g.processes = over(old.processes, g.processes)
	g.ends = over(old.ends, g.ends)
	g.noted = append(old.noted, g.noted...)
	g.holds = append(old.holds, g.holds...)
	g.places = append(old.places, g.places...)
	g.releases = append(old.releases, g.releases...)
	if g.journal == nil {
		g.journal = old.journal
	}
	g.since, g.bytes, g.patched, g.sync = old.since, g.bytes+old.bytes, g.patched+old.patched, g.sync || old.sync
}

// over is the union of two maps, in which the newer one wins.
func over[K comparable, V any](old, now map[K]V) map[K]V {
	if old == nil {
		return now
	}
	maps.Copy(old, now)
	return old
}
