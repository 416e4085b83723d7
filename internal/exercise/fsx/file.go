package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// The parts of a file that are worked on, in bytes. Between them is a hole. The far one lies across
// 4 GiB, where a number of 32 bits ends.
const (
	zone = 1 << 20
	far  = 4<<30 - zone/2
)

// file is one under exercise. It has at least a name or a descriptor.
type file struct {
	Names []string // below the run's directory; none once all are unlinked
	Image image

	open     []descriptor
	mapped   []byte // a shared mapping of one zone, or nil
	mappedAt int64  // where that zone begins
}

type descriptor struct{ fd, flags int }

func (d descriptor) any() bool      { return true }
func (d descriptor) readable() bool { return d.flags&unix.O_ACCMODE != unix.O_WRONLY }
func (d descriptor) writable() bool { return d.flags&unix.O_ACCMODE != unix.O_RDONLY }
func (d descriptor) appends() bool  { return d.flags&unix.O_APPEND != 0 }
func (d descriptor) direct() bool   { return d.flags&unix.O_DIRECT != 0 }

func (f *file) String() string {
	if len(f.Names) == 0 {
		return "(unlinked)"
	}
	return f.Names[0]
}

// openMore opens the file once more, by one of its names.
func (r *run) openMore(f *file, flags int) (descriptor, error) {
	name := f.Names[r.rng.IntN(len(f.Names))]
	fd, err := unix.Open(filepath.Join(r.dir, name), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return descriptor{}, fmt.Errorf("open %s with flags %#x: %w", name, flags, err)
	}
	d := descriptor{fd, flags}
	f.open = append(f.open, d)
	return d, nil
}

// find picks a descriptor that is fit for a purpose, if there is one.
func (r *run) find(f *file, fit func(descriptor) bool) (descriptor, bool) {
	var candidates []descriptor
	for _, d := range f.open {
		if fit(d) {
			candidates = append(candidates, d)
		}
	}
	if len(candidates) == 0 {
		return descriptor{}, false
	}
	return candidates[r.rng.IntN(len(candidates))], true
}

// descriptor is find, but opens a plain one if there is none.
func (r *run) descriptor(f *file, fit func(descriptor) bool) (descriptor, error) {
	if d, ok := r.find(f, fit); ok {
		return d, nil
	}
	return r.openMore(f, unix.O_RDWR)
}

// plain is a descriptor for whatever may be done with a file.
func plain(d descriptor) bool { return d.readable() && d.writable() && !d.appends() && !d.direct() }

// closeAt closes the descriptor of an index.
func (f *file) closeAt(i int) error {
	fd := f.open[i].fd
	f.open = slices.Delete(f.open, i, i+1)
	return unix.Close(fd)
}

// closeAll closes descriptors and mapping.
func (f *file) closeAll() error {
	if err := f.unmap(); err != nil {
		return err
	}
	for len(f.open) > 0 {
		if err := f.closeAt(0); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) unmap() error {
	if f.mapped == nil {
		return nil
	}
	m := f.mapped
	f.mapped = nil
	return unix.Munmap(m)
}

// check compares what is cheap to ask for.
func (f *file) check() error {
	if len(f.open) == 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.open[0].fd, &st); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	if st.Size != f.Image.Size {
		return fmt.Errorf("size is %d, want %d", st.Size, f.Image.Size)
	}
	if int(st.Nlink) != len(f.Names) {
		return fmt.Errorf("link count is %d, want %d", st.Nlink, len(f.Names))
	}
	return nil
}
