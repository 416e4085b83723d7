package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// credentials are where programs keep what lets them in elsewhere, or whom they
// let in, sockets of container engines outside /run, mail, and what crashes leave. Some are readable for a
// group, which the guest is in if the caller is.
var credentials = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab",
	"/etc/wireguard", "/etc/openvpn", "/etc/ppp", "/etc/ipsec.secrets", "/etc/swanctl",
	"/etc/NetworkManager/system-connections", "/etc/netplan", "/etc/wpa_supplicant",
	"/etc/kubernetes", "/etc/rancher", "/etc/boto.cfg",
	"/var/backups", "/var/log/journal", "/var/lib/cloud", "/var/lib/waagent", "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/tailscale",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/lxd", "/var/lib/incus", "/var/snap/lxd",
	"/mnt/wslg", // of X11, Wayland and D-Bus, in WSL
	"/var/mail", "/var/spool/mail",
	"/var/crash", "/var/lib/systemd/coredump", "/var/lib/apport", "/var/spool/abrt", "/cores", // the memory of what crashed
}

// machine is what of /sys tells of the whole machine, as its firmware's tables, or can be measured to tell what other
// programs do: what containers' runtimes mask (oci/defaults.go in github.com/moby/moby).
var machine = []string{"/sys/firmware", "/sys/devices/virtual/powercap"}

// processors has a directory for each, in which throttling tells the same of it.
const processors, throttling = "/sys/devices/system/cpu", "thermal_throttle"

// scanned are the directories whose entries a guest of root loses if only root can
// read them. They are not searched to any depth: that would cost every session more
// than all the rest of its start.
var scanned = []string{
	"/etc", "/etc/apt", "/etc/default", "/etc/mysql", "/etc/security", "/etc/ssh", "/etc/ssl", "/usr/local/etc",
	"/var", "/var/cache", "/var/cache/debconf", "/var/lib", "/var/log", "/var/log/apt", "/var/spool", "/var/spool/cron",
	"/boot", "/opt", "/srv",
}

// coverPrivate hides credentials. The guest has the caller's user id on the host.
// Where that is root's, it could read all that root keeps from everyone else;
// that is hidden too. What the user binds by its name, or has in the workspace,
// stays visible.
func (h *handles) coverPrivate(p *Plan, tree *view.Tree, found *findings) error {
	workspace, err := filepath.EvalSymlinks(p.Workspace)
	if errors.Is(err, unix.ENOENT) { // it is below /dev/shm, and the guest's is here already
		workspace, err = p.Workspace, nil
	}
	if err != nil {
		return fmt.Errorf("hide credentials: %w", err)
	}
	c := &coverer{handles: h, workspace: workspace, bound: map[file]bool{}}
	for source, fd := range h.sources {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("hide credentials: %w", err)
		}
		chosen := slices.ContainsFunc(p.View.Layers, func(m view.Mount) bool { return m.Source == source }) ||
			slices.ContainsFunc(p.View.Seen, func(s view.Seen) bool { return s.Path == source })
		c.bound[file{st.Dev, st.Ino}] = !chosen
	}
	for _, path := range slices.Concat(found.private, credentials, machine) {
		if err := c.cover(path); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return c.coverSockets(slices.Concat(found.sockets, socketsOfGit(&p.View)), &p.View, tree)
}

// findPrivate returns what there is on this machine only: the entries of the scanned directories that root keeps to
// itself, if the guest's ids are root's, and the processors' throttling.
func findPrivate(v *view.View) (found []string, err error) {
	// Where the first processor has none, no other has: to look for all takes a good part of a millisecond.
	if _, err := os.Lstat(filepath.Join(processors, "cpu0", throttling)); err == nil {
		if found, err = filepath.Glob(filepath.Join(processors, "cpu[0-9]*", throttling)); err != nil {
			return nil, err
		}
	}
	if !v.CallerIsRoot {
		return found, nil
	}
	return scanAll(found, scanned)
}

// PrivateIn returns what of that, and of the credentials, lies in a directory whose files the guest gets by art-fuse's
// rights: root's, if the caller is root.
func PrivateIn(dir string, root bool) (found []string, err error) {
	if root {
		if found, err = scanAll(nil, slices.DeleteFunc(slices.Clone(scanned), func(s string) bool { return !paths.Within(s, dir) })); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(append(found, credentials...), func(path string) bool { return path == dir || !paths.Within(path, dir) }), nil
}

func scanAll(paths, dirs []string) (_ []string, err error) {
	for _, dir := range dirs {
		if paths, err = scan(paths, dir); err != nil {
			return nil, fmt.Errorf("hide what only root can read: %w", err)
		}
	}
	return paths, nil
}

// file is a file's identity.
type file struct{ dev, ino uint64 }

type coverer struct {
	handles   *handles
	workspace string
	bound     map[file]bool // what is shown for its own sake; false: art has chosen it, and not what listens there
}

// cover hides path, if it is there and the guest could read it.
func (c *coverer) cover(path string) error {
	if path == c.workspace || strings.HasPrefix(path, c.workspace+"/") {
		return nil
	}
	return c.handles.coverPath(func() (int, error) { return c.open(path) })
}

// open opens path; what is not to be covered is absent.
func (c *coverer) open(path string) (int, error) {
	fd, err := openPath(path)
	if errors.Is(err, unix.EACCES) {
		return -1, unix.ENOENT
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	_, bound := c.bound[file{st.Dev, st.Ino}]
	// A directory that may only be passed through has sockets too.
	if err == nil && (bound || unix.Access(path, unix.R_OK) != nil && unix.Access(path, unix.X_OK) != nil) {
		err = unix.ENOENT
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// scan adds the entries of dir that their owner, root, keeps from other users.
func scan(paths []string, dir string) ([]string, error) {
	d, err := os.Open(dir)
	if absent(err) {
		return paths, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink != 0 {
			continue // what it leads to is somewhere of its own
		}
		var st unix.Stat_t
		err := unix.Fstatat(int(d.Fd()), entry.Name(), &st, unix.AT_SYMLINK_NOFOLLOW)
		if absent(err) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, &os.PathError{Op: "look at", Path: filepath.Join(dir, entry.Name()), Err: err}
		}
		if private(&st) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, nil
}

// private says whether root alone, or its group, has access to a file or to what
// is in a directory.
func private(st *unix.Stat_t) bool {
	if st.Uid != 0 && st.Gid != 0 {
		return false // root's ids are not the owner's, and the guest has no capability
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return st.Mode&0o005 == 0
	}
	return st.Mode&0o004 == 0 && st.Size > 0 // a lock has nothing to tell
}
