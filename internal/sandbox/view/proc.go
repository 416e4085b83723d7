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
// kernel.core_pattern, names a program that the host runs. Whatever holds a file
// that its owner may write is among it.
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
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			continue
		}
		if path := filepath.Join("/proc", entry.Name()); holdsWritable(path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// errWritable ends a walk that has found what it looks for.
var errWritable = errors.New("writable")

// holdsWritable says whether path is, or holds, a file that its owner may write.
// What cannot be looked at counts as such.
func holdsWritable(path string) bool {
	return filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode()&0o200 != 0 {
			err = errWritable
		}
		return err
	}) != nil
}
