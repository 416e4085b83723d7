package fs

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// watches are inotify(7) watches on directories of the base, so that the kernel may keep what it
// was told of them until the host changes it. They form a tree as the directories do: one is only
// watched if all above it are, because its own watch does not tell when its path has come to lead
// elsewhere.
//
// What no watch tells (inotify(7), "Limitations and caveats"): what happens to a file under a name
// of it that is not watched, so a file with several names is never trusted to stay as it is; and what
// is written through a shared mapping on the host, which shows when the file is unmapped and closed.
//
// Every event, and every change of the tree, moves the clock. Who asks the host about a directory notes what the clock shows:
// if the directory was watched by then, and there was no event since, nor the end of a watch, nothing was missed. That another
// directory is watched since does no harm: of several threads that walk a tree, each would make the others' answers old.
type watches struct {
	host  *Host
	fd    int      // of inotify
	queue *os.File // the same, to read events from

	// Changed in steps only.
	limit   int
	count   int // never above limit
	clock   uint64
	changed uint64 // what the clock showed after the last event, or the last end of a watch
	root    *watch
	byID    map[int32][]*watch // several, if the host has moved a directory just now
}

// watch is a watched directory of the base.
type watch struct {
	id       int32  // inotify's watch descriptor
	added    uint64 // what the clock showed then
	path     string
	name     string // last component of path
	parent   *watch // nil of the root
	children map[string]*watch
	nodes    []*node // who shows this directory
	refs     int     // shown, kids, and those about to become one
	removed  bool    // no longer in the tree
}

const (
	entryEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	endEvents   = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT | unix.IN_IGNORED
	watchEvents = entryEvents | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
)

// WatchShare is how many directories one session may reasonably watch. The limit is the user's, for
// all programs together: a quarter of it, and not more than 65,536, for each of which the kernel
// needs about 1 KiB. It is 0 where inotify is not to be had.
func WatchShare() int {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return min(limit/4, 1<<16)
}

func newWatches(host *Host, limit int) (*watches, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &watches{
		host: host, fd: fd, queue: os.NewFile(uintptr(fd), "inotify"),
		limit: limit, byID: map[int32][]*watch{},
	}, nil
}

// end ends all watches, and the goroutine that reads their events.
func (ws *watches) end() {
	for id := range ws.byID {
		unix.InotifyRmWatch(ws.fd, uint32(id)) // fails if the directory is gone
	}
	ws.fd = -1
	ws.queue.SetReadDeadline(time.Now())
}

// change moves the clock because of what makes earlier answers of the host doubtful.
func (ws *watches) change() {
	ws.clock++
	ws.changed = ws.clock
}

// missed tells whether a change of a directory may have gone unnoticed since the clock showed asked. w is its watch; nil: it
// has none.
func (ws *watches) missed(w *watch, asked uint64) bool {
	return w == nil || w.added > asked || ws.changed > asked
}

// errUnwatchable says that a directory cannot be watched now, nor later.
var errUnwatchable = errors.New("the directory cannot be watched")

// candidate is a directory that inotify is being asked to watch.
type candidate struct {
	path, name string
	parent     *watch // nil of the root
	clock      uint64 // before it was asked
	same       bool   // it is the directory that the node's path led to when that was opened
	id         int32
	err        error
}

// watchDir has a node watch its base directory, and those above it. dir, if not nil, is the directory, opened when the
// clock showed opened. It is no part of a step.
func (o *Overlay) watchDir(n *node, path string, dir *HostDir, opened uint64) {
	var c *candidate
	for {
		var ws *watches
		o.view(func(t *tx) error {
			ws = t.watches
			c = t.nextWatch(n, path, c, dir, opened)
			return nil
		})
		if c == nil {
			return
		}
		open := dir
		if !c.same {
			open = nil // the path may lead elsewhere by now
		}
		c.id, c.err = ws.add(c.path, open)
	}
}

// nextWatch adds the last candidate to the tree of watches, and returns the next one on the way to a node's directory. It
// is nil when the directory is watched, or cannot be at the moment. dir stays open then, if that is what is watched.
func (t *tx) nextWatch(n *node, path string, last *candidate, dir *HostDir, opened uint64) *candidate {
	ws := t.watches
	if last != nil {
		added, err := ws.adopt(last)
		if added == nil {
			n.base.unwatchable = err != nil
			return nil
		}
		defer ws.release(added)
	}
	if ws == nil || t.nodes[n.ino] != n || n.base.watch != nil || n.base.gone || n.base.path != path {
		return nil
	}
	w, missing, name := ws.walk(path)
	switch {
	case missing == "":
		w.addNode(n)
		n.base.watch = w
		if last != nil && last.same && dir != nil {
			t.keepDir(n, dir)
		}
		return nil
	case ws.count >= ws.limit:
		return nil
	}
	if w != nil {
		w.refs++
	}
	ws.count++
	return &candidate{path: missing, name: name, parent: w, clock: ws.clock, same: missing == path && !ws.missed(w, opened)}
}

