// Package confine takes away from a process what it no longer needs.
package confine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Server leaves a file system's server with its database and, for reading, the host trees beneath: no other file, no network, no signal to
// and no abstract socket of anyone outside, and no privilege regained by executing something. There is no way back.
//
// The databases are its own, and those that this one is a fork of, which SQLite has an index of the log of to write. Their
// files must exist. In their directories files may only be removed, which SQLite
// does with its log at the end; so even a base in the same directory stays unwritable.
//
// Landlock (landlock(7)) enforces this as far as the kernel knows how. A kernel without it leaves
// the server as it was: the guest is kept out by other means, this only limits what a flaw in the
// server would be worth.
func Server(databases []string, bases ...string) error {
	var files, dirs []string
	for _, database := range databases {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if _, err := os.Stat(database + suffix); err == nil {
				files = append(files, database+suffix)
			}
		}
		dirs = append(dirs, filepath.Dir(database))
	}
	rules := []landlock.Rule{
		landlock.RWFiles(files...),
		// For the rings of FUSE, of which there is one for each processor.
		landlock.ROFiles("/sys/devices/system/cpu/possible").IgnoreIfMissing(),
		landlock.PathAccess(llsys.AccessFSRemoveFile|llsys.AccessFSReadDir, dirs...),
	}
	if len(bases) > 0 {
		rules = append(rules, landlock.RODirs(bases...))
	}
	if err := landlock.V8.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}
