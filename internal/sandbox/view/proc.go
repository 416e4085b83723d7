package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// guardProc takes from a guest of root what root may do in /proc without any
// capability. The kernel lets its own user 0 write system settings, whatever user
// namespace that lives in (fs/proc/proc_sysctl.c, test_perm), and one of them,
// kernel.core_pattern, names a program that the host runs. The guest gets what
// any user has: the directories read-only, and nothing in files for root alone.
//
// A process's own directory stays as it is. Another user's guest needs none of
// this, and could then not mount a /proc for a sandbox of its own
// (fs/namespace.c, mount_too_revealing).
func (b *builder) guardProc(empty string) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("guard /proc: %w", err)
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			continue
		}
		path := filepath.Join("/proc", entry.Name())
		info, err := os.Lstat(path)
		if err != nil {
			return fmt.Errorf("guard /proc: %w", err)
		}
		switch mode := info.Mode(); {
		case mode.IsDir(), mode.IsRegular() && mode&0o222 != 0 && mode&0o004 != 0:
			b.add("--ro-bind", path, path)
		case mode.IsRegular() && mode&0o004 == 0:
			b.add("--ro-bind", empty, path)
		}
	}
	return nil
}
