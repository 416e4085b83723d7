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

type dentry struct {
	dir  *node
	name string
}

// ambiguity is how much is known of which of its answers the kernel keeps for a name. Threads of the guest that look the same
// name up at once take in their answers in any order, and a lookup that confirms what is cached locks nothing
// (fuse_dentry_revalidate in fs/fuse/dir.c): so it need not be the last one.
type ambiguity int

const (
	unambiguous ambiguity = iota // all answers since it last forgot the name were the same
	again                        // it was to ask again: an earlier answer may have come after that
	ambiguous                    // it may keep any of several answers
)

// staleness says what may be out of date of what the kernel keeps for a name.
type staleness struct {
	ambiguity
	content bool // also the content of what it means may have changed
}

// Connect implements FileSystem. Where inotify is not to be had, the kernel is not told of changes,
// and keeps nothing of the base for longer than BaseTTL.
func (o *Overlay) Connect(c Cache) (disconnect func()) {
	pending := newPending()
	o.view(func(t *tx) error {
		t.pending, t.cache = pending, c
		if t.host != nil && t.watchLimit > 0 && !t.db.ReadOnly() {
			if ws, err := newWatches(t.host, t.watchLimit); err == nil {
				t.watches = ws
				go o.readEvents(ws)
			}
		}
		return nil
	})
	pending.running.Add(1)
	go o.flush(c, pending)
	return func() {
		close(pending.stop)
		pending.running.Wait() // it adds watches
		o.view(func(t *tx) error {
			if t.watches != nil {
				t.watches.end()
			}
			t.cache = noCache{}
			return nil
		})
	}
}

// noCache is the Cache of who keeps nothing.
type noCache struct{}

func (noCache) InvalidateEntry(Ino, string) error { return syscall.ENOENT }
func (noCache) ExpireEntry(Ino, string) error     { return syscall.ENOENT }
func (noCache) InvalidateInode(Ino) error         { return syscall.ENOENT }
func (noCache) InvalidateAttr(Ino) error          { return syscall.ENOENT }
func (noCache) Prune([]Ino) error                 { return nil }

// readEvents reads inotify's events until the watches end. Nothing waits for it then: the kernel
// takes its time to close a queue (fsnotify_destroy_group in fs/notify/group.c). It frees what was
// watched, and the watches, each after a grace period of its own; two at once take 14 ms, one after the
// other a fifth of one (srcu_might_be_idle in kernel/rcu/srcutree.c). Hence the moment in between.
func (o *Overlay) readEvents(ws *watches) {
	defer ws.queue.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := ws.queue.Read(buf)
		if err != nil {
			time.Sleep(time.Millisecond)
			return
		}
		o.view(func(t *tx) error {
			t.handleEvents(ws, buf[:n])
			return nil
		})
		// Whatever writes does so again at once: hear of it once in a while, not each time. The
		// kernel's queue takes much more than comes in a millisecond (inotify(7), max_queued_events).
		time.Sleep(time.Millisecond)
	}
}

// handleEvents takes in events.
func (t *tx) handleEvents(ws *watches, events []byte) {
	for len(events) > 0 {
		// struct inotify_event of inotify(7): wd, mask, cookie, len, name.
		id := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:end], []byte{0})
		events = events[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 && ws.root != nil {
			t.loseWatch(ws, ws.root) // anything may have happened: begin anew
		}
		if t.isHidden(ws.byID[id], string(name)) {
			continue
		}
		if mask == unix.IN_IGNORED && len(ws.byID[id]) == 0 {
			continue // we ended the watch; a directory that vanishes says so before
		}
		for _, w := range slices.Clone(ws.byID[id]) {
			if !w.removed {
				t.handleEvent(ws, w, mask, string(name))
			}
		}
		ws.change() // also for what nobody knows yet that it is watched
	}
}

// isHidden tells whether an event is of a file that the base does not show, as the database is, which
// changes all the time.
func (t *tx) isHidden(ws []*watch, name string) bool {
	for _, w := range ws {
		if !t.host.hidden.entry(join(w.path, name)) {
			return false
		}
	}
	return len(ws) > 0
}

// handleEvent takes in what happened to a watched directory, or to an entry of it.
func (t *tx) handleEvent(ws *watches, w *watch, mask uint32, name string) {
	switch {
	case mask&endEvents != 0:
		if w.parent != nil {
			t.enqueueChanged(w.parent, w.name, true)
		}
		t.loseWatch(ws, w)
	case name == "":
		for _, n := range w.nodes {
			n.base.fresh = false
			t.pending.inode(n)
		}
	case mask&entryEvents != 0:
		for _, n := range w.nodes {
			n.base.fresh = false
			t.dropList(n)
			t.pending.inode(n)
		}
		t.enqueueChanged(w, name, false)
		if kid := w.children[name]; kid != nil {
			t.loseWatch(ws, kid)
		}
		if mask&(unix.IN_CREATE|unix.IN_ISDIR) == unix.IN_CREATE && len(w.nodes) > 0 {
			t.pending.entry(w.nodes[0], name, staleness{content: true}) // it may be another name of something
		}
	default:
		t.enqueueChanged(w, name, true)
	}
}

