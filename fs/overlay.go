package fs

import (
	"fmt"
	"io"
	"log"
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
// The Store's lock guards the overlay's state as well, so that one step of the overlay is one step
// of the database. It is never held while the host is asked for something.
type Overlay struct {
	store *sqlvfs.Store
	host  *Host // nil: no base
	name  string
	inner bool // the root is the base's own, not the database's
	owner *Caller
	logf  func(string, ...any)

	nodes map[Ino]*node // GUARDED_BY(store)

	shown Caller // the owner, in the mount's user namespace; see Appear

	broken    []string   // see Broken. GUARDED_BY(store)
	accepting sync.Mutex // see accept; before the store's lock
	keeper    *keeper    // nil: see Keep. GUARDED_BY(store)

	watchLimit int
	watches    *watches // nil: none. GUARDED_BY(store)
	doubts     *doubts  // nil: nobody to tell. GUARDED_BY(store)
	cache      Cache    // the kernel's, in which doubts are settled. GUARDED_BY(store)

	opened  []*opened // files of the base, those opened first before the others. GUARDED_BY(store)
	listed  []*node   // those that have a list, same. GUARDED_BY(store)
	entries int       // in these lists. GUARDED_BY(store)
	absent  int       // names that the kernel was told not to be there. GUARDED_BY(store)
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
	ino     Ino
	lookups uint64 // held by the kernel
	holds   int    // held by operations and by untouched children

	in *sqlvfs.Inode // held; nil: untouched

	// Where in the base the inode has its origin, if it has one. See (*Overlay).baseChild.
	path  string
	based bool

	// Of an untouched node:
	attr   sqlvfs.Attr        // when last looked at
	fp     sqlvfs.Fingerprint // same
	parent *node              // held; the directory it was found in
	name   string             // its name there
	gone   bool               // it has been removed from there
	fresh  bool               // a watch tells if attr changes

	// Of a directory with an origin:
	watch       *watch           // nil: changes of its entries go unnoticed
	unwatchable bool             // no use in trying
	handed      map[string]*node // what the kernel was told of the base's names; nil: not there
	absent      int              // how many of these are nil
	list        []dirent         // for who reads on; nil: none
	expiring    bool             // the kernel is going to be told to forget its list

	parentIno Ino // for "..", of directories

	opened  *opened            // its file in the base; nil: not open
	content sqlvfs.Fingerprint // the version of which the kernel may have content; zero: none
	stale   bool               // what it has is not of fp's version
	refused sqlvfs.Fingerprint // a version of the base's file that cannot stand in for the origin's
}

// top is the base path of the overlay's root: a directory that does not exist on the host, whose
// only entry is the workspace.
const top = ""

// NewOverlay puts an overlay together. It changes nothing, but that of an inner base the root is made in the database.
func NewOverlay(opt OverlayOptions) (*Overlay, error) {
	o := &Overlay{store: opt.Store, host: opt.Base, name: opt.Name, inner: opt.Inner, owner: opt.Owner, logf: opt.Logf, watchLimit: opt.Watches, cache: noCache{}, nodes: map[Ino]*node{}}
	if o.logf == nil {
		o.logf = log.Printf
	}
	if o.host != nil && !sqlvfs.ValidName(o.name) {
		return nil, fmt.Errorf("%q cannot be the name of a workspace", o.name)
	}
	if opt.Owner != nil {
		o.shown = *opt.Owner
	}
	root := &node{
		ino: RootIno, lookups: 1, in: opt.Store.Root(),
		path: top, based: o.host != nil, parentIno: RootIno,
	}
	if o.inner {
		var err error
		if root.in, err = o.innerRoot(); err != nil {
			return nil, err
		}
		root.path = "."
	}
	o.nodes[RootIno] = root
	return o, nil
}

// get returns a live node. The kernel only names nodes that it holds. Lock held.
func (o *Overlay) get(ino Ino) (*node, error) {
	n := o.nodes[ino]
	if n == nil {
		return nil, syscall.ESTALE
	}
	if n.in != nil {
		if err := o.store.Refresh(n.in); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// drop gives up what holds a node in memory. Lock held.
func (o *Overlay) drop(n *node) {
	for n != nil && n.lookups == 0 && n.holds == 0 && n.ino != RootIno && o.nodes[n.ino] == n {
		delete(o.nodes, n.ino)
		o.absent -= n.absent
		n.handed, n.absent = nil, 0
		if n.opened != nil {
			o.shut(n.opened)
		}
		o.dropList(n)
		if n.watch != nil {
			o.watches.unshow(n.watch, n)
			n.watch = nil
		}
		if n.in != nil {
			o.store.Put(n.in)
			return
		}
		parent := n.parent
		n.parent = nil
		if parent != nil {
			parent.holds--
			if parent.handed[n.name] == n {
				o.unhand(parent, n.name)
			}
		}
		n = parent
	}
}

// Forget implements FileSystem.
func (o *Overlay) Forget(ino Ino, count uint64) {
	o.store.Lock()
	defer o.store.Unlock()
	if n := o.nodes[ino]; n != nil {
		n.lookups -= min(count, n.lookups)
		o.drop(n)
	}
}

// attrOf returns a node's attributes as known. Lock held.
func (n *node) attrOf() *sqlvfs.Attr {
	if n.in != nil {
		return &n.in.Attr
	}
	return &n.attr
}

// entry makes what the kernel is told of a node. Lock held.
func (o *Overlay) entry(n *node) Entry {
	e := Entry{Ino: n.ino, Attr: *n.attrOf(), TTL: o.forever(), AttrTTL: o.forever()}
	follows, err := o.follows(n)
	if n.in == nil && !n.gone && !n.fresh || follows || err != nil {
		e.AttrTTL = BaseTTL
	}
	// Who shows as another owner could be refused by the kernel what it should have, and the other way
	// round: what we may not read is not the guest's either.
	if o.owner != nil && (n.in != nil || o.host.readable(&n.attr)) {
		e.Attr.UID, e.Attr.GID = o.shown.UID, o.shown.GID
	}
	if o.owner != nil && o.opens(n) {
		e.Attr.Mode |= 0o700
	}
	return e
}

// opens tells whether a node is the guest's home, or the workspace in it. These open for their owner,
// whatever mode the database keeps for them: a session begins there, and the one before could lock it out.
// Lock held.
func (o *Overlay) opens(n *node) bool {
	if n.in == nil || n.ino == RootIno || n.parentIno != RootIno || !n.in.Attr.IsDir() {
		return n.ino == RootIno
	}
	c, ok, _, err := o.store.Child(o.store.Root(), o.name)
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

// hold makes an entry that the kernel keeps. Lock held.
func (o *Overlay) hold(n *node) Entry {
	n.lookups++
	return o.entry(n)
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

// Sync implements FileSystem.
func (o *Overlay) Sync() error { return o.store.Sync() }

// Readlink implements FileSystem.
func (o *Overlay) Readlink(ino Ino) (string, error) {
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return "", err
	}
	if n.in != nil {
		return o.store.Target(n.in)
	}
	path := n.path
	n.content = n.fp // the kernel keeps it (fuse_get_link in fs/fuse/dir.c), and another link may get its inode number
	o.store.Unlock()
	defer o.store.Lock()
	return o.host.Readlink(path)
}

var _ io.ReaderAt = (*HostFile)(nil)
