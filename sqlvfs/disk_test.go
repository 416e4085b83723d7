package sqlvfs

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
)

// disk is a file system that writes down what it is asked to do, so that afterwards every moment at
// which the power may fail can be looked at: what was not synced then is lost, or not, or in part,
// in any order. The files themselves are the host's.
type disk struct {
	vfs.VFSFilename
	plant plant

	mu     sync.Mutex
	events []event                    // GUARDED_BY(mu)
	names  map[string]int             // files of each name. GUARDED_BY(mu)
	files  int                        // how many there ever were. GUARDED_BY(mu)
	fail   func(eventKind, int) error // what a change is refused with; the number is its size. GUARDED_BY(mu)
	grows  func(int64) error          // what a file that becomes so much longer is refused with; nil: nothing. GUARDED_BY(mu)
	slow   chan struct{}              // if not nil, syncs of the database wait until it is closed. GUARDED_BY(mu)
}

// plant is a bug of the disk, for proving that the tests find such: it forgets one kind of sync.
type plant int

const (
	honest plant = iota
	forgetsLog
	forgetsDatabase
	forgetsNames
)

type eventKind int

const (
	made       eventKind = iota // a name was given to a file
	removed                     // a name was taken away
	wrote                       // data was written at off
	resized                     // the file was cut or made longer, to size off
	synced                      // the file is durable
	unsynced                    // a sync has failed
	namesKept                   // the names are durable
	began                       // the step was begun
	guaranteed                  // the step, and all before it, was promised to be durable
)

type event struct {
	kind eventKind
	file int
	name string
	off  int64
	data []byte
	step int
}

// newDisk registers a disk as a VFS until the test ends, and returns the name of that.
func newDisk(t testing.TB, p plant) (*disk, string) {
	d := &disk{VFSFilename: vfs.Find("os").(vfs.VFSFilename), plant: p, names: map[string]int{}}
	name := "disk of " + t.Name()
	vfs.Register(name, diskvfs.FS{VFSFilename: d, SyncDir: func(string) error {
		if d.plant == forgetsNames {
			return nil
		}
		return d.change(event{kind: namesKept}, func() error { return nil })
	}})
	t.Cleanup(func() { vfs.Unregister(name) })
	return d, name
}

// insert puts files on the disk, which begins a new life.
func (d *disk) insert(t testing.TB, dir string, img image) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events, d.names, d.files = nil, map[string]int{}, 0
	for name, data := range img {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		d.files++
		d.names[name] = d.files
	}
}

// forget drops what was written down, of files that are not there any more.
func (d *disk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events, d.names = nil, map[string]int{}
}

