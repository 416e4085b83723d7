package scope

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// What kernels without a right do not know, they refuse with the whole ruleset.
func TestRuleset(t *testing.T) {
	const scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	const fs = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX | unix.LANDLOCK_ACCESS_FS_REFER
	sockets := []string{"/home/agent/ws", "/opt/x"}
	rules := []rule{{unix.LANDLOCK_ACCESS_FS_REFER, "/"},
		{unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "/home/agent/ws"}, {unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "/opt/x"}}
	for _, test := range []struct {
		abi    int
		mounts bool
		scoped uint64
		fs     uint64
		rules  []rule
	}{
		{0, false, 0, 0, nil},
		{1, false, 0, 0, nil},
		{5, false, 0, 0, nil},
		{6, false, scoped, 0, nil},
		{8, false, scoped, 0, nil},
		{9, true, scoped, 0, nil},
		{9, false, scoped, fs, rules},
		{12, false, scoped, fs, rules},
	} {
		if attr := names(test.abi); attr != (rulesetAttr{scoped: test.scoped}) {
			t.Errorf("version %d: %+v", test.abi, attr)
		}
		attr, rules := files(test.abi, test.mounts, sockets)
		if attr != (rulesetAttr{fs: test.fs}) || !slices.Equal(rules, test.rules) {
			t.Errorf("version %d, mounts %v: %+v %+v", test.abi, test.mounts, attr, rules)
		}
	}
}

// The kernel takes rules as they are made here, and what is allowed beneath / is allowed: shown with the rights that
// every version knows.
func TestEnforce(t *testing.T) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 2 {
		t.Skipf("there is no Landlock here: version %d, %v", abi, errno)
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "a/file", "a/other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	attr := rulesetAttr{fs: unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO}
	allowed, refused := make(chan error), make(chan error)
	// Domains are a thread's own, and these end with their goroutines.
	try := func(rules []rule, name string, result chan<- error) {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			var set Ruleset
			if set, err = attr.open(rules); err == nil {
				err = set.Restrict()
				set.Close()
			}
		}
		if err == nil {
			err = os.Rename(filepath.Join(dir, "a", name), filepath.Join(dir, "b", name))
		}
		result <- err
	}
	go try([]rule{{unix.LANDLOCK_ACCESS_FS_REFER, "/"}, {unix.LANDLOCK_ACCESS_FS_REFER, "/none"}}, "file", allowed)
	if err := <-allowed; err != nil {
		t.Errorf("rename from one directory to another: %v", err)
	}
	go try(nil, "other", refused)
	if err := <-refused; !errors.Is(err, unix.EXDEV) {
		t.Errorf("without the rule: %v", err)
	}
}
