package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// errNothing is why an attempt failed that was not refused anything.
var errNothing = errors.New("there is nothing")

// found is the error of an attempt that succeeds if there is something.
func found(ok bool) error {
	if ok {
		return nil
	}
	return errNothing
}

// any returns nil if try succeeds for one of the paths, otherwise why it failed for
// the last.
func any(paths []string, try func(path string) error) error {
	err := errNothing
	for _, path := range paths {
		if err = try(path); err == nil {
			return nil
		}
	}
	return err
}

// glob returns what patterns stand for, each that stands for nothing as it is.
func glob(patterns ...string) []string {
	var paths []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // they are all well formed
		if matches == nil {
			matches = []string{pattern}
		}
		paths = append(paths, matches...)
	}
	return paths
}

// read succeeds if there is a byte to be read in a file.
func read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 1))
	return err
}

// list succeeds if there is anything in a directory.
func list(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	return found(len(entries) > 0)
}

// openWith succeeds if a file can be opened so.
func openWith(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func writable(path string) error { return openWith(path, unix.O_WRONLY) }

// call makes a system call. Pointers are converted to its arguments where it is called, so
// that what they point to is kept, and where it is, until it returns (cmd/compile).
//
//go:uintptrescapes
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// own is the name of a file that an attempt makes. It is this process's own, so that
// nothing of anybody else is ever overwritten or removed.
func own(dir string) string {
	return filepath.Join(dir, ".art-attack-"+strconv.Itoa(os.Getpid()))
}

// made removes what an attempt has made, if it has, and returns the attempt's error.
func made(path string, err error) error {
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("take back %s: %w", path, err)
	}
	return nil
}

// refusedOnly turns the error of a call that cannot succeed, because what it is given
// is wrong, into success if the kernel looked at that.
func refusedOnly(err, looked error) error {
	if err == nil || errors.Is(err, looked) {
		return nil
	}
	return err
}
