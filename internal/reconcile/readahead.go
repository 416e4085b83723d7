package reconcile

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// The files of a directory are read by several goroutines while those before them are stored, which is
// done by one, in order: a disk, or a file system far away, answers many questions in the time of one.

const (
	aheadBytes = 16 << 20 // content that is read and not stored yet, at most, but for one file
	aheadFiles = 64
)

// readers are the goroutines that read ahead.
type readers struct {
	todo chan *hostFile
	all  sync.WaitGroup
}

// newReaders begins to read. More of them than processors, since they wait for the disk.
func newReaders() *readers {
	r := &readers{todo: make(chan *hostFile, aheadFiles)}
	for range max(4, min(2*runtime.GOMAXPROCS(0), 16)) {
		r.all.Go(func() {
			for f := range r.todo {
				f.Err = f.load()
				f.done.Done()
			}
		})
	}
	return r
}

// End ends them.
func (r *readers) End() {
	close(r.todo)
	r.all.Wait()
}

// readAhead is what is read of one directory.
type readAhead struct {
	readers *readers
	queue   []*hostFile // not asked for yet
	waiting map[string]*hostFile
	bytes   int64 // of those in waiting
}

// readAhead begins with a directory.
func (r *readers) readAhead() *readAhead {
	return &readAhead{readers: r, waiting: map[string]*hostFile{}}
}

// Add adds a file to those that are read, in this order.
func (a *readAhead) Add(dir *os.File, name string, st *unix.Stat_t) {
	a.queue = append(a.queue, &hostFile{Dir: dir, Name: name, St: *st, size: st.Size})
}

// ask has as much read as there may be.
func (a *readAhead) ask() {
	for len(a.queue) > 0 && len(a.waiting) < aheadFiles && (len(a.waiting) == 0 || a.bytes+a.queue[0].size <= aheadBytes) {
		f := a.queue[0]
		a.queue = a.queue[1:]
		a.waiting[f.Name] = f
		a.bytes += f.size
		f.done.Add(1)
		a.readers.todo <- f
	}
}

// Take returns a file that was read, or nil for one that was not to be.
func (a *readAhead) Take(name string) *hostFile {
	a.ask()
	f := a.waiting[name]
	if f != nil {
		f.done.Wait()
		delete(a.waiting, name)
		a.bytes -= f.size
	}
	return f
}

// End waits for what nobody has taken.
func (a *readAhead) End() {
	for _, f := range a.waiting {
		f.done.Wait()
	}
}