// change does something to a file and writes it down, or fails.
func (d *disk) change(e event, do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		if err := d.fail(e.kind, len(e.data)); err != nil {
			if e.kind == synced {
				d.events = append(d.events, event{kind: unsynced, file: e.file})
			}
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	d.events = append(d.events, e)
	return nil
}

// mark notes how far the history has come.
func (d *disk) mark(kind eventKind, step int) {
	d.mu.Lock()
	d.events = append(d.events, event{kind: kind, step: step})
	d.mu.Unlock()
}

func (d *disk) failWith(fail func(eventKind, int) error) {
	d.mu.Lock()
	d.fail = fail
	d.mu.Unlock()
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, out, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	base := filepath.Base(name.String())
	n, ok := d.names[base]
	if !ok {
		d.files++
		n = d.files
		d.names[base] = n
		d.events = append(d.events, event{kind: made, file: n, name: base})
	}
	return &diskFile{f, d, n, flags}, out, nil
}

func (d *disk) Delete(name string, _ bool) error {
	base := filepath.Base(name)
	return d.change(event{kind: removed, name: base}, func() error {
		delete(d.names, base)
		return d.VFSFilename.Delete(name, false)
	})
}

type diskFile struct {
	vfs.File
	d     *disk
	n     int
	flags vfs.OpenFlag
}

// grow refuses to make a file longer than its disk has room for.
func (f *diskFile) grow(to int64) error {
	if f.d.grows == nil {
		return nil
	}
	size, err := f.File.Size()
	if err != nil || to <= size {
		return err
	}
	return f.d.grows(to - size)
}

func (f *diskFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.d.change(event{kind: wrote, file: f.n, off: off, data: slices.Clone(p)}, func() error {
		if err := f.grow(off + int64(len(p))); err != nil {
			return err
		}
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	return f.d.change(event{kind: resized, file: f.n, off: size}, func() error {
		if err := f.grow(size); err != nil {
			return err
		}
		return f.File.Truncate(size)
	})
}

func (f *diskFile) SizeHint(size int64) error {
	if have, err := f.File.Size(); err != nil || have >= size {
		return err
	}
	return f.Truncate(size)
}

func (f *diskFile) Sync(vfs.SyncFlag) error {
	switch plant := f.d.plant; {
	case plant == forgetsLog && f.flags&vfs.OPEN_WAL != 0, plant == forgetsDatabase && f.flags&vfs.OPEN_MAIN_DB != 0:
		return nil
	}
	f.d.mu.Lock()
	slow := f.d.slow
	f.d.mu.Unlock()
	if slow != nil && f.flags&vfs.OPEN_MAIN_DB != 0 {
		<-slow
	}
	return f.d.change(event{kind: synced, file: f.n}, func() error { return nil })
}

func (f *diskFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

// image is what the files of a disk hold, by name.
type image map[string][]byte

// platter is a disk on which events are played back: what is durable, and what is not yet.
type platter struct {
	names   map[string]int
	renames []event // since the names were durable
	files   map[int]*tracks
	began   int // the newest step that was begun
	kept    int // the newest that must not be lost
}

type tracks struct {
	data    []byte
	pending []event // since data was durable
}

func newPlatter(img image, names map[string]int) *platter {
	p := &platter{names: map[string]int{}, files: map[int]*tracks{}}
	for name, data := range img {
		p.names[name] = names[name]
		p.files[names[name]] = &tracks{data: slices.Clone(data)}
	}
	return p
}

// play brings the platter to the moment after an event.
func (p *platter) play(e event, rnd *rand.Rand) {
	f := p.files[e.file]
	switch e.kind {
	case made:
		p.files[e.file] = &tracks{}
		p.renames = append(p.renames, e)
	case removed:
		p.renames = append(p.renames, e)
	case wrote, resized:
		f.pending = append(f.pending, e)
	case synced:
		for _, e := range f.pending {
			f.data = e.apply(f.data, nil, nil)
		}
		f.pending = nil
	case unsynced:
		// What was to be written is forgotten, wherever it had got to.
		f.data = survivors(f, rnd)
		f.pending = nil
	case namesKept:
		for _, e := range p.renames {
			e.rename(p.names)
		}
		p.renames = nil
	case began:
		p.began = e.step
	case guaranteed:
		p.kept = max(p.kept, e.step)
	}
}

func (e event) rename(names map[string]int) {
	if e.kind == made {
		names[e.name] = e.file
	} else {
		delete(names, e.name)
	}
}

// cut is what the disk holds when the power fails now.
func (p *platter) cut(rnd *rand.Rand) image {
	names := map[string]int{}
	for name, n := range p.names {
		names[name] = n
	}
	// Of the changes to each name, those up to some moment have arrived.
	arrived := map[string]bool{}
	for _, e := range p.renames {
		ok, seen := arrived[e.name]
		if !seen || ok {
			ok = rnd.IntN(3) > 0
			arrived[e.name] = ok
		}
		if ok {
			e.rename(names)
		}
	}
	img := image{}
	for name, n := range names {
		img[name] = survivors(p.files[n], rnd)
	}
	return img
}

const sector = 512 // bytes that a disk writes as a whole or not at all

// survivors is what a file holds after some of what is pending has come to the disk: nothing or all
// of it, whole writes, or sectors.
func survivors(f *tracks, rnd *rand.Rand) []byte {
	data := slices.Clone(f.data)
	way := rnd.IntN(5)
	last := rnd.IntN(len(f.pending) + 1)
	filler := byte(rnd.IntN(2) * 0xa5) // what is in space that was given to the file and not written
	for i, e := range f.pending {
		var keep func() bool
		switch way {
		case 0:
			keep = func() bool { return false }
		case 1:
			keep = nil
		case 2: // in order, the last one torn
			if i > last {
				return data
			}
			if i == last {
				keep = func() bool { return rnd.IntN(2) == 0 }
			}
		case 3:
			whole := rnd.IntN(2) == 0
			keep = func() bool { return whole }
		case 4:
			keep = func() bool { return rnd.IntN(4) > 0 }
		}
		data = e.apply(data, keep, &filler)
	}
	return data
}

// apply does to data what the event does to a file; keep is asked for each sector, nil says all.
func (e event) apply(data []byte, keep func() bool, filler *byte) []byte {
	grow := func(size int64) {
		for old := len(data); int64(len(data)) < size; {
			data = append(data, make([]byte, size-int64(old))...)
			if filler != nil && e.kind == wrote { // truncate(2) promises zeros, a write nothing
				for i := old; i < len(data); i++ {
					data[i] = *filler
				}
			}
		}
	}
	if e.kind == resized {
		if keep == nil || keep() {
			grow(e.off)
			data = data[:e.off]
		}
		return data
	}
	for off, rest := e.off, e.data; len(rest) > 0; {
		n := min(int64(len(rest)), sector-off%sector)
		if keep == nil || keep() {
			grow(off + n)
			copy(data[off:], rest[:n])
		}
		off, rest = off+n, rest[n:]
	}
	return data
}
