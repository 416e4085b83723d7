package fs

import (
	"sync"
	"sync/atomic"
	"time"
)

// pendingInvalidations are what the host may have changed since the kernel was told of it. They are gathered as events come
// in, and flushed by a goroutine of its own, because the kernel may hold up who tells it to forget something until an
// operation under way is answered.
//
// That operation may take long, as a read of the host's file on a network does. So what is pending is taken by the directory or
// the inode that the kernel may hold it up for, and when one takes long, another goroutine goes on with the others.
type pendingInvalidations struct {
	signals chan struct{} // holds a token if there may be any
	stop    chan struct{} // closed at the end
	running sync.WaitGroup
	held    atomic.Int32 // goroutines that have been succeeded by another

	// In steps only:
	names  map[*node]map[string]staleness // by the directory that they are in
	inodes map[Ino]bool                   // value: is it a directory?
	prune  []Ino                          // see ages; nil: none
	busy   map[Ino]bool                   // of which the kernel is being told; 0: prune
}

const (
	// heldUp is how long one invalidation may hold up the others.
	heldUp = 20 * time.Millisecond
	// maxHeld is how many may be held up at once; the next one holds up the others.
	maxHeld = 256
)

func newPending() *pendingInvalidations {
	return &pendingInvalidations{
		signals: make(chan struct{}, 1), stop: make(chan struct{}),
		names: map[*node]map[string]staleness{}, inodes: map[Ino]bool{}, busy: map[Ino]bool{},
	}
}

// entry enqueues a name: what it means may have changed, or what that is.
func (p *pendingInvalidations) entry(dir *node, name string, why staleness) {
	if p != nil {
		names := p.names[dir]
		if names == nil {
			names = map[string]staleness{}
			p.names[dir] = names
		}
		was := names[name]
		names[name] = staleness{max(was.ambiguity, why.ambiguity), was.content || why.content}
		p.signal()
	}
}

// inode enqueues a node's attributes and content.
func (p *pendingInvalidations) inode(n *node) {
	if p != nil {
		p.inodes[n.ino] = n.attrOf().IsDir()
		p.signal()
	}
}

// letGo enqueues inodes that the kernel is to let go of, if nobody uses them.
func (p *pendingInvalidations) letGo(inos []Ino) {
	p.prune = inos
	p.signal()
}

func (p *pendingInvalidations) signal() {
	select {
	case p.signals <- struct{}{}:
	default:
	}
}

// pendingWork is what is pending of an inode, or of the names in a directory, or what is to be let go.
type pendingWork struct {
	ino   Ino // 0: prune
	isDir bool
	dir   *node // nil: the inode itself
	names map[string]staleness
	prune []Ino
}

// take takes some work, if there is any but what would wait for what is being done.
func (p *pendingInvalidations) take() (w pendingWork, ok bool) {
	for ino, isDir := range p.inodes {
		if !p.busy[ino] {
			delete(p.inodes, ino)
			p.busy[ino] = true
			return pendingWork{ino: ino, isDir: isDir}, true
		}
	}
	for dir, names := range p.names {
		if !p.busy[dir.ino] {
			delete(p.names, dir)
			p.busy[dir.ino] = true
			return pendingWork{ino: dir.ino, dir: dir, names: names}, true
		}
	}
	if p.prune != nil && !p.busy[0] {
		w.prune, p.prune = p.prune, nil
		p.busy[0] = true
		return w, true
	}
	return w, false
}

// flush has the kernel forget what is pending, until the end, or until it is held up and another one goes on.
func (o *Overlay) flush(c Cache, p *pendingInvalidations) {
	defer p.running.Done()
	for {
		select {
		case <-p.stop:
			return
		case <-p.signals:
		}
		for {
			select {
			case <-p.stop:
				return
			default:
			}
			var w pendingWork
			var ok bool
			o.view(func(t *tx) error {
				if w, ok = p.take(); ok {
					if n := t.nodes[w.ino]; w.dir == nil && n != nil && n.base != nil {
						n.base.noteAttrs()
					}
				}
				return nil
			})
			if !ok {
				break
			}
			if !o.flushWithin(c, p, w) {
				return
			}
		}
	}
}

// flushWithin does some of the work, and tells whether that did not take long enough for another goroutine to go on.
func (o *Overlay) flushWithin(c Cache, p *pendingInvalidations, w pendingWork) bool {
	var successor *time.Timer
	if p.held.Load() < maxHeld {
		p.running.Add(1)
		successor = time.AfterFunc(heldUp, func() {
			p.held.Add(1)
			p.signal()
			o.flush(c, p)
		})
	}
	o.flushWork(c, w)
	o.view(func(*tx) error {
		delete(p.busy, w.ino)
		return nil
	})
	switch {
	case successor == nil:
	case successor.Stop():
		p.running.Done()
	default:
		p.held.Add(-1)
		p.signal() // more may have come of what was being done
		return false
	}
	return true
}

// flushWork has the kernel forget something. What is not cached, or no more, is no error; nor is the end of the connection.
func (o *Overlay) flushWork(c Cache, w pendingWork) {
	switch {
	case w.prune != nil:
		c.Prune(w.prune)
	case w.dir == nil:
		if w.isDir {
			c.InvalidateEntry(w.ino, noSuchName)
		}
		c.InvalidateInode(w.ino)
	}
	for name, why := range w.names {
		o.flushEntry(c, dentry{w.dir, name}, why)
	}
}
