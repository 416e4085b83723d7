package main

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// operation is something that is done to a file and to its image alike. One that a file system may
// lack is optional: it is dropped when the first answer is EOPNOTSUPP.
type operation struct {
	name     string
	weight   int
	optional bool
	do       func(*run, *file) error
}

var operations = []operation{
	{"read", 30, false, (*run).read},
	{"write", 24, false, (*run).write},
	{"append", 6, false, (*run).append},
	{"truncate", 8, false, (*run).truncate},
	{"read mapped", 12, false, (*run).readMapped},
	{"write mapped", 12, false, (*run).writeMapped},
	{"unmap", 2, false, (*run).unmap},
	{"allocate", 2, true, fallocate(0)},
	{"allocate and keep size", 2, true, fallocate(unix.FALLOC_FL_KEEP_SIZE)},
	{"punch hole", 4, true, fallocate(unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE)},
	{"zero range", 2, true, fallocate(unix.FALLOC_FL_ZERO_RANGE)},
	{"zero range and keep size", 2, true, fallocate(unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE)},
	{"copy range", 4, true, (*run).copyRange},
	{"open", 6, false, (*run).openAgain},
	{"open and truncate", 1, false, (*run).openTruncating},
	{"open direct", 3, true, (*run).openDirect},
	{"close", 8, false, (*run).closeOne},
	{"sync", 2, false, (*run).sync},
	{"drop cache", 8, false, (*run).dropCache},
	{"change attributes", 3, false, (*run).touch},
	{"rename", 4, false, (*run).rename},
	{"replace", 1, false, (*run).replace},
	{"exchange", 2, false, (*run).exchange},
	{"link", 2, false, (*run).link},
	{"unlink", 3, false, (*run).unlink},
	{"verify", 1, false, (*run).verify},
}

func (r *run) read(f *file) error {
	d, err := r.descriptor(f, descriptor.readable)
	if err != nil {
		return err
	}
	off, n := r.extent(f, d.direct())
	r.note(f, "read %d at %d, descriptor %d (%#x)", n, off, d.fd, d.flags)
	return r.readAndCompare(f, d.fd, off, n)
}

func (r *run) readAndCompare(f *file, fd int, off, n int64) error {
	got, err := unix.Pread(fd, r.buf[:n], off)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if want := max(0, min(n, f.Image.Size-off)); int64(got) != want {
		return fmt.Errorf("read %d bytes, want %d", got, want)
	}
	return f.Image.compare(r.buf[:got], off)
}

func (r *run) write(f *file) error {
	d, err := r.descriptor(f, func(d descriptor) bool { return d.writable() && !d.appends() })
	if err != nil {
		return err
	}
	off, n := r.extent(f, d.direct())
	r.note(f, "write %d at %d, descriptor %d (%#x)", n, off, d.fd, d.flags)
	data := r.noise(n)
	if err := pwrite(d.fd, data, off); err != nil {
		return err
	}
	f.Image.writeAt(data, off)
	return nil
}

func pwrite(fd int, data []byte, off int64) error {
	n, err := unix.Pwrite(fd, data, off)
	if err == nil && n < len(data) {
		return fmt.Errorf("wrote %d bytes of %d", n, len(data))
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// append writes at the end, where an O_APPEND descriptor puts it whatever its own position is.
func (r *run) append(f *file) error {
	if f.Image.Size > far+zone || f.Image.Size > zone && f.Image.Size < far {
		return nil // it would leave the zones
	}
	d, ok := r.find(f, descriptor.appends)
	if !ok && len(f.Names) == 0 {
		return nil
	}
	if !ok {
		var err error
		if d, err = r.openMore(f, unix.O_RDWR|unix.O_APPEND); err != nil {
			return err
		}
	}
	data := r.noise(1 + r.rng.Int64N(10_000))
	r.note(f, "append %d, descriptor %d", len(data), d.fd)
	n, err := unix.Write(d.fd, data)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if n < len(data) {
		return fmt.Errorf("appended %d bytes of %d", n, len(data))
	}
	f.Image.writeAt(data, f.Image.Size)
	return nil
}

func (r *run) truncate(f *file) error {
	size := r.offset(f)
	switch r.rng.IntN(8) {
	case 0:
		size = 0
	case 1:
		size = f.Image.Size // as SQLite does after a checkpoint
	}
	if len(f.Names) > 0 && r.rng.IntN(3) == 0 {
		r.note(f, "truncate to %d by name", size)
		if err := unix.Truncate(filepath.Join(r.dir, f.Names[0]), size); err != nil {
			return fmt.Errorf("truncate: %w", err)
		}
	} else {
		d, err := r.descriptor(f, descriptor.writable)
		if err != nil {
			return err
		}
		r.note(f, "truncate to %d, descriptor %d (%#x)", size, d.fd, d.flags)
		if err := unix.Ftruncate(d.fd, size); err != nil {
			return fmt.Errorf("ftruncate: %w", err)
		}
	}
	f.Image.truncate(size)
	return nil
}

// mapping maps a zone, unless one is mapped, and picks a part of it that the file has.
func (r *run) mapping(f *file) (mem []byte, off int64, err error) {
	if f.mapped == nil {
		d, err := r.descriptor(f, plain)
		if err != nil {
			return nil, 0, err
		}
		f.mappedAt = 0
		if f.Image.Size > far {
			f.mappedAt = far
		}
		if f.mapped, err = unix.Mmap(d.fd, f.mappedAt, zone, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
			return nil, 0, fmt.Errorf("mmap: %w", err)
		}
	}
	// Touching a page that lies wholly beyond the end is SIGBUS.
	length := min(f.Image.Size-f.mappedAt, zone)
	if length <= 0 {
		return nil, 0, nil
	}
	from := r.near(length)
	to := min(length, from+1+r.length())
	if from >= to {
		from = to - 1
	}
	return f.mapped[from:to], f.mappedAt + from, nil
}

func (r *run) readMapped(f *file) error {
	mem, off, err := r.mapping(f)
	if err != nil {
		return err
	}
	r.note(f, "read mapped %d at %d", len(mem), off)
	return f.Image.compare(mem, off)
}

func (r *run) writeMapped(f *file) error {
	mem, off, err := r.mapping(f)
	if err != nil || mem == nil {
		return err
	}
	data := r.noise(int64(len(mem)))
	how := []int{0, unix.MS_ASYNC, unix.MS_SYNC}[r.rng.IntN(3)]
	r.note(f, "write mapped %d at %d, msync %d", len(mem), off, how)
	copy(mem, data)
	f.Image.writeAt(data, off)
	if how == 0 {
		return nil
	}
	if err := unix.Msync(f.mapped, how); err != nil {
		return fmt.Errorf("msync: %w", err)
	}
	return nil
}

func (r *run) unmap(f *file) error {
	r.note(f, "unmap")
	return f.unmap()
}
