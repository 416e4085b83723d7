package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// guardProc takes from a guest of root what root may change in /proc without any
// capability. The kernel lets its own user 0 write system settings, whatever user
// namespace that lives in (fs/proc/proc_sysctl.c, test_perm), and one of them,
// kernel.core_pattern, names a program that the host runs. Whatever holds a file
// that its owner may write becomes read-only.
//
// A process's own directory stays as it is. Another user's guest needs none of
// this, and could then not mount a /proc for a sandbox of its own
// (fs/namespace.c, mount_too_revealing).
func (b *builder) guardProc() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("guard /proc: %w", err)
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			continue
		}
		// bwrap does these two itself.
		if entry.Name() == "bus" || entry.Name() == "irq" {
			continue
		}
		if path := filepath.Join("/proc", entry.Name()); holdsWritable(path) {
			b.add("--ro-bind", path, path)
		}
	}
	return nil
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
