package sqlvfs

import (
	"fmt"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/inode"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Ino is a row number of fs_inode. The root directory is RootIno.
type Ino int64

const (
	// RootIno is the root directory of every tree.
	RootIno Ino = 1
	// MaxIno is the first number that is not given to new inodes. Numbers from here to 2^53, the
	// last that a JavaScript reader of the format holds exactly, stand for objects of a host tree.
	MaxIno Ino = inode.MaxIno
	// NameMax is the longest name of a directory entry in bytes, as on Linux (limits.h).
	NameMax = database.NameMax
)

// valid tells whether a row can have a number. Copies of the host's files have numbers below 0 (copies.go).
func (ino Ino) valid() bool { return ino != 0 && ino > -MaxIno && ino < MaxIno }

// What is known of any inode, of a database or of the host.
type (
	// Timespec is a moment as the kernel counts it.
	Timespec = inode.Timespec
	// Attr are an inode's attributes, with stat(2)'s meaning.
	Attr = inode.Attr
	// Fingerprint tells one version of a host file from the next.
	Fingerprint = inode.Fingerprint
	// LinkedName is a name of the host's that leads to an inode.
	LinkedName = inode.LinkedName
)

// Now is the present moment.
func Now() Timespec { return inode.Now() }

// Origin is the object of a host tree that supplies what an inode does not hold itself: a
// directory's other entries, a regular file's other chunks. Values are never changed, only replaced.
type Origin struct {
	Base        string // name of the workspace whose tree it is in
	Path        string // below that tree's root; "." is the root itself
	Number      uint64 // inode number shown to programs, kept from before the copy-up
	Fingerprint        // of the object when it was copied up
	Hash        string // SHA-256 of a file's content in that version; "": unknown
	Mode        uint32 // of the object when it was copied up; 0: unknown
	Until       int64  // a pull writes the inode's own chunks over the object, until this moment; 0: none does
	Limit       int64  // host content shows through below this offset, in bytes; 0: none does
}

// Inode is a live inode, which is read and changed in steps only.
type Inode struct {
	Ino    Ino
	Attr   Attr    // call Tx.Dirty after changing it
	Origin *Origin // nil: the inode stands for itself (a directory is opaque, but for some that package fs merges)

	*loaded                  // never nil; see hold
	chunks  map[int64]*chunk // content that is not committed yet, by chunk index
	noted   *noted           // what processes have done to it since the last batch; nil: nothing is known
	changed uint64           // the newest batch that mentions it: it stays in memory until that is committed
	version uint64           // changes when content that is stored, or the origin's, is no longer the file's
	born    int64            // when it was made, in nanoseconds since 1970; see Birth
	refs    int32            // callers that refer to it
	epoch   uint32           // read-only stores: the database version that the fields are from
	tables  tables           // in which there may be rows of it, now or when the batch in flight is committed
	dead    bool             // no name, no reference: rows are to be deleted
	whole   bool             // it has no hole, but perhaps its origin's; false: not known
}

// loaded is what most inodes have none of in memory.
type loaded struct {
	children map[string]child   // of a directory; nil until loaded
	whiteout map[string]bool    // of a directory, all true; loaded with children
	xattrs   map[string][]byte  // nil until loaded, and where there are none; values are never changed, only replaced
	target   string             // of a symbolic link; empty until loaded
	own      map[int64]struct{} // stored chunks of a file with an origin; nil until loaded
	content  []byte             // all of a short file's, as stored; nil: not in memory, see keepContent
	kept     kept               // in memory, though it can be read again
}

// nothing is what those inodes share that have nothing loaded. It is never changed.
var nothing loaded

// hold returns what is loaded of an inode, to be changed.
func (in *Inode) hold() *loaded {
	if in.loaded == &nothing {
		in.loaded = &loaded{}
	}
	return in.loaded
}

// renew notes that what is stored of a file's content, or the origin's, is no longer what the file has.
func (in *Inode) renew() {
	in.version++
	if in.content != nil {
		in.content = nil
	}
}

// tables are those that may have rows of an inode beside the one in fs_inode.
type tables uint8

const (
	inodeRows  tables = 1 << iota // fs_inode
	dataRows                      // fs_data
	sideRows                      // fs_symlink, fs_origin, art_origin
	xattrRows                     // art_xattr
	birthRows                     // art_birth
	orphanRows                    // art_orphan
)

type child struct {
	ino    Ino
	number uint64 // shown to programs; equal to ino for what has no origin
	mode   uint32
}

// Number is the inode number shown to programs. It stays the same across copy-up, rename and
// sessions.
func (in *Inode) Number() uint64 {
	if in.Origin != nil {
		return shownNumber(in.Ino, in.Origin.Number)
	}
	return rowNumber(in.Ino)
}

// rowNumber is the number that an inode shows which stands for itself. Those of copies of the host's files (copies.go) come below MaxIno,
// where no other row gets to.
func rowNumber(ino Ino) uint64 {
	if ino < 0 {
		ino += MaxIno
	}
	return uint64(ino)
}

// shownNumber distrusts numbers that would hide another inode: those below MaxIno are rows' own.
func shownNumber(ino Ino, number uint64) uint64 {
	if number >= uint64(MaxIno) && number < 1<<53 {
		return number
	}
	return rowNumber(ino)
}

// Root returns the root directory, which is always live. The caller need not put it.
func (tx *Tx) Root() *Inode { return tx.root }

// Get returns the inode with the given row number, to which the caller refers until [Tx.Put]. The error is
// [ErrNotExist] when there is no such row, or soon will be none, [ErrCorrupt] when the row makes no sense.
func (tx *Tx) Get(ino Ino) (*Inode, error) {
	in := tx.live[ino]
	if in != nil && in.dead {
		return nil, fmt.Errorf("%w: inode %d", ErrNotExist, ino)
	}
	if in == nil {
		in = &Inode{Ino: ino, loaded: &nothing}
		if err := tx.load(in); err != nil {
			return nil, err
		}
		tx.live[ino] = in
	} else if err := tx.refresh(in); err != nil {
		return nil, err
	}
	in.refs++
	return in, nil
}

// Put ends a reference. An inode that has neither names nor references any more is deleted with its
// content; one that is merely not needed leaves memory as soon as it is committed.
func (tx *Tx) Put(in *Inode) {
	in.refs--
	if in.refs == 0 && in.Attr.Nlink == 0 && !in.dead && !tx.readOnly {
		in.dead = true
		tx.dropChunks(in, 0)
		tx.dropNames(in)
		for name := range in.xattrs {
			delete(tx.gather.xattrs, xattrKey{in, name})
		}
		if in.tables != 0 {
			tx.touch(in, dirtyRow)
		}
	}
	tx.evict(in)
}

// dropNameless deletes inodes that only references have kept.
func (tx *Tx) dropNameless() {
	for _, in := range tx.live {
		if in.refs > 0 && in.Attr.Nlink == 0 && in != tx.root {
			in.refs = 1
			tx.Put(in)
		}
	}
}

// evict takes an inode that nothing refers to any more out of memory.
func (tx *Tx) evict(in *Inode) {
	if in.refs == 0 && !tx.uncommitted(in) && in != tx.root {
		delete(tx.live, in.Ino)
		tx.clean.remove(in)
	}
}

// New makes an inode that has no name yet, to which the caller refers until [Tx.Put]. Without a name and a link
// count it is an orphan: its content is kept only as long as it is referred to. The error is syscall.ENOSPC when
// all numbers are used up.
func (tx *Tx) New(attr Attr) (*Inode, error) {
	if !tx.changing {
		return nil, errViewing
	}
	if tx.nextIno >= MaxIno {
		return nil, syscall.ENOSPC
	}
	in := &Inode{Ino: tx.nextIno, Attr: attr, refs: 1, loaded: &nothing, whole: true}
	tx.nextIno++
	in.born = firstBirth(&attr)
	if attr.IsDir() {
		in.loaded = &loaded{children: map[string]child{}, whiteout: map[string]bool{}}
	}
	tx.live[in.Ino] = in
	tx.touch(in, dirtyRow)
	tx.made = in
	tx.note(in, Made)
	return in, nil
}

// Dirty says that in.Attr was changed. Every change must be followed by it in the same step.
func (tx *Tx) Dirty(in *Inode) { tx.touch(in, dirtyRow) }

// SetOrigin replaces the inode's origin; nil makes a directory opaque.
func (tx *Tx) SetOrigin(in *Inode, o *Origin) {
	if in.Origin == nil && in.tables != 0 {
		tx.entries = nil // those that lead to it may not have been counted
	}
	in.Origin = o
	in.renew()
	tx.touch(in, dirtyRow|dirtyOrigin)
	tx.noteObject(in.Ino, o)
	if o != nil {
		tx.copiedUp(in)
		if tx.gather.numbers == nil {
			tx.gather.numbers = map[uint64]Ino{}
		}
		tx.gather.numbers[o.Number] = in.Ino
	}
}

// Change moves the change time as [Attr.Change] does, and not to that of the origin's object: it would count as the inode's of before.
func (in *Inode) Change(now Timespec) {
	in.Attr.Change(now)
	if o := in.Origin; o != nil && in.Attr.Ctime == o.Ctime {
		in.Attr.Change(now)
	}
}

// Refer has an inode refer to another version of its origin's object. What has changed of the inode stays a change. Of a store that
// is read-only, it changes what is in memory alone.
func (tx *Tx) Refer(in *Inode, o *Origin) {
	stayChanged(&in.Attr, in.Origin, o)
	if tx.readOnly {
		in.Origin = o
		return
	}
	tx.SetOrigin(in, o)
}

// stayChanged gives an inode that has been changed a later change time, if that of the version to which it comes to refer is, by chance,
// the one that it has: by that it would count as unchanged since.
func stayChanged(a *Attr, was, now *Origin) {
	if was != nil && now != nil && a.Ctime != was.Ctime && a.Ctime == now.Ctime {
		a.Change(now.Ctime)
	}
}

// Follows tells whether all of a file's content is its origin's, and nothing else.
func (tx *Tx) Follows(in *Inode) (bool, error) {
	o := in.Origin
	if o == nil || o.Limit == 0 || o.Limit != o.Size || in.Attr.Size != o.Size || len(in.chunks) > 0 {
		return false, nil
	}
	if in.own == nil && in.tables&dataRows != 0 {
		if err := tx.loadOwn(in); err != nil {
			return false, err
		}
	}
	return len(in.own) == 0, nil
}

// FindNumber returns the row number of an inode that has an origin and shows the given number to
// programs, or 0 if there is none. Of changes, those that are not committed count too.
func (tx *Tx) FindNumber(number uint64) (Ino, error) {
	if ino, ok := tx.gather.numbers[number]; ok {
		return ino, nil
	}
	if tx.inflight != nil {
		if ino, ok := tx.inflight.numbers[number]; ok {
			return ino, nil
		}
	}
	ino := Ino(0)
	err := tx.each("SELECT delta_ino FROM fs_origin WHERE base_ino=?", func(q *sqlite3.Stmt) {
		if n := Ino(q.ColumnInt64(0)); ino == 0 || n < ino {
			ino = n
		}
	}, number)
	return ino, err
}

// load fills in an inode from its row.
func (tx *Tx) load(in *Inode) error {
	err := tx.loadFrom(tx.meta, in)
	if err == nil && in.target != "" {
		tx.keep(in)
	}
	return err
}

// loadFrom is load by a connection.
func (tx *Tx) loadFrom(c *conn, in *Inode) error {
	q := c.Prep(qInode)
	q.BindInt64(1, int64(in.Ino))
	if !c.Step(q) {
		if err := c.Done(q); err != nil {
			return err
		}
		return fmt.Errorf("%w: inode %d", ErrNotExist, in.Ino)
	}
	attr, err := scanAttr(q)
	if err == nil {
		in.Origin, err = scanOrigin(q)
		in.Origin = tx.moved.origin(in.Ino, in.Origin)
	}
	if derr := c.Done(q); err == nil {
		err = derr
	}
	if err != nil {
		return fmt.Errorf("inode %d: %w", in.Ino, err)
	}
	if attr.IsSymlink() {
		if err := tx.loadTarget(c, in); err != nil {
			return err
		}
		attr.Size = int64(len(in.target))
	}
	in.Attr, in.whole = attr, false
	in.tables = inodeRows | dataRows | sideRows | xattrRows | birthRows
	in.epoch = tx.epoch
	return nil
}

// Target returns where a symbolic link leads, and "" for what is none.
func (tx *Tx) Target(in *Inode) (string, error) {
	if err := tx.refresh(in); err != nil {
		return "", err
	}
	if in.target == "" && in.Attr.IsSymlink() {
		if err := tx.loadTarget(tx.meta, in); err != nil {
			return "", err
		}
		tx.keep(in)
	}
	return in.target, nil
}

// SetTarget says where a symbolic link leads, which is its size too.
func (tx *Tx) SetTarget(in *Inode, target string) {
	in.hold().target, in.Attr.Size = target, int64(len(target))
	tx.touch(in, dirtyRow)
	tx.gather.bytes += len(target)
}

func (tx *Tx) loadTarget(c *conn, in *Inode) error {
	target := ""
	q := bind(c.Prep(qTarget), in.Ino)
	if c.Step(q) {
		target = string(q.ColumnRawText(0))
	}
	if err := c.Done(q); err != nil {
		return err
	}
	if target == "" || len(target) >= 4096 {
		return fmt.Errorf("%w: inode %d: symbolic link without a target, or with one too long", ErrCorrupt, in.Ino)
	}
	in.hold().target = target
	return nil
}
