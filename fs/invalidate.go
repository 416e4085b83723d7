package fs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// doubts are what the host may have changed since the kernel was told of it. They are gathered as
// events come in, and settled by a goroutine of its own, because the kernel may hold up who tells
// it to forget something until an operation under way is answered.
type doubts struct {
	names  map[entryOf]struct{}
	inodes map[Ino]bool  // value: is it a directory?
	raised chan struct{} // holds a token if there may be any
}

type entryOf struct {
	dir  *node
	name string
}

// entry doubts that a name still means what it meant, and that what it means is as it was.
func (d *doubts) entry(dir *node, name string) {
	if d != nil {
		d.names[entryOf{dir, name}] = struct{}{}
		d.raise()
	}
}

// inode doubts a node's attributes and content.
func (d *doubts) inode(n *node) {
	if d != nil {
		d.inodes[n.ino] = n.attrOf().IsDir()
		d.raise()
	}
}

func (d *doubts) raise() {
	select {
	case d.raised <- struct{}{}:
	default:
	}
}

// Connect implements FileSystem. Where inotify is not to be had, the kernel is not told of changes,
// and keeps nothing of the base for longer than BaseTTL.
func (o *Overlay) Connect(c Cache) (disconnect func()) {
	o.store.Lock()
	defer o.store.Unlock()
	d := &doubts{map[entryOf]struct{}{}, map[Ino]bool{}, make(chan struct{}, 1)}
	o.doubts, o.cache = d, c
	if o.host != nil && o.watchLimit > 0 && !o.store.ReadOnly() {
		if ws, err := newWatches(&o.store.Mutex, o.host, o.watchLimit); err == nil {
			o.watches = ws
			go o.listen(ws)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		o.settle(c, d, stop)
	}()
	return func() {
		o.store.Lock()
		if o.watches != nil {
			o.watches.end()
		}
		o.store.Unlock()
		close(stop)
		<-stopped
	}
}

// noCache is the Cache of who keeps nothing.
type noCache struct{}

func (noCache) InvalidateEntry(Ino, string) error { return syscall.ENOENT }
func (noCache) InvalidateInode(Ino) error         { return syscall.ENOENT }
func (noCache) InvalidateAttr(Ino) error          { return syscall.ENOENT }

// listen hears what inotify has to tell until the watches end. Nobody waits for it then: the kernel
// takes its time to close a queue (fsnotify_destroy_group in fs/notify/group.c). It frees what was
// watched, and the watches, each after a grace period of its own; two at once take 14 ms, one after the
// other a fifth of one (srcu_might_be_idle in kernel/rcu/srcutree.c). Hence the moment in between.
func (o *Overlay) listen(ws *watches) {
	defer ws.queue.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := ws.queue.Read(buf)
		if err != nil {
			time.Sleep(time.Millisecond)
			return
		}
		o.store.Lock()
		o.hear(ws, buf[:n])
		o.store.Unlock()
		// Whatever writes does so again at once: hear of it once in a while, not each time. The
		// kernel's queue takes much more than comes in a millisecond (inotify(7), max_queued_events).
		time.Sleep(time.Millisecond)
	}
}

// hear takes in events. Lock held.
func (o *Overlay) hear(ws *watches, events []byte) {
	for len(events) > 0 {
		// struct inotify_event of inotify(7): wd, mask, cookie, len, name.
		id := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:end], []byte{0})
		events = events[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 && ws.root != nil {
			o.lose(ws, ws.root) // anything may have happened: begin anew
		}
		if o.isHidden(ws.byID[id], string(name)) {
			continue
		}
		if mask == unix.IN_IGNORED && len(ws.byID[id]) == 0 {
			continue // we ended the watch; a directory that vanishes says so before
		}
		for _, w := range slices.Clone(ws.byID[id]) {
			if !w.lost {
				o.happened(ws, w, mask, string(name))
			}
		}
		ws.clock++ // also for what nobody knows yet that it is watched
	}
}

// isHidden tells whether an event is of a file that the base does not show, as the database is, which
// changes all the time. Lock held.
func (o *Overlay) isHidden(ws []*watch, name string) bool {
	for _, w := range ws {
		if !o.host.hidden.entry(join(w.path, name)) {
			return false
		}
	}
	return len(ws) > 0
}

