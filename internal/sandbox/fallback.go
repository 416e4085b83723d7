package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/internal/hint"
)

// lockWait is how long to wait for other sessions that start at the same time.
// Each holds the lock for a few milliseconds.
const lockWait = 10 * time.Second

// handover is a FUSE mount that fusermount3 made on the host, for the moment
// until the stage has taken it over.
type handover struct {
	dir  string
	lock *os.File // on the directory that dir is in
}

// fallBack starts the stage with a mount made by fusermount3, which is setuid
// root: for hosts where why is what an unprivileged user namespace gets.
//
// The host sees the mount from here until the stage reports that it has taken over.
// Within that time a lock is held on the directory around it. So whoever has the
// lock knows that any mount there is of a dead session, and sweeps it away.
func (s *session) fallBack(why error) error {
	_, missing := hostProgram("fusermount3", s.plan.Workspace)
	// It is looked for again by what mounts and unmounts with it.
	if err := os.Setenv("PATH", strings.Join(hostPath(s.plan.Workspace), ":")); err != nil {
		return err
	}
	fail := func(err error) error {
		return cli.WithHint(fmt.Errorf("mount FUSE: neither in a user namespace (%w) nor with fusermount3 (%w)", why, err), hint.Host{}.FUSE(missing == nil))
	}
	if missing != nil && os.Getuid() != 0 {
		return fail(cli.Reason(missing))
	}
	if err := s.requireLayers(why); err != nil {
		return err
	}
	lock, err := lockRuntimeDir()
	if err != nil {
		return fail(err)
	}
	sweep(lock.Name())
	h := &handover{lock: lock, dir: filepath.Join(lock.Name(), strconv.Itoa(os.Getpid()))}
	s.handover = h
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		s.dropHandover()
		return fail(err)
	}
	// allow_other is root's to give (fuse.conf); without it, whoever has the
	// mounter's ids has access, and the guest has them.
	fd, err := fusemount.Mount(h.dir, fusemount.Options{Source: "art", AllowOther: os.Getuid() == 0})
	if err != nil {
		s.dropHandover()
		return fail(err)
	}
	defer unix.Close(fd)
	uid, gid := s.hostIDs()
	if err := control.Send(s.control, fd, control.Message{Kind: control.Mount, UID: uid, GID: gid}); err != nil {
		s.dropHandover()
		return fmt.Errorf("start art-fuse: it ended: %w", err)
	}
	if err := s.dropLayers(); err != nil {
		s.dropHandover()
		return err
	}
	s.plan.FUSE = h.dir
	if err = s.startStage(); err == nil {
		err = s.brief()
	}
	if err != nil {
		s.dropHandover()
	}
	return err
}

// dropHandover takes the mount off the host. The stage's copy stays.
func (s *session) dropHandover() {
	if s.handover != nil {
		unmount(s.handover.dir)
		_ = os.Remove(s.handover.lock.Name()) // the last one's to do
		s.handover.lock.Close()
		s.handover = nil
	}
}

// unmount takes the mount at dir away, if there is one, and dir itself.
func unmount(dir string) {
	if os.Remove(dir) == nil {
		return // nothing was mounted
	}
	// Lazily: the stage has a copy, and a dead session's answers nothing. What
	// fails here, the next session tries again.
	_ = fusemount.Unmount(dir, true)
	_ = os.Remove(dir)
}

// sweep removes what killed sessions left in dir, which is locked.
func sweep(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // names alone: a dead mount cannot be looked at
	for _, name := range names {
		unmount(filepath.Join(dir, name))
	}
}

// lockRuntimeDir returns the directory for art's mounts, locked. Whoever holds the
// lock may remove the directory.
func lockRuntimeDir() (*os.File, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(time.Millisecond) {
		dir, err := runtimeDir()
		if errors.Is(err, os.ErrNotExist) {
			continue // removed by the session before
		}
		if err != nil {
			return nil, err
		}
		f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil && sameFile(f, dir) {
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
	}
}

// sameFile says whether path still is what was opened as f.
func sameFile(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named)
}

// runtimeDir returns a directory for mounts alone, since all that is in there is swept. It lies in one that only the caller can get
// at, and that no guest sees, where sessions listen, too.
func runtimeDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "art-"+strconv.Itoa(os.Getuid()))
	for _, parent := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(os.Getuid())} {
		if filepath.IsAbs(parent) && unix.Access(parent, unix.W_OK|unix.X_OK) == nil {
			dir = filepath.Join(parent, "art")
			break
		}
	}
	mounts := filepath.Join(dir, "mounts")
	for _, path := range []string{dir, mounts} {
		if err := makePrivate(path); err != nil {
			return "", err
		}
	}
	return mounts, nil
}

// makePrivate makes sure that there is a directory that only the caller can get at.
func makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	// In a shared directory somebody else may have made it first.
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "look at", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s is not a directory of the caller's own with mode 0700", dir)
	}
	return nil
}
