package sqlvfs

import (
	"slices"
	"sync"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
)

// Stored content that a program reads in order, much at a time, is read ahead of it by stretches, in other goroutines. The kernel
// asks for 256 KiB, and for no more than the next before the program has come to those.

// LongRead is from which length on, in bytes, a read is one that the kernel makes ahead of a program.
const LongRead = 128 << 10

const (
	stretchSize    = 1 << 20 // bytes
	stretchesAhead = 2       // of the one that is being read
	keptStretches  = 6
	// keptUnused is how long stretches, and memory for more, are kept that nobody asks for.
	keptUnused = 2 * time.Second
)

// stretch is what the rows have of a file, from a multiple of stretchSize on. It is never changed once it is ready.
type stretch struct {
	stretchKey
	ready chan struct{} // closed when there is data, or an error
	data  []byte
	err   error
	end   int64 // where the last of it is in the database
	users int   // GUARDED_BY(readAhead.mu)
}

// stretchKey is what a stretch is of. While both numbers are the same, so is what the rows have of chunks that are not in memory.
type stretchKey struct {
	in      *Inode
	version uint64 // of its content
	backs   uint64 // of the tree
	off     int64
}

// readAhead are the stretches that were used last.
type readAhead struct {
	mu   sync.Mutex
	kept []*stretch // the one that came last is the last. GUARDED_BY(mu)
	free [][]byte   // memory for stretches. GUARDED_BY(mu)
	last *Inode     // that was read, and where that ended. GUARDED_BY(mu)
	end  int64      // GUARDED_BY(mu)
	// unused gives all up. GUARDED_BY(mu); nil before the first stretch
	unused *time.Timer

	loading sync.WaitGroup // those that nobody waits for
}

// readLong reads stored chunks, and ahead of them if that is where the last read ended.
func (s *Store) readLong(in *Inode, r run, of *reading) error {
	key := stretchKey{in, of.version, of.backs, r.off - r.off%stretchSize}
	if !s.ahead.follows(key, r) {
		return s.readRows(in.Ino, r.off, r.dst)
	}
	for off, dst := r.off, r.dst; len(dst) > 0; key.off += stretchSize {
		st, isNew := s.ahead.get(key, of.size)
		for i := range int64(stretchesAhead) {
			if next := key; next.off+(i+1)*stretchSize < of.size {
				next.off += (i + 1) * stretchSize
				s.loadAhead(next, of.size)
			}
		}
		if isNew {
			s.load(st)
		}
		<-st.ready
		n, err := copy(dst, st.data[off-key.off:]), st.err
		if s.ahead.put(st); err != nil {
			return err
		}
		off, dst = off+int64(n), dst[n:]
	}
	return nil
}

// IsAhead tells whether n bytes of a file were read ahead, and are there.
func (tx *Tx) IsAhead(in *Inode, off, n int64) bool {
	key := stretchKey{in: in, version: in.version, backs: tx.backs.Load(), off: off - off%stretchSize}
	for end := min(off+n, in.Attr.Size); key.off < end; key.off += stretchSize {
		if st := tx.ahead.find(key); st == nil || !st.isReady() {
			return false
		}
	}
	return true
}

func (st *stretch) isReady() bool {
	select {
	case <-st.ready:
		return true
	default:
		return false
	}
}

// find returns a stretch to look at; nil if it is not there.
func (a *readAhead) find(key stretchKey) *stretch {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.index(key); i >= 0 {
		return a.kept[i]
	}
	return nil
}

// index is where a stretch is on the list; -1: it is not. LOCKS_REQUIRED(mu)
func (a *readAhead) index(key stretchKey) int {
	return slices.IndexFunc(a.kept, func(st *stretch) bool { return st.stretchKey == key })
}

// loadAhead has another goroutine load a stretch, if that is not done.
func (s *Store) loadAhead(key stretchKey, size int64) {
	st, isNew := s.ahead.get(key, size)
	if !isNew {
		s.ahead.put(st)
		return
	}
	s.ahead.loading.Go(func() {
		s.load(st)
		s.ahead.put(st)
	})
}

func (s *Store) load(st *stretch) {
	if st.err = s.readStretch(st); st.err == nil && s.backs.Load() != st.backs {
		st.err = ErrWentBack // what was read may be of both
	}
	if st.err != nil {
		s.ahead.remove(st)
	}
	close(st.ready)
}

func (s *Store) readStretch(st *stretch) error {
	c, err := s.readers.get()
	if err != nil {
		return err
	}
	defer s.readers.put(c)
	if f := diskvfs.Main(c.Conn); f != nil {
		after, before := int64(0), st.stretchKey
		before.off -= stretchSize
		if b := s.ahead.find(before); b != nil && b.isReady() {
			after = b.end
		}
		end := f.Ahead(len(st.data), after)
		defer func() { st.end = end() }()
	}
	return s.readRowsOf(c, st.in.Ino, st.off, st.data)
}

// follows tells whether a read goes on where others were, or begins with the file.
func (a *readAhead) follows(key stretchKey, r run) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	follows := r.off == 0 || a.last == key.in && a.end == r.off
	a.last, a.end = key.in, r.off+int64(len(r.dst))
	old := false
	for _, st := range slices.Clone(a.kept) {
		if st.in == key.in && (st.version != key.version || st.backs != key.backs) {
			a.drop(st)
			old = true // it is written meanwhile, and that may go on
		}
		follows = follows || st.stretchKey == key
	}
	return follows && !old
}

// get returns a stretch to be used until it is put back. If it is new, the caller is to load it.
func (a *readAhead) get(key stretchKey, size int64) (st *stretch, isNew bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unused == nil {
		a.unused = time.AfterFunc(keptUnused, a.giveUp)
	} else {
		a.unused.Reset(keptUnused)
	}
	if i := a.index(key); i >= 0 {
		st = a.kept[i]
		st.users++
		return st, false
	}
	if len(a.kept) >= keptStretches {
		a.drop(a.kept[0])
	}
	st = &stretch{stretchKey: key, ready: make(chan struct{}), users: 2} // the list is one of them
	if n := len(a.free); n > 0 {
		st.data, a.free = a.free[n-1], a.free[:n-1]
	} else {
		st.data = make([]byte, stretchSize)
	}
	st.data = st.data[:min(stretchSize, size-key.off)]
	a.kept = append(a.kept, st)
	return st, true
}

func (a *readAhead) put(st *stretch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(st)
}

// release ends a use. LOCKS_REQUIRED(mu)
func (a *readAhead) release(st *stretch) {
	if st.users--; st.users == 0 && len(a.free) < 2 {
		a.free = append(a.free, st.data[:stretchSize])
	}
}

// giveUp forgets all stretches. Who is reading one goes on with it.
func (a *readAhead) giveUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.kept) > 0 {
		a.drop(a.kept[0])
	}
	a.free = nil
}

func (a *readAhead) remove(st *stretch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(st)
}

// drop takes a stretch off the list. LOCKS_REQUIRED(mu)
func (a *readAhead) drop(st *stretch) {
	if i := slices.Index(a.kept, st); i >= 0 {
		a.kept = slices.Delete(a.kept, i, i+1)
		a.release(st)
	}
}