// happened takes in what happened to a watched directory, or to an entry of it. Lock held.
func (o *Overlay) happened(ws *watches, w *watch, mask uint32, name string) {
	switch {
	case mask&endEvents != 0:
		if w.parent != nil {
			o.suspect(w.parent, w.name)
		}
		o.lose(ws, w)
	case name == "":
		for _, n := range w.shown {
			n.fresh = false
			o.doubts.inode(n)
		}
	case mask&entryEvents != 0:
		for _, n := range w.shown {
			n.fresh = false
			o.dropList(n)
			o.doubts.inode(n)
		}
		o.suspect(w, name)
		if kid := w.kids[name]; kid != nil {
			o.lose(ws, kid)
		}
		if mask&(unix.IN_CREATE|unix.IN_ISDIR) == unix.IN_CREATE && len(w.shown) > 0 {
			o.doubts.entry(w.shown[0], name) // it may be another name of something
		}
	default:
		o.suspect(w, name)
	}
}

// suspect raises doubts about an entry of a directory, if the kernel was told of it. Lock held.
func (o *Overlay) suspect(w *watch, name string) {
	for _, n := range w.shown {
		if child, ok := n.handed[name]; ok {
			if child != nil {
				child.fresh = false
			}
			o.doubts.entry(n, name)
		}
	}
}

// lose gives up the watch of a directory, and those below. Lock held.
func (o *Overlay) lose(ws *watches, w *watch) {
	for _, n := range ws.lose(w) {
		n.watch = nil
		o.distrust(n)
	}
}

// nobody is a name that no entry is likely to have. Forgetting it does nothing but wait until nobody reads
// the directory any more: an old list may be on its way, and would be kept if it came after the
// forgetting of the list (the directory's lock is held from the request until the answer is in the
// cache, iterate_dir in fs/readdir.c).
const nobody = "\xff\xfe nobody"

// settle settles doubts until it is told to stop.
func (o *Overlay) settle(c Cache, d *doubts, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-d.raised:
		}
		o.store.Lock()
		names, inodes := d.names, d.inodes
		d.names, d.inodes = map[entryOf]struct{}{}, map[Ino]bool{}
		o.store.Unlock()
		// What is not cached, or no more, is no error; nor is the end of the connection.
		for ino, dir := range inodes {
			if dir {
				c.InvalidateEntry(ino, nobody)
			}
			c.InvalidateInode(ino)
		}
		for e := range names {
			o.check(c, e.dir, e.name)
		}
	}
}

// check asks the host what a name in the base means now, and has the kernel forget what is no
// longer true. A name that means the same object as before stays, for forgetting a directory also
// means forgetting what is mounted below it and where processes are.
func (o *Overlay) check(c Cache, dir *node, name string) {
	o.store.Lock()
	if o.nodes[dir.ino] != dir {
		o.store.Unlock()
		return
	}
	if dir.in != nil {
		// Where the delta has an entry of that name, or hides it, the base's is of no concern.
		if _, ok, white, err := o.store.Child(dir.in, name); ok || white || err != nil {
			o.unhand(dir, name)
			o.store.Unlock()
			return
		}
	}
	dir.holds++
	o.watchDir(dir, nil, 0)
	path := join(dir.path, name)
	o.store.Unlock()
	attr, fp, err := o.host.Lstat(path)
	o.store.Lock()
	dir.holds--
	child, handed := dir.handed[name]
	same := dir.watch != nil &&
		(child == nil && err == syscall.ENOENT || child != nil && err == nil && child.isObject(attr, fp))
	if handed && !same {
		o.unhand(dir, name)
	}
	if same && child != nil && child.repath() && attr.IsDir() {
		o.distrust(child)
	}
	var twin *node
	if err == nil && attr.Nlink > 1 && !attr.IsDir() {
		// Of what has another name by now, not everything will be heard.
		if twin = o.nodes[o.baseNumber(fp)]; twin != nil {
			twin.fresh = false
		}
	}
	o.drop(dir)
	o.store.Unlock()
	if twin != nil && twin != child {
		c.InvalidateInode(twin.ino)
	}
	switch {
	case !handed || same && child == nil:
	case same:
		// The answer to a lookup may be on its way, with attributes from before; forgetting the entry
		// waits for it, because both need the directory's lock (fuse_reverse_inval_entry in
		// fs/fuse/dir.c, lookup_slow in fs/namei.c).
		if err := c.InvalidateInode(child.ino); errors.Is(err, syscall.ENOENT) {
			c.InvalidateEntry(dir.ino, name)
		}
	default:
		c.InvalidateEntry(dir.ino, name)
		if child != nil {
			c.InvalidateInode(child.ino) // it may be open
		}
	}
}
