package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lockDir makes dir and keeps it from other runs, which would disturb this one, until the file is
// closed.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s, where another run may work: %w", f.Name(), err)
	}
	return f, nil
}

// removeScratch deletes dir, after what a run that was interrupted has left mounted there.
func removeScratch(dir string) error {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		// The fifth field is the mount point (proc_pid_mountinfo(5)). What it escapes, blanks, is not
		// in the names made here.
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			if err := unix.Unmount(fields[4], unix.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", fields[4], err)
			}
		}
	}
	return os.RemoveAll(dir)
}
