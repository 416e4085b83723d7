// Package idmap gives a guest of root's an id on the host that owns nothing, and shows it files
// of root's as its own.
//
// A guest without capabilities, but with the host's id 0, could still read what is readable for its
// owner alone and change the modes of everything that root owns, wherever a path leads to it. With an
// id of nobody's it can do neither. What it is to have all the same, its workspace, is shown by mounts
// that map ids (mount_setattr(2), MOUNT_ATTR_IDMAP): root's files are the guest's there, and what
// the guest makes there is root's on the disk.
package idmap

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/spawn"
)

// candidates are ids that are set apart for nothing. The first lies above what directory services
// hand out (sssd-ldap(5), ldap_idmap_range_max) and containers, in a range that
// https://systemd.io/UIDS-GIDS/ calls unused; the second in another one, which containers have that were
// given 65536 ids.
//
// All sessions have the same: what keeps them from each other are their namespaces, as with the
// sessions of one ordinary user.
var candidates = []int{2_100_001_000, 65_533}

// Spare returns a user and group id that owns nothing and can be given to a guest, or why there is none.
func Spare() (int, error) { return spare("") }

// spare is Spare for the machine whose files are below root.
func spare(root string) (int, error) {
	if err := permitted(root); err != nil {
		return 0, err
	}
	uids, err := readExtents(root + "/proc/self/uid_map")
	if err != nil {
		return 0, err
	}
	gids, err := readExtents(root + "/proc/self/gid_map")
	if err != nil {
		return 0, err
	}
	taken, err := readTaken(root)
	if err != nil {
		return 0, err
	}
	for _, id := range candidates {
		if contains(uids, id) && contains(gids, id) && !contains(taken, id) {
			return id, nil
		}
	}
	return 0, errors.New("no id that owns nothing is mapped here (user_namespaces(7))")
}

// permitted returns why this process could not give a guest another id.
func permitted(root string) error {
	var caps [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	if caps[0].Effective&needed != needed {
		return errors.New("the capabilities SETUID and SETGID are missing")
	}
	// bubblewrap makes the guest's user namespace. With another id than root's it would do so as an
	// ordinary user's does, which is refused to programs without a profile.
	if read(root+"/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" &&
		read(root+"/proc/self/attr/current") == "unconfined" {
		return errors.New("AppArmor lets only programs with a profile use user namespaces without root")
	}
	return nil
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// extent is a range of ids.
type extent struct{ first, count int }

func contains(extents []extent, id int) bool {
	for _, e := range extents {
		if id >= e.first && id < e.first+e.count {
			return true
		}
	}
	return false
}

// readExtents returns the ids that this process's user namespace has.
func readExtents(path string) (extents []extent, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the ids of the user namespace: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var e extent
		var outside int
		if _, err := fmt.Sscan(line, &e.first, &outside, &e.count); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		extents = append(extents, e)
	}
	return extents, nil
}

// readTaken returns the ids of accounts, and those that accounts may give to containers (subuid(5)).
func readTaken(root string) (taken []extent, err error) {
	for _, file := range []struct {
		path         string
		first, count int // which fields; 0 for a count of one
	}{
		{"/etc/passwd", 2, 0}, {"/etc/group", 2, 0}, {"/etc/subuid", 1, 2}, {"/etc/subgid", 1, 2},
	} {
		text, err := os.ReadFile(root + file.path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read which ids are in use: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			fields := append(strings.Split(strings.TrimSpace(line), ":"), "", "", "")
			e := extent{count: 1}
			if e.first, err = strconv.Atoi(fields[file.first]); err != nil {
				continue // a comment, or an entry of NIS
			}
			if file.count > 0 {
				e.count, _ = strconv.Atoi(fields[file.count])
			}
			taken = append(taken, e)
		}
	}
	return taken, nil
}

// Map shows files by mounts: those of root as a guest's, all others as they are.
type Map struct{ namespace *os.File }

// New returns a map of root to the id, which needs a user namespace of that shape.
func New(id int) (*Map, error) {
	fail := func(err error) (*Map, error) { return nil, fmt.Errorf("map ids: %w", err) }
	uids, err := readExtents("/proc/self/uid_map")
	if err != nil {
		return fail(err)
	}
	gids, err := readExtents("/proc/self/gid_map")
	if err != nil {
		return fail(err)
	}
	f, err := spawn.UserNamespace(&spawn.IDs{UIDs: mappings(uids, id), GIDs: mappings(gids, id)})
	if err != nil {
		return fail(err)
	}
	m := &Map{f}
	if err := m.tryMemory(); err != nil {
		m.Close()
		return fail(err)
	}
	return m, nil
}

// tryMemory says why a file system in memory cannot be mapped, as before Linux 6.3: what hides files in a
// tree of mounts is one.
func (m *Map) tryMemory() error {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	defer unix.Close(tree)
	if err := m.Apply(tree); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	return nil
}

// mappings are those of a user namespace in which 0 stands for id, and every other id for itself.
func mappings(extents []extent, id int) []syscall.SysProcIDMap {
	maps := []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	add := func(first, end int) {
		if first < end {
			maps = append(maps, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: end - first})
		}
	}
	for _, e := range extents {
		first, end := max(e.first, 1), e.first+e.count
		add(first, min(end, id))
		add(max(first, id+1), end)
	}
	return maps
}

// Apply maps the ids of a tree of mounts that is attached nowhere yet (open_tree(2)). The file systems
// in it must allow that, and belong to this process's user namespace or to one below it.
func (m *Map) Apply(tree int) error {
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(m.namespace.Fd())})
}

// Try says why the mounts at what fd refers to, and below, cannot be mapped, or nil.
func (m *Map) Try(fd int) error {
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return m.Apply(tree)
}

// Close gives the map up. What it was applied to stays as it is.
func (m *Map) Close() error { return m.namespace.Close() }
