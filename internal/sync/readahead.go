package sync

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
)

// The files of a directory are read by several goroutines while those before them are stored, which is
// done by one, in order: a disk, or a file system far away, answers many questions in the time of one.

const (
	aheadBytes = 16 << 20 // content that is read and not stored yet, at most, but for one file
	aheadFiles = 64
)

// read is a file that is read, ahead or when it is its turn.
type read struct {
	dir  *os.File
	name string
	size int64       // as it was met
	st   unix.Stat_t // as it was met; then as it was while it was read

	hash   []byte
	xattrs map[string]string

	data []byte // ahead: all of it
	err  error  // ahead: why it could not be read
	done sync.WaitGroup
}

// readers are the goroutines that read ahead.
type readers struct {
	todo chan *read
	all  sync.WaitGroup
}

// newReaders begins to read. More of them than processors, since they wait for the disk.
func newReaders() *readers {
	r := &readers{todo: make(chan *read, aheadFiles)}
	for range max(4, min(2*runtime.GOMAXPROCS(0), 16)) {
		r.all.Go(func() {
			for f := range r.todo {
				f.err = f.load()
				f.done.Done()
			}
		})
	}
	return r
}

func (r *readers) end() {
	close(r.todo)
	r.all.Wait()
}

func (f *read) load() error {
	file, err := openNow(f.dir, f.name, &f.st)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.st.Size >= bufferSize {
		return errChanging // it has grown
	}
	f.data = takeBuffer(f.st.Size)
	if _, err := io.ReadFull(file, f.data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errChanging
		}
		return hostdir.Unwrap(err)
	}
	hash := sha256.Sum256(f.data)
	f.hash = hash[:]
	return f.finish(file)
}

// look reads what else is moved of a file whose content is known.
func (f *read) look() error {
	file, err := openNow(f.dir, f.name, &f.st)
	if err != nil {
		return err
	}
	defer file.Close()
	return f.finish(file)
}

// drop gives up the content.
func (f *read) drop() {
	dropBuffer(f.data)
	f.data = nil
}

// finish reads what else is moved of a file, and makes sure that it was the same all the time.
func (f *read) finish(file *os.File) (err error) {
	if f.xattrs, err = userXattrs(file); err != nil {
		return err
	}
	after, err := hostdir.Stat(file)
	if err == nil && fingerprintOf(&after) != fingerprintOf(&f.st) {
		err = errChanging
	}
	return err
}

// ahead is what is read of one directory.
type ahead struct {
	readers *readers
	queue   []*read // not asked for yet
	waiting map[string]*read
	bytes   int64 // of those in waiting
}

// ask has as much read as there may be.
func (a *ahead) ask() {
	for len(a.queue) > 0 && len(a.waiting) < aheadFiles && (len(a.waiting) == 0 || a.bytes+a.queue[0].size <= aheadBytes) {
		f := a.queue[0]
		a.queue = a.queue[1:]
		a.waiting[f.name] = f
		a.bytes += f.size
		f.done.Add(1)
		a.readers.todo <- f
	}
}

// take returns a file that was read, or nil for one that was not to be.
func (a *ahead) take(name string) *read {
	a.ask()
	f := a.waiting[name]
	if f != nil {
		f.done.Wait()
		delete(a.waiting, name)
		a.bytes -= f.size
	}
	return f
}

// end waits for what nobody has taken.
func (a *ahead) end() {
	for _, f := range a.waiting {
		f.done.Wait()
	}
}

// met is an entry of a directory as it was met.
type met struct {
	st      unix.Stat_t
	err     error
	content *read // nil: it was not read ahead
}

// readsAhead tells whether a file is read before it is its turn: one that seems new or changed, but
// for long ones, whose content is moved piece by piece, and for those with several names, which are
// read once.
func (p *pusher) readsAhead(at string, st *unix.Stat_t) bool {
	if p.opt.DryRun || kind(st.Mode) != unix.S_IFREG || st.Size >= bufferSize || st.Nlink > 1 || skipped(at) != "" {
		return false
	}
	b := p.base[at]
	return (b == nil || b.Fingerprint != fingerprintOf(st)) && p.filter.By(at, false) == ""
}
