package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/exercise"
)

const (
	stateName    = "fsx.state" // holds what the files should be, for the next run
	subdirectory = "sub"       // where some of the files are

	maxLength = 192 << 10 // of one read or write, in bytes
	aligned   = 4096      // what O_DIRECT asks of offsets, lengths and memory, at most
)

// run is one run of the exerciser.
type run struct {
	Named int // names given so far
	files []*file

	dir     string
	rng     *rand.Rand
	journal exercise.Journal
	without map[string]bool // operations that the file system does not have
	logf    func(string, ...any)
	buf     []byte // aligned, for O_DIRECT
	random  []byte
}

// state is what one run leaves for the next.
type state struct {
	Named int
	Files []*file
}

func newRun(dir string, seed uint64, logf func(string, ...any)) (*run, error) {
	r := &run{dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), without: map[string]bool{}, logf: logf}
	var err error
	r.buf, err = unix.Mmap(-1, 0, maxLength+aligned, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	r.random = make([]byte, 1<<20)
	for i := range r.random {
		r.random[i] = byte(1 + r.rng.IntN(255)) // never zero: a hole must not pass for data
	}
	return r, os.MkdirAll(filepath.Join(dir, subdirectory), 0o755)
}

// exercise proves what the last run left, does random operations until the time is over, and leaves
// what is there for the next run.
func (r *run) exercise(files int, duration time.Duration) error {
	if err := r.load(); err != nil {
		return err
	}
	for len(r.files) < files {
		f := new(file)
		if err := r.create(f); err != nil {
			return err
		}
		r.files = append(r.files, f)
	}
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if err := r.step(); err != nil {
			return err
		}
	}
	return r.save()
}

// step does one operation on one of the files.
func (r *run) step() error {
	f, op := r.files[r.rng.IntN(len(r.files))], exercise.Pick(r.rng, operations, func(op operation) int { return op.weight })
	if r.without[op.name] {
		return nil
	}
	err := op.do(r, f)
	if op.optional && errors.Is(err, unix.EOPNOTSUPP) {
		r.logf("no %q here: %v", op.name, err)
		r.without[op.name] = true
		return nil
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w", op.name, f, err)
	}
	return nil
}

func (r *run) note(f *file, format string, args ...any) {
	r.journal.Note("%v (%d bytes): %s", f, f.Image.Size, fmt.Sprintf(format, args...))
}

// noise returns bytes that differ from call to call.
func (r *run) noise(n int64) []byte {
	start := r.rng.Int64N(int64(len(r.random)) - n)
	return r.buf[:copy(r.buf[:n], r.random[start:])]
}

// near returns a number below a limit, often one at the edge of a chunk or a page.
func (r *run) near(limit int64) int64 {
	n := r.rng.Int64N(limit)
	switch r.rng.IntN(3) {
	case 0:
		n = n&^(64<<10-1) + r.rng.Int64N(7) - 3
	case 1:
		n = n&^(4<<10-1) + r.rng.Int64N(7) - 3
	}
	return min(max(n, 0), limit-1)
}

// length is of a read or a write: often short, sometimes of several chunks.
func (r *run) length() int64 {
	return 1 + r.rng.Int64N([]int64{16, 5000, maxLength}[r.rng.IntN(3)])
}

// offset is a place in a zone of the file. The far zone is that of one file in three.
func (r *run) offset(f *file) int64 {
	n := r.near(zone)
	if f == r.files[0] && r.rng.IntN(3) == 0 {
		n += far
	}
	return n
}

// extent is a place and a length, on whole blocks if the descriptor asks for that.
func (r *run) extent(f *file, direct bool) (off, n int64) {
	off, n = r.offset(f), r.length()
	if direct {
		off, n = off&^(aligned-1), (n+aligned-1)&^(aligned-1)
	}
	return off, n
}

// verify compares all of a file.
func (r *run) verify(f *file) error {
	r.note(f, "verify")
	return r.compareAll(f)
}

// compareAll reads both zones, and in between some of what must be zeros.
func (r *run) compareAll(f *file) error {
	d, err := r.descriptor(f, func(d descriptor) bool { return d.readable() && !d.direct() })
	if err != nil {
		return err
	}
	for _, start := range []int64{0, far} {
		for off := start; off < start+2*zone && off < f.Image.Size; off += maxLength {
			if err := r.readAndCompare(f, d.fd, off, maxLength); err != nil {
				return err
			}
		}
	}
	if f.Image.Size > 2*zone {
		for range 4 {
			if err := r.readAndCompare(f, d.fd, r.rng.Int64N(f.Image.Size), maxLength); err != nil {
				return err
			}
		}
	}
	return nil
}

// load takes up where the last run in this directory ended, and proves that all is as it left it.
func (r *run) load() error {
	var st state
	if found, err := exercise.Load(filepath.Join(r.dir, stateName), &st); err != nil || !found {
		return err
	}
	r.Named, r.files = st.Named, st.Files
	for _, f := range r.files {
		if len(f.Names) == 0 {
			if err := r.create(f); err != nil {
				return err
			}
			continue
		}
		if err := r.compareAll(f); err != nil {
			return fmt.Errorf("%v, as the last run left it: %w", f, err)
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("%v, as the last run left it: %w", f, err)
		}
		// Opened anew, so that descriptors of all kinds come about.
		if err := f.closeAll(); err != nil {
			return err
		}
	}
	return nil
}

// save closes all files and writes down what they should be.
func (r *run) save() error {
	for _, f := range r.files {
		if err := r.compareAll(f); err != nil {
			return fmt.Errorf("%v, at the end: %w", f, err)
		}
		if err := f.closeAll(); err != nil {
			return err
		}
	}
	return exercise.Save(filepath.Join(r.dir, stateName), state{r.Named, r.files})
}
