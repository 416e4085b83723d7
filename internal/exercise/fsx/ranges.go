package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fallocate is fallocate(2) in a mode over some range.
func fallocate(mode uint32) func(*run, *file) error {
	return func(r *run, f *file) error {
		d, err := r.descriptor(f, descriptor.writable)
		if err != nil {
			return err
		}
		off, n := r.extent(f, false)
		r.note(f, "fallocate mode %#x, %d at %d, descriptor %d (%#x)", mode, n, off, d.fd, d.flags)
		if err := unix.Fallocate(d.fd, mode, off, n); err != nil {
			return fmt.Errorf("fallocate: %w", err)
		}
		if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
			f.Image.zero(off, n)
		}
		if mode&unix.FALLOC_FL_KEEP_SIZE == 0 {
			f.Image.Size = max(f.Image.Size, off+n)
		}
		return nil
	}
}

// copyRange copies from one of the files to this one, without the data passing through here.
func (r *run) copyRange(f *file) error {
	from := r.files[r.rng.IntN(len(r.files))]
	src, err := r.descriptor(from, plain)
	if err != nil {
		return err
	}
	dst, err := r.descriptor(f, plain)
	if err != nil {
		return err
	}
	srcOff, n := r.extent(from, false)
	dstOff := r.offset(f)
	n = min(n, from.Image.Size-srcOff)
	if n <= 0 || from == f && srcOff < dstOff+n && dstOff < srcOff+n {
		return nil // nothing there, or overlapping, which is EINVAL
	}
	r.note(f, "copy %d at %d of %v to %d", n, srcOff, from, dstOff)
	data := make([]byte, n)
	from.Image.readAt(data, srcOff)
	for done := int64(0); done < n; {
		in, out := srcOff+done, dstOff+done
		m, err := unix.CopyFileRange(src.fd, &in, dst.fd, &out, int(n-done), 0)
		if err != nil {
			return fmt.Errorf("copy_file_range after %d bytes: %w", done, err)
		}
		if m == 0 {
			return fmt.Errorf("copy_file_range copied %d bytes of %d", done, n)
		}
		done += int64(m)
	}
	f.Image.writeAt(data, dstOff)
	return nil
}