// enqueueChanged has an entry of a directory revalidated, if the kernel was told of it. content says that not only
// the name may have changed.
func (t *tx) enqueueChanged(w *watch, name string, content bool) {
	for _, n := range w.nodes {
		if child, ok := n.base.dentries[name]; ok {
			if child != nil {
				child.base.fresh = false
			}
			t.pending.entry(n, name, staleness{content: content})
		}
	}
}

// loseWatch gives up the watch of a directory, and those below.
func (t *tx) loseWatch(ws *watches, w *watch) {
	for _, n := range ws.removeTree(w) {
		n.base.watch = nil
		t.revoke(n)
	}
}

// noSuchName is a name that no entry is likely to have. Forgetting it does nothing but wait until nobody reads
// the directory any more: an old list may be on its way, and would be kept if it came after the
// forgetting of the list (the directory's lock is held from the request until the answer is in the
// cache, iterate_dir in fs/readdir.c).
const noSuchName = "\xff\xfe nobody"

// flushEntry asks the host what a name in the base means now, and has the kernel forget what is no
// longer true. A name that means the same object as before stays, for forgetting a directory also
// means forgetting what is mounted below it and where processes are.
func (o *Overlay) flushEntry(c Cache, d dentry, why staleness) {
	var v verdict
	o.view(func(t *tx) (err error) {
		v, err = t.revalidateEntry(d.dir, d.name, why.ambiguity)
		return err
	})
	if v.twin != 0 {
		c.InvalidateInode(v.twin)
	}
	switch v.entry {
	case keep:
	case expire:
		o.expireEntry(c, d, why.ambiguity)
	case forget:
		c.InvalidateEntry(d.dir.ino, d.name)
	}
	if v.child == 0 || v.replaced || v.current && !why.content {
		// Whoever reads past what the kernel takes for a file's end asks for its attributes, and takes the end for true if the
		// kernel is told to forget them until the answer comes (fuse_change_attributes_i in fs/fuse/inode.c).
		return
	}
	// The answer to a lookup may be on its way, with attributes from before; forgetting the entry
	// waits for it, because both need the directory's lock (fuse_reverse_inval_entry in
	// fs/fuse/dir.c, lookup_slow in fs/namei.c).
	if err := c.InvalidateInode(v.child); v.same && errors.Is(err, syscall.ENOENT) {
		c.InvalidateEntry(d.dir.ino, d.name)
	}
}

// expireEntry has the kernel ask again for a directory, or for nothing, of which it may keep another answer than
// the last. An earlier answer that confirmed another directory may still come: so it is done once more when it
// has come for certain.
func (o *Overlay) expireEntry(c Cache, d dentry, a ambiguity) {
	c.ExpireEntry(d.dir.ino, d.name)
	if a == ambiguous {
		time.AfterFunc(BaseTTL, func() {
			o.view(func(t *tx) error {
				t.pending.entry(d.dir, d.name, staleness{ambiguity: again})
				return nil
			})
		})
	}
}

// action is what the kernel is to do with a name.
type action int

const (
	keep   action = iota
	expire        // ask again
	forget
)

// verdict is what has become of a name that the kernel was told of.
type verdict struct {
	entry    action
	same     bool // it means what it meant
	replaced bool // it meant a file, and means another object, or nothing: to who has that open it is what it was
	current  bool // it means a file of which the kernel was told what is true, or to ask for it
	child    Ino  // what it meant; 0: nothing
	twin     Ino  // has the same object by another name; 0: nobody
}

// revalidateEntry compares what the kernel was told of a name with what the host has there now.
func (t *tx) revalidateEntry(dir *node, name string, a ambiguity) (v verdict, err error) {
	if t.nodes[dir.ino] != dir || dir.base == nil {
		return v, nil
	}
	if dir.in != nil {
		// Where the delta has an entry of that name, or hides it, the base's is of no concern.
		if _, ok, white, err := t.db.Child(dir.in, name); ok || white || err != nil {
			t.forgetDentry(dir, name)
			return v, err
		}
	}
	if err := t.watch(dir); err != nil {
		return v, err
	}
	now, err := t.lstat(join(dir.base.path, name))
	if err != nil {
		return v, err
	}
	child, known := dir.base.dentries[name]
	isObject := child != nil && now.err == nil && child.isObject(now.attr, now.fp)
	v.replaced = child != nil && !child.base.attr.IsDir() && !isObject && (now.err == nil || errors.Is(now.err, syscall.ENOENT))
	v.same = dir.base.watch != nil && (isObject || child == nil && errors.Is(now.err, syscall.ENOENT))
	switch {
	case known && !v.same, a == ambiguous && now.err == nil && !now.attr.IsDir():
		v.entry = forget // which is certain, and loses nothing but what is mounted there just now
		t.forgetDentry(dir, name)
	case a != unambiguous:
		v.entry = expire
	}
	if child != nil {
		v.child, v.current = child.ino, isObject && !now.attr.IsDir() && now.fp == child.base.fp
		child.base.noteAttrs()
	}
	if v.same && child != nil && child.repath() && now.attr.IsDir() {
		t.revoke(child)
	}
	if now.err == nil && now.attr.Nlink > 1 && !now.attr.IsDir() {
		// Of what has another name by now, not everything will be heard.
		if twin := t.nodes[t.baseNumber(now.fp)]; twin != nil && twin.base != nil {
			twin.base.fresh = false
			twin.base.noteAttrs()
			if twin != child {
				v.twin = twin.ino
			}
		}
	}
	return v, nil
}
