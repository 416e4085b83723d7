package fs

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How many directories of the base stay open, and for how long, at most. A lookup in an open one takes a single system call,
// and no walk along its path; and as many as a program walks through in that time are opened once, to be watched, to look names
// up in, and to be read.
//
// What is open is the directory wherever the host moves it, and whatever the host mounts over it, and keeps what it is
// mounted with from being unmounted. So only watched directories stay open, which tell when they, or one above, are
// moved; and none for longer than the kernel keeps what nothing tells of.
const (
	maxOpendirs = 512
	opendirTTL  = BaseTTL
	// opendirShare of all descriptors that the process may have, if that is less.
	opendirShare = 8
	// fewOpendirs are no walk through a tree, for which there is to be room at once.
	fewOpendirs = 8
)

// openDirs counts those that all overlays of this process keep open, each of them for itself.
var openDirs atomic.Int64

// mostOpendirs is how many these may be.
var mostOpendirs = sync.OnceValue(func() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxOpendirs
	}
	return int64(min(maxOpendirs, limit.Cur/opendirShare))
})

// growDescriptors makes room for descriptors. Of a process with several threads, a table of them that is doubled waits for a
// grace period of RCU, and with it who opens the file that has no place in it (expand_fdtable in fs/file.c).
func (h *Host) growDescriptors() {
	if fd, err := unix.FcntlInt(uintptr(h.root), unix.F_DUPFD_CLOEXEC, int(2*mostOpendirs()-1)); err == nil {
		unix.Close(fd)
	}
}

// lstatIn asks the host what an entry of a directory of the base is, at path. host, if not nil, is the directory, open.
// The path's own error is in the answer.
func (t *tx) lstatIn(p *node, name, path string, host *HostDir) (*fact, error) {
	q := fact{kind: statFact, path: path, dir: host, name: name}
	if host == nil && p.inBase() && p.base.watch != nil && p.base.path == dirOf(path) {
		if q.node, q.dir = p, p.base.dir; q.dir != nil && q.dir.path != p.base.path {
			q.node, q.dir = nil, nil // the host has moved it
		}
	}
	now, err := t.ask(q)
	if err == nil && now.dir != nil && now.node == p && !t.watches.missed(p.base.watch, now.asked) {
		t.keepDir(p, now.dir)
	}
	return now, err
}

// keepDir keeps a node's directory of the base open, if that is watched.
func (t *tx) keepDir(n *node, dir *HostDir) {
	if n.base.dir != nil || n.base.watch == nil || n.base.path != dir.path || t.nodes[n.ino] != n {
		return
	}
	if openDirs.Load() >= mostOpendirs() {
		if len(t.opendirs) == 0 {
			return // others have them all, for a moment
		}
		t.closeDir(t.opendirs[0])
	}
	if len(t.opendirs) == 0 {
		o := t.Overlay
		time.AfterFunc(opendirTTL, func() {
			o.view(func(t *tx) error {
				for len(t.opendirs) > 0 {
					t.closeDir(t.opendirs[0])
				}
				return nil
			})
		})
	}
	if len(t.opendirs) == fewOpendirs {
		go t.host.growDescriptors()
	}
	n.base.dir = dir.acquire()
	openDirs.Add(1)
	t.opendirs = append(t.opendirs, n)
}

// closeDir closes a node's directory of the base, for those who have it only when they are done.
func (t *tx) closeDir(n *node) {
	if n.base.dir == nil {
		return
	}
	i := slices.Index(t.opendirs, n)
	t.opendirs = slices.Delete(t.opendirs, i, i+1)
	n.base.dir.Close()
	n.base.dir = nil
	openDirs.Add(-1)
}

// dirOf is the directory that a path of a host tree is in.
func dirOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}
