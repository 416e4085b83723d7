package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// maxOpen and maxNames bound the descriptors and the names of one file.
const (
	maxOpen  = 6
	maxNames = 4
)

func (r *run) openAgain(f *file) error {
	flags := []int{unix.O_RDWR, unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR | unix.O_APPEND}
	return r.openWith(f, flags[r.rng.IntN(len(flags))])
}

func (r *run) openTruncating(f *file) error {
	err := r.openWith(f, unix.O_RDWR|unix.O_TRUNC)
	if err == nil && len(f.open) > 0 && f.open[len(f.open)-1].flags&unix.O_TRUNC != 0 {
		f.open[len(f.open)-1].flags &^= unix.O_TRUNC
		f.Image.truncate(0)
	}
	return err
}

func (r *run) openDirect(f *file) error {
	err := r.openWith(f, unix.O_RDWR|unix.O_DIRECT)
	if errors.Is(err, unix.EINVAL) {
		return unix.EOPNOTSUPP // how open(2) says that there is no O_DIRECT
	}
	return err
}

func (r *run) openWith(f *file, flags int) error {
	if len(f.Names) == 0 || len(f.open) >= maxOpen {
		return nil
	}
	r.note(f, "open with flags %#x", flags)
	_, err := r.openMore(f, flags)
	return err
}

func (r *run) closeOne(f *file) error {
	if len(f.open) == 0 {
		return nil
	}
	i := r.rng.IntN(len(f.open))
	rest := slices.Delete(slices.Clone(f.open), i, i+1)
	if len(f.Names) == 0 && !slices.ContainsFunc(rest, plain) {
		return nil // without a name it could not be opened again
	}
	r.note(f, "close descriptor %d", f.open[i].fd)
	return f.closeAt(i)
}

func (r *run) sync(f *file) error {
	d, err := r.descriptor(f, descriptor.any)
	if err != nil {
		return err
	}
	r.note(f, "sync descriptor %d", d.fd)
	if r.rng.IntN(2) == 0 {
		return unix.Fdatasync(d.fd)
	}
	return unix.Fsync(d.fd)
}

// dropCache lets the next reads reach the file system.
func (r *run) dropCache(f *file) error {
	d, err := r.descriptor(f, descriptor.any)
	if err != nil {
		return err
	}
	r.note(f, "drop cache")
	return unix.Fadvise(d.fd, 0, 0, unix.FADV_DONTNEED)
}

// touch changes what is not content.
func (r *run) touch(f *file) error {
	d, err := r.descriptor(f, descriptor.any)
	if err != nil {
		return err
	}
	if r.rng.IntN(2) == 0 {
		mode := uint32(0o600 | r.rng.IntN(0o100))
		r.note(f, "chmod %#o", mode)
		return unix.Fchmod(d.fd, mode)
	}
	r.note(f, "set times")
	sec := time.Now().Unix() - r.rng.Int64N(1000)
	return unix.Futimes(d.fd, []unix.Timeval{{Sec: sec}, {Sec: sec}})
}

// fresh is a name that nothing has, in one of two directories.
func (r *run) fresh() string {
	r.Named++
	name := fmt.Sprintf("f%d", r.Named)
	if r.rng.IntN(2) == 0 {
		name = filepath.Join(subdirectory, name)
	}
	return name
}

func (r *run) rename(f *file) error {
	if len(f.Names) == 0 {
		return nil
	}
	i, to := r.rng.IntN(len(f.Names)), r.fresh()
	r.note(f, "rename %s to %s", f.Names[i], to)
	if err := unix.Rename(filepath.Join(r.dir, f.Names[i]), filepath.Join(r.dir, to)); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	f.Names[i] = to
	return nil
}

// replace renames over a name of another file, which loses it.
func (r *run) replace(f *file) error {
	victim := r.files[r.rng.IntN(len(r.files))]
	if victim == f || len(f.Names) == 0 || len(victim.Names) == 0 {
		return nil
	}
	if err := r.prepareToLose(victim); err != nil {
		return err
	}
	from, to := f.Names[0], victim.Names[0]
	r.note(f, "rename %s over %s", from, to)
	if err := unix.Rename(filepath.Join(r.dir, from), filepath.Join(r.dir, to)); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	f.Names[0] = to
	victim.Names = victim.Names[1:]
	return victim.check()
}

// exchange has names of two files change places.
func (r *run) exchange(f *file) error {
	other := r.files[r.rng.IntN(len(r.files))]
	if other == f || len(f.Names) == 0 || len(other.Names) == 0 {
		return nil
	}
	i, j := r.rng.IntN(len(f.Names)), r.rng.IntN(len(other.Names))
	r.note(f, "exchange %s and %s", f.Names[i], other.Names[j])
	err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(r.dir, f.Names[i]), unix.AT_FDCWD, filepath.Join(r.dir, other.Names[j]), unix.RENAME_EXCHANGE)
	if err != nil {
		return fmt.Errorf("exchange: %w", err)
	}
	f.Names[i], other.Names[j] = other.Names[j], f.Names[i]
	return other.check()
}

// prepareToLose makes sure that a file can still be used when it loses a name.
func (r *run) prepareToLose(f *file) error {
	if len(f.Names) > 1 {
		return nil
	}
	_, err := r.descriptor(f, plain)
	return err
}

func (r *run) link(f *file) error {
	if len(f.Names) == 0 || len(f.Names) == maxNames {
		return nil
	}
	to := r.fresh()
	r.note(f, "link %s to %s", f.Names[0], to)
	if err := unix.Link(filepath.Join(r.dir, f.Names[0]), filepath.Join(r.dir, to)); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	f.Names = append(f.Names, to)
	return nil
}

// unlink takes a name away. A file that has none any more is given up some time later, and another
// begins in its place.
func (r *run) unlink(f *file) error {
	if len(f.Names) == 0 {
		if r.rng.IntN(3) > 0 {
			return nil
		}
		r.note(f, "give up")
		if err := r.compareAll(f); err != nil {
			return err
		}
		if err := f.closeAll(); err != nil {
			return err
		}
		return r.create(f)
	}
	if len(f.Names) == 1 && r.rng.IntN(3) > 0 {
		return nil // files that have names are more interesting
	}
	if err := r.prepareToLose(f); err != nil {
		return err
	}
	i := r.rng.IntN(len(f.Names))
	r.note(f, "unlink %s", f.Names[i])
	if err := unix.Unlink(filepath.Join(r.dir, f.Names[i])); err != nil {
		return fmt.Errorf("unlink: %w", err)
	}
	f.Names = slices.Delete(f.Names, i, i+1)
	return nil
}

// create begins a new file.
func (r *run) create(f *file) error {
	name := r.fresh()
	r.note(f, "create %s", name)
	fd, err := unix.Open(filepath.Join(r.dir, name), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	*f = file{Names: []string{name}, Image: image{Blocks: map[int64][]byte{}}, open: []descriptor{{fd, unix.O_RDWR}}}
	return nil
}
