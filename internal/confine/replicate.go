package confine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"

	"github.com/riverlytech/art/internal/seccomp"
)

// Replicate leaves who copies a database elsewhere the network, some directories to write, and files and directories to read: where
// credentials, names and certificates are. It loses all other files, every capability and other program, and signals to and abstract
// sockets of anyone outside. There is no way back. A kernel without Landlock leaves it the files.
func Replicate(write, read []string, readDirs ...string) error {
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	rules := []landlock.Rule{
		landlock.RWDirs(write...),
		// What does not exist cannot be allowed: it is looked for again only by the next session.
		landlock.ROFiles(slices.Concat(read, resolving)...).IgnoreIfMissing(),
		landlock.RODirs(append(readDirs, "/etc", "/usr/share/ca-certificates", "/usr/share/zoneinfo", "/run/systemd/resolve")...).IgnoreIfMissing(),
	}
	config := landlock.V8.BestEffort()
	if err := errors.Join(config.RestrictPaths(rules...), config.RestrictScoped()); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if err := seccomp.InstallForAll(seccomp.Without(notForNet...)); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}
