package reading

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

// Readers are the goroutines that read ahead.
type Readers struct {
	todo chan *File
	all  sync.WaitGroup
}

// NewReaders begins to read. More of them than processors, since they wait for the disk.
func NewReaders() *Readers {
	r := &Readers{todo: make(chan *File, aheadFiles)}
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
func (r *Readers) End() {
	close(r.todo)
	r.all.Wait()
}

// Ahead is what is read of one directory.
type Ahead struct {
	readers *Readers
	queue   []*File // not asked for yet
	waiting map[string]*File
	bytes   int64 // of those in waiting
}

// Ahead begins with a directory.
func (r *Readers) Ahead() *Ahead { return &Ahead{readers: r, waiting: map[string]*File{}} }

// Add adds a file to those that are read, in this order.
func (a *Ahead) Add(dir *os.File, name string, st *unix.Stat_t) {
	a.queue = append(a.queue, &File{Dir: dir, Name: name, St: *st, size: st.Size})
}

// ask has as much read as there may be.
func (a *Ahead) ask() {
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
func (a *Ahead) Take(name string) *File {
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
func (a *Ahead) End() {
	for _, f := range a.waiting {
		f.done.Wait()
	}
}
