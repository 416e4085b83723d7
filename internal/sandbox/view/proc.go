package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Guarded returns what must be read-only for a guest of root, which could change it
// in /proc without any capability. The kernel lets its own user 0 write system
// settings, whatever user namespace that lives in (fs/proc/proc_sysctl.c, test_perm), and one of them,
// kernel.core_pattern, names a program that the host runs. A directory is guarded
// whatever is in it: to look through it would take longer than to mount it.
//
// A process's own directory stays as it is. Another user's guest needs none of
// this, and could then not mount a /proc for a sandbox of its own
// (fs/namespace.c, mount_too_revealing).
func (v *View) Guarded() (paths []string, err error) {
	if !v.CallerIsRoot {
		return nil, nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("guard /proc: %w", err)
	}
	for _, entry := range entries {
		_, notProcess := strconv.Atoi(entry.Name())
		if notProcess != nil && writable(entry) {
			paths = append(paths, filepath.Join("/proc", entry.Name()))
		}
	}
	return paths, nil
}

// writable says whether an entry is a file that its owner may write, or a directory,
// which may hold one. What cannot be looked at counts as such; a link does not.
func writable(entry fs.DirEntry) bool {
	switch {
	case entry.IsDir():
		return true
	case entry.Type()&fs.ModeSymlink != 0:
		return false
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || info.Mode()&0o200 != 0
}
