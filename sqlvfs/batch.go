package sqlvfs

import (
	"math"
	"time"
)

// batch is a set of changes that one transaction will commit. It holds what is to be true
// afterwards, not how it came about. Steps change it until the writer takes the batch; from then on it
// does not change.
type batch struct {
	seq        uint64
	since      time.Time           // when the first change came in
	inodes     map[*Inode]bool     // every inode mentioned, held; true: its row changed
	dentries   map[nameKey]Ino     // 0: the entry is gone
	whiteouts  map[nameKey]bool    // false: the whiteout is gone
	xattrs     map[xattrKey][]byte // nil: the attribute is gone
	chunks     map[chunkKey]*chunk // new content
	cuts       map[*Inode]int64    // stored chunks from this index on are gone; before chunks
	baselines  map[baselineKey]baselineChange
	workspaces map[string]Workspace // by name; nil: none
	holds      []Hold               // that are remembered from now on
	journal    *[][]byte            // nil: it stays as it is
	numbers    map[uint64]Ino       // shown numbers of inodes with an origin, for FindNumber
	bytes      int                  // of content, for the bound on memory
	names      int                  // bytes of names, paths and targets that came in, same; also of those that are void by now
	sync       bool                 // someone waits for this batch to be durable
	rows       []inodeRow           // made by freeze
}

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

	put        bool // write the rows of fs_inode and, as needed, fs_symlink
	putOrigin  bool // write or delete the origin's rows
	orphan     bool // the inode has no name but is open: keep its content apart
	named      bool // with put: it was such an orphan until now
	drop       bool // delete every row of it
	dropData   bool // with drop: there may be content to delete
	dropXattrs bool // with drop: same
	dropSide   bool // with drop or orphan: there may be rows in side tables
}

func newBatch(seq uint64) *batch {
	return &batch{
		seq:       seq,
		inodes:    map[*Inode]bool{},
		dentries:  map[nameKey]Ino{},
		whiteouts: map[nameKey]bool{},
		xattrs:    map[xattrKey][]byte{},
		chunks:    map[chunkKey]*chunk{},
		cuts:      map[*Inode]int64{},
		baselines: map[baselineKey]baselineChange{},
	}
}

func (b *batch) empty() bool {
	return !b.changes() && len(b.workspaces) == 0 && b.holds == nil && b.journal == nil
}

// changes tells whether anything of the tree is changed.
func (b *batch) changes() bool { return len(b.inodes) > 0 || len(b.baselines) > 0 }

// size is the number of rows that the batch may write, for deciding when to commit.
func (b *batch) size() int {
	return len(b.inodes) + len(b.dentries) + len(b.whiteouts) + len(b.xattrs) + len(b.chunks) + len(b.baselines)
}

// weight is how many bytes wait to be written.
func (b *batch) weight() int { return b.bytes + b.names }

// touch notes that the next transaction is about this inode, and keeps it in memory until then.
// row tells whether its own row changed.
func (tx *Tx) touch(in *Inode, row bool) {
	was, ok := tx.gather.inodes[in]
	if !ok {
		in.pins++
		tx.begin()
	}
	if !ok || row && !was {
		tx.gather.inodes[in] = row || was
	}
	if in.Origin != nil && in.originDirty {
		if tx.gather.numbers == nil {
			tx.gather.numbers = map[uint64]Ino{}
		}
		tx.gather.numbers[in.Origin.Number] = in.Ino
	}
}

// begin has the writer take the batch a little after its first change.
func (tx *Tx) begin() {
	if tx.gather.empty() {
		tx.gather.since = time.Now()
		tx.kickLater()
	}
}

// freeze takes the values that the writer needs, so that it can work without the lock, and counts
// the batch's rows as stored from now on.
func (b *batch) freeze() {
	b.rows = make([]inodeRow, 0, len(b.inodes))
	for in, dirty := range b.inodes {
		if !dirty || in.dead && !in.onDisk() {
			continue
		}
		r := inodeRow{in: in, attr: in.Attr, target: in.target, origin: in.Origin}
		switch {
		case in.dead:
			r.drop, r.dropData, r.dropXattrs, r.dropSide = true, in.dataStored, in.xattrStored, in.sideStored
			in.stored, in.dataStored, in.xattrStored, in.sideStored, in.orphanRow = false, false, false, false, false
		case in.Attr.Nlink == 0:
			// A target is content, which whoever holds the link may still ask for.
			r.orphan, r.dropSide = true, in.sideStored
			in.stored, in.sideStored, in.orphanRow = false, in.sideStored && in.Attr.IsSymlink(), true
		default:
			r.put = true
			r.putOrigin, r.named = in.originDirty, in.orphanRow
			in.stored, in.originDirty, in.orphanRow = true, false, false
			in.sideStored = in.sideStored || in.Origin != nil || in.Attr.IsSymlink()
		}
		b.rows = append(b.rows, r)
	}
	for k, ino := range b.dentries {
		if e, ok := k.dir.children[k.name]; ok && ino != 0 {
			e.stored = true
			k.dir.children[k.name] = e
		}
	}
	for k, there := range b.whiteouts {
		if there {
			k.dir.whiteout[k.name] = true
		}
	}
	for k := range b.xattrs {
		if k.in.dead {
			delete(b.xattrs, k)
			continue
		}
		k.in.xattrStored = true
	}
	for k, c := range b.chunks {
		c.frozen = true
		k.in.dataStored = true
	}
}

