package fs

import (
	"fmt"
	"io"
	"log"
	"maps"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Overlay is a delta in a database over a base on the host. The base, a workspace, shows as one
// directory in the root; everything else is the delta's alone. Without a base it is the plain tree
// of the database.
//
// One step of the overlay is one step of the database, see tx. Methods may be called at once by several goroutines,
// but for Appear, Backfill and Flatten, which say when.
type Overlay struct {
	store *sqlvfs.Store
	host  *Host // nil: no base
	name  string
	inner bool // the root is the base's own, not the database's
	owner *Caller
	acl   bool // see HasACL
	logf  func(string, ...any)

	shown      Caller     // the owner, in the mount's user namespace; see Appear
	accepting  sync.Mutex // see accept; before any step
	watchLimit int
	mergeDirs  func(path string) bool // see mergeBase; tests have others

	// The rest is changed in steps only.
	tx         tx
	nodes      map[Ino]*node
	broken     []string                      // see Broken
	backfiller *backfiller                   // nil: see Keep
	watches    *watches                      // nil: none
	pending    *pendingInvalidations         // nil: nobody to tell
	releases   map[sqlvfs.Ino]sqlvfs.Release // entries that go when the kernel forgets the inodes; nil: none
	cache      Cache                         // the kernel's
	opened     []*node                       // those whose file of the base is open, in the order of opening
	listed     []*node                       // those that have a list, same
	lists      map[*node][]dirent            // of directories, to be read on
	entries    int                           // in these lists
	opendirs   []*node                       // those whose directory of the base is open, in the order of opening
	negative   int                           // negative dentries that the kernel may have of the base
	ages       ages                          // of nodes
	elsewhere  map[Ino]Ino                   // numbers of nodes whose own were taken, by those; of rows by the rows' numbers
	placed     map[dentry]*node              // nodes of places, see findPlaces
	removed    map[*node]bool                // files that may have lost their last name, see keep.go

	amends int      // how often rows were changed beside it, with what the host has
	places []string // see KeepPlaces
}

var _ FileSystem = (*Overlay)(nil)

// OverlayOptions say what an overlay is made of.
type OverlayOptions struct {
	Store *sqlvfs.Store
	// Base is the workspace on the host, shown in the root under Name; nil for none.
	Base *Host
	Name string
	// Inner shows the base as the root itself. What is changed in it has its place in the database's root
	// under Name all the same.
	Inner bool
	// Owner, if not nil, is shown as the owner of whatever belongs to someone else: in a user
	// namespace with only one id, other owners would have none. See Appear.
	Owner *Caller
	// Watches is how many directories of the base may be watched for changes, see [WatchShare].
	Watches int
	// Logf receives what a person should know and no program is told. nil is the standard logger.
	Logf func(format string, args ...any)
}

// node is an inode that the kernel, or something here, refers to. One that was never changed has
// no row in the database; it is known by its place in the base alone.
type node struct {
	ino Ino
	// The kernel's references, which it keeps while it has an operation on the node under way; those of untouched nodes
	// to the directory that they are in; and that of the try of a step in which the node was made.
	refs uint64

	age       uint32        // see ages
	linkable  bool          // it had no name yet
	deadDir   bool          // the guest has removed it, and it was a directory
	displaced bool          // it is in elsewhere
	ends      ends          // of a file
	in        *sqlvfs.Inode // acquired; nil: untouched
	base      *base         // nil: the delta has it alone
	parentIno Ino           // for "..", of directories
}

// base is what the base adds to a node: where the node's origin is, what the host has said of that, and what the kernel
// was told of it.
type base struct {
	path string // see (*tx).baseChild

	// Of an untouched node:
	attr   sqlvfs.Attr        // when last looked at
	fp     sqlvfs.Fingerprint // same
	parent *node              // the directory it was found in
	name   string             // its name there
	fresh  bool               // a watch tells if attr changes

	gone bool // the guest has removed it

	// Of a directory with an origin:
	watch       *watch           // nil: changes of its entries go unnoticed
	unwatchable bool             // no use in trying
	dentries    map[string]*node // what the kernel was told of the base's names; nil: not there
	negative    int              // how many of these are nil
	expiring    bool             // the kernel is going to be told to forget its list
	dir         *HostDir         // open; nil: not. See keepDir

	// Of a file:
	names   map[string]bool // paths in the base that have shown it, beside entries that lead to it; see countName
	file    *HostFile       // in the base; nil: not open
	kept    *HostFile       // same, since it was removed; nil: it is not kept open
	size    int64           // that the kernel was told last, and 1; 0: it was told nothing
	resized resizing
	content sqlvfs.Fingerprint // the version of which the kernel may have content; zero: none
	stale   bool               // what it has is not of fp's version
	refused sqlvfs.Fingerprint // a version of the base's file that cannot stand in for the origin's
}

// top is the base path of the overlay's root: a directory that does not exist on the host, whose
// only entry is the workspace.
const top = ""

// NewOverlay puts an overlay together. It changes nothing, but that of an inner base the root is made in the database. Store
// and Base stay the caller's to close, when the overlay is not used any more. The error tells of a name that cannot be a
// workspace's, or of a database or a base that could not be read.
func NewOverlay(opt OverlayOptions) (*Overlay, error) {
	o := &Overlay{store: opt.Store, host: opt.Base, name: opt.Name, inner: opt.Inner, owner: opt.Owner, logf: opt.Logf, watchLimit: opt.Watches, mergeDirs: isMergeDir, cache: noCache{}, nodes: map[Ino]*node{}, lists: map[*node][]dirent{}, elsewhere: map[Ino]Ino{}, removed: map[*node]bool{}, ages: newAges(maxNodes)}
	o.tx = tx{Overlay: o}
	if o.logf == nil {
		o.logf = log.Printf
	}
	if o.host != nil && !sqlvfs.ValidName(o.name) {
		return nil, fmt.Errorf("%q cannot be the name of a workspace", o.name)
	}
	if opt.Owner != nil {
		o.shown = *opt.Owner
	}
	o.acl = o.wantsACL()
	root := &node{ino: RootIno, refs: 1, parentIno: RootIno}
	switch {
	case o.inner:
		root.base = &base{path: "."}
	case o.host != nil:
		root.base = &base{path: top}
	}
	o.nodes[RootIno] = root
	o.ages.come(root)
	how := viewing
	if o.inner {
		how = updating
	}
	err := o.run(how, nobody, func(t *tx) (err error) {
		root.in = t.db.Root()
		if t.inner {
			root.in, err = t.innerRoot()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// get returns a live node. The kernel only names nodes that it refers to.
func (t *tx) get(ino Ino) (*node, error) {
	n := t.nodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	t.use(n)
	if n.in != nil {
		if err := t.db.Refresh(n.in); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// add makes a node live, as long as something refers to it at the end of the try.
func (t *tx) add(n *node) {
	n.refs++
	t.nodes[n.ino] = n
	t.made = append(t.made, n)
	t.ages.come(n)
	t.prune()
}

// displace notes that a node has another number than its own.
func (t *tx) displace(own Ino, n *node) {
	if n.ino != own {
		t.elsewhere[own], n.displaced = n.ino, true
	}
}

// another is a number in place of one that is taken.
func another(number Ino) Ino {
	return number&^(1<<51-1) | 1<<52 | 1<<51 | (number*0x9e3779b97f4a7c15>>13)&(1<<51-1)
}

// setParent has an untouched node refer to the directory that it is in; nil: it is untouched no more.
func (t *tx) setParent(n, parent *node) {
	was := n.base.parent
	if was == parent {
		return
	}
	if n.base.parent = parent; parent != nil {
		parent.refs++
	}
	if was != nil {
		t.release(was, 1)
	}
}

// release ends references to a node. With the last one it goes out of memory, as do directories that only it has
// referred to.
func (t *tx) release(n *node, refs uint64) {
	n.refs -= min(refs, n.refs)
	if n.refs > 0 || t.nodes[n.ino] != n {
		return
	}
	delete(t.nodes, n.ino)
	delete(t.removed, n)
	if n.displaced {
		maps.DeleteFunc(t.elsewhere, func(_, ino Ino) bool { return ino == n.ino })
	}
	t.ages.leave(n)
	t.dropList(n)
	if n.in != nil {
		t.db.Put(n.in)
	}
	t.leaveBase(n)
	if n.in != nil && t.releases != nil {
		t.released(n)
	}
}

// leaveBase ends what was noted of what the base adds to a node.
func (t *tx) leaveBase(n *node) {
	if n.base == nil {
		return
	}
	t.closeFile(n)
	if n.base.kept != nil {
		n.base.kept.Close()
		n.base.kept = nil
	}
	t.closeDir(n)
	t.negative -= n.base.negative
	if n.base.watch != nil {
		t.watches.removeNode(n.base.watch, n)
	}
	if parent := n.base.parent; parent != nil {
		if parent.base.dentries[n.base.name] == n {
			t.forgetDentry(parent, n.base.name)
		}
		t.setParent(n, nil)
	}
}

// Forget implements FileSystem.
func (o *Overlay) Forget(ino Ino, count uint64) {
	o.view(func(t *tx) error {
		if n := t.nodes[ino]; n != nil && n.ino != RootIno {
			t.release(n, count)
		}
		return nil
	})
}

// gone tells whether the base adds nothing to a node any more, since the guest has removed it. Somebody may have it open.
func (n *node) gone() bool { return n.base != nil && n.base.gone }

// inBase tells whether a node has a place in the base.
func (n *node) inBase() bool { return n.base != nil && !n.base.gone && n.base.path != top }

// attrOf returns a node's attributes as known.
func (n *node) attrOf() *sqlvfs.Attr {
	if n.in != nil {
		return &n.in.Attr
	}
	return &n.base.attr
}

// entry makes what the kernel is told of a node.
func (t *tx) entry(n *node) Entry {
	follows, err := t.follows(n)
	e := Entry{Ino: n.ino, Attr: *n.attrOf(), Blocks: t.blocks(n, follows), TTL: t.forever(), AttrTTL: t.forever()}
	if n.in == nil && !n.base.gone && !n.base.fresh || follows || err != nil {
		e.AttrTTL = BaseTTL
	}
	if n.in == nil {
		n.base.resize(e.Attr.Size)
	}
	n.ends.tell(e.Attr.Size)
	// Who shows as another owner could be refused by the kernel what it should have, and the other way
	// round: what we may not read is not the guest's either.
	if t.owner != nil && (n.in != nil || t.host == nil || t.host.readable(&n.base.attr)) {
		e.Attr.UID, e.Attr.GID = t.shown.UID, t.shown.GID
	}
	if t.owner != nil && t.opens(n) {
		e.Attr.Mode |= 0o700
	}
	return e
}

// opens tells whether a node is the guest's home, or the workspace in it. These open for their owner,
// whatever mode the database keeps for them: a session begins there, and the one before could lock it out.
func (t *tx) opens(n *node) bool {
	if n.in == nil || n.ino == RootIno || n.parentIno != RootIno || !n.in.Attr.IsDir() {
		return n.ino == RootIno
	}
	c, ok, _, err := t.db.Child(t.db.Root(), t.name)
	return err == nil && ok && c.Ino == n.in.Ino
}

// Appear sets the ids that the owner has in the user namespace of the mount, if they are others than on
// the host. It is to be called before the overlay is served.
func (o *Overlay) Appear(as Caller) { o.shown = as }

// hostUID is the id to be stored for a user of the mount's.
func (o *Overlay) hostUID(uid uint32) uint32 {
	if o.owner != nil && uid == o.shown.UID {
		return o.owner.UID
	}
	return uid
}

// hostGID is the id to be stored for a group of the mount's.
func (o *Overlay) hostGID(gid uint32) uint32 {
	if o.owner != nil && gid == o.shown.GID {
		return o.owner.GID
	}
	return gid
}

// forever is for how long the kernel may keep what it was told of the delta.
func (o *Overlay) forever() time.Duration {
	if o.Volatile() {
		return BaseTTL
	}
	return Forever
}

// acquireEntry makes an entry with which the kernel refers to the node once more.
func (t *tx) acquireEntry(n *node) Entry {
	n.refs++
	t.use(n)
	return t.entry(n)
}

// baseNumber is the inode number shown for an object of the base.
func (o *Overlay) baseNumber(fp sqlvfs.Fingerprint) Ino { return Ino(fp.Number(o.host.dev)) }

// Statfs implements FileSystem: the disk that the database is on.
func (o *Overlay) Statfs() (Statfs, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(o.store.Path()), &st); err != nil {
		return Statfs{}, err
	}
	return Statfs{
		BlockSize: uint32(st.Frsize), Blocks: st.Blocks, BlocksFree: st.Bfree, BlocksAvailable: st.Bavail,
		// Inodes are rows: there are as many as there is space.
		Inodes: uint64(sqlvfs.MaxIno), InodesFree: uint64(sqlvfs.MaxIno),
	}, nil
}

// Volatile implements FileSystem: another process may be changing the database.
func (o *Overlay) Volatile() bool { return o.store.ReadOnly() }

// MayHang implements FileSystem: of the base.
func (o *Overlay) MayHang() bool { return o.host != nil && !localFS(o.host.root) }

// Sync implements FileSystem.
func (o *Overlay) Sync() error { return o.store.Sync() }

// Readlink implements FileSystem.
func (o *Overlay) Readlink(ino Ino) (target string, err error) {
	path := ""
	err = o.view(func(t *tx) error {
		n, err := t.get(ino)
		switch {
		case err != nil:
		case n.in != nil:
			target, err = t.db.Target(n.in)
		default:
			path = n.base.path
			n.base.content = n.base.fp // the kernel keeps it (fuse_get_link in fs/fuse/dir.c), and another link may get its inode number
		}
		return err
	})
	if path != "" {
		return o.host.Readlink(path)
	}
	return target, err
}

var _ io.ReaderAt = (*HostFile)(nil)