// walk finds the watch of a directory, or the lowest one above it and the path of the next that is missing.
func (ws *watches) walk(path string) (w *watch, missing, name string) {
	if ws.root == nil {
		return nil, ".", "."
	}
	w = ws.root
	for rest := path; rest != "" && path != "."; {
		name, rest, _ = strings.Cut(rest, "/")
		kid := w.children[name]
		if kid == nil {
			return w, join(w.path, name), name
		}
		w = kid
	}
	return w, "", ""
}

// adopt puts a directory that inotify watches into the tree, and returns its watch, for the caller to release. It is nil if it
// cannot be watched at the moment; with an error, not later either.
func (ws *watches) adopt(c *candidate) (*watch, error) {
	there := ws.root
	if c.parent != nil {
		there = c.parent.children[c.name]
	}
	if c.err != nil || ws.changed > c.clock || there != nil && there.id != c.id {
		if c.err == nil {
			ws.removeUnused(c.id)
		}
		ws.count--
		ws.release(c.parent)
		switch {
		case oneOf(c.err, syscall.ENOSPC, syscall.ENOMEM):
			ws.limit = ws.count // the user's other programs have the rest
		case oneOf(c.err, syscall.EACCES, syscall.EPERM), errors.Is(c.err, errUnwatchable):
			return nil, errUnwatchable
		}
		return nil, nil // the host is changing the directory just now
	}
	if there != nil { // another thread was first
		ws.count--
		ws.release(c.parent)
		there.refs++
		return there, nil
	}
	ws.clock++
	w := &watch{id: c.id, added: ws.clock, path: c.path, name: c.name, parent: c.parent, refs: 1}
	ws.byID[w.id] = append(ws.byID[w.id], w)
	if w.parent == nil {
		ws.root = w
		return w, nil
	}
	if w.parent.children == nil {
		w.parent.children = map[string]*watch{}
	}
	w.parent.children[w.name] = w // which has taken over the reference to its parent
	return w, nil
}

// release ends a reference.
func (ws *watches) release(w *watch) {
	for w != nil {
		w.refs--
		if w.refs > 0 || w.removed {
			return
		}
		ws.unlink(w)
		w = w.parent
	}
}

// unlink takes a watch out of the tree, but leaves its reference to the parent.
func (ws *watches) unlink(w *watch) {
	w.removed = true
	ws.change()
	ws.count--
	if w.parent == nil {
		ws.root = nil
	} else {
		delete(w.parent.children, w.name)
	}
	if rest := slices.DeleteFunc(ws.byID[w.id], func(x *watch) bool { return x == w }); len(rest) > 0 {
		ws.byID[w.id] = rest
	} else {
		delete(ws.byID, w.id)
	}
	ws.removeUnused(w.id)
}

// removeTree takes a watch and all below it out of the tree, and returns the nodes that showed one of
// these directories. They refer to nothing any more.
func (ws *watches) removeTree(w *watch) (shown []*node) {
	w.refs++ // or its last kid would take it along
	for _, kid := range w.children {
		shown = append(shown, ws.removeTree(kid)...)
	}
	shown = append(shown, w.nodes...)
	w.refs -= len(w.nodes) + 1
	w.nodes = nil
	ws.unlink(w)
	ws.release(w.parent)
	return shown
}

// addNode notes that a node shows the directory.
func (w *watch) addNode(n *node) {
	w.nodes = append(w.nodes, n)
	w.refs++
}

// removeNode is the opposite.
func (ws *watches) removeNode(w *watch, n *node) {
	w.nodes = slices.DeleteFunc(w.nodes, func(x *node) bool { return x == n })
	ws.release(w)
}

// add has inotify watch a directory, and returns the watch descriptor, which is the same as long as
// the directory is watched already. The directory itself is watched, not whatever its path leads to
// a moment later: a descriptor of it can be named in /proc (proc_pid_fd(5)).
func (ws *watches) add(path string, dir *HostDir) (int32, error) {
	if dir == nil {
		var err error
		if dir, err = ws.host.OpenDir(path); err != nil {
			return 0, err
		}
		defer dir.Close()
	}
	if !localFS(dir.fd) {
		return 0, errUnwatchable
	}
	id, err := unix.InotifyAddWatch(ws.fd, hostfs.ProcPath(dir.fd), watchEvents)
	return int32(id), err
}

// removeUnused ends a watch that is in no use.
func (ws *watches) removeUnused(id int32) {
	if len(ws.byID[id]) == 0 {
		ws.change() // another one may be about to use it
		// It fails if the watch has ended by itself, with its directory.
		unix.InotifyRmWatch(ws.fd, uint32(id))
	}
}

// localFS tells whether all changes of a file system are made through the kernel that runs here:
// inotify does not see those that others make. What is not known is taken for shared.
func localFS(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false
	}
	const zfs = 0x2fc12fc1 // ZFS_SUPER_MAGIC in OpenZFS's sys/fs/zfs.h
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.BCACHEFS_SUPER_MAGIC, zfs, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		unix.REISERFS_SUPER_MAGIC, unix.NILFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC,
		unix.ISOFS_SUPER_MAGIC, unix.UDF_SUPER_MAGIC, unix.EROFS_SUPER_MAGIC_V1:
		return true
	}
	return false
}