// release ends a committed batch: its content can be read from the database now, and inodes that
// nobody else holds may leave memory.
func (tx *Tx) release(b *batch) {
	for k, c := range b.chunks {
		if k.in.chunks[k.index] == c {
			delete(k.in.chunks, k.index)
			if c.patch != nil {
				k.in.installs++ // what was read of the row before lacks the patch
			}
			switch {
			case k.in.own == nil:
			case c.patch == nil && len(c.data) == 0:
				delete(k.in.own, k.index)
			default:
				k.in.own[k.index] = struct{}{}
			}
		}
		tx.pool.put(c)
	}
	for in := range b.cuts {
		// What this batch cut off is deleted, and what it wrote behind the cut is stored. Only a cut
		// made since then still hides rows.
		in.voidFrom = math.MaxInt64
		if from, ok := tx.gather.cuts[in]; ok {
			in.voidFrom = from
		}
	}
	for in := range b.inodes {
		in.pins--
		tx.keep(in)
		tx.evict(in)
	}
}

// merge puts a batch that could not be committed back under the one that is gathering, so that the
// next attempt writes both: what has changed since wins.
func (tx *Tx) merge(old *batch) {
	g := tx.gather
	g.names += old.names
	for in, row := range old.inodes {
		if was, ok := g.inodes[in]; ok {
			g.inodes[in] = was || row
			in.pins-- // both batches held it
		} else {
			g.inodes[in] = row
		}
	}
	for _, r := range old.rows {
		if r.putOrigin {
			r.in.originDirty = true
		}
		if r.named {
			r.in.orphanRow = true
		}
		// Whatever state the rows are in, the next attempt must delete all that may exist.
		if r.drop || r.orphan {
			r.in.stored = true
			r.in.dataStored = r.in.dataStored || r.dropData
			r.in.xattrStored = r.in.xattrStored || r.dropXattrs
			r.in.sideStored = r.in.sideStored || r.dropSide
		}
	}
	for k, ino := range old.dentries {
		if _, ok := g.dentries[k]; !ok {
			g.dentries[k] = ino
		}
	}
	for k, there := range old.whiteouts {
		if _, ok := g.whiteouts[k]; !ok {
			g.whiteouts[k] = there
		}
	}
	for k, value := range old.xattrs {
		if _, ok := g.xattrs[k]; !ok {
			g.xattrs[k] = value
			g.bytes += len(value)
		}
	}
	for k, c := range old.chunks {
		switch now := k.in.chunks[k.index]; {
		case now == c:
			c.frozen = false
			g.chunks[k] = c
			g.bytes += c.size()
		case now != nil && now.patch != nil:
			// It was begun with the older one's parts, which are still to be written.
			for i := range c.dirty {
				if !now.dirty[i] {
					now.dirty[i] = true
					g.bytes += len(now.parts[i])
				}
			}
		}
	}
	for in, from := range old.cuts {
		if have, ok := g.cuts[in]; !ok || from < have {
			g.cuts[in] = from
		}
		if in.voidBatch == old.seq {
			in.voidBatch = g.seq
		}
	}
	for k, was := range old.baselines {
		if now, ok := g.baselines[k]; !ok || now.onlyIfNone {
			g.baselines[k] = was.then(now)
		}
	}
	for name, w := range old.workspaces {
		if _, ok := g.workspaces[name]; !ok {
			tx.SetWorkspace(w)
		}
	}
	g.holds = append(old.holds, g.holds...)
	if g.journal == nil {
		g.journal = old.journal
	}
	for n, ino := range old.numbers {
		if g.numbers == nil {
			g.numbers = map[uint64]Ino{}
		}
		if _, ok := g.numbers[n]; !ok {
			g.numbers[n] = ino
		}
	}
}
