// Package view says what the guest sees, as the command line of bubblewrap.
//
// It starts from the host's root, read-only, and takes away: everything personal
// and every directory of sockets, since a read-only mount does not stop
// connect(2). Nothing here runs anything; Args is a list of strings that a test
// can read.
package view

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
)

// Home is the guest's home directory.
const Home = "/home/agent"

// Mount is one more path of the guest.
type Mount struct {
	Source   string // path in the stage's namespace
	Guest    string // absolute and clean
	ReadOnly bool
}

// View is what is asked for.
type View struct {
	// UID and GID are the guest's.
	UID, GID int
	// Workspace is the workspace's path in the guest, within Home.
	Workspace string
	// HomeSource, if set, becomes Home (overlay mode); else Home is a tmpfs and
	// WorkspaceSource becomes Workspace (direct mode).
	HomeSource, WorkspaceSource string
	// WorkspaceHost is the workspace on the host.
	WorkspaceHost string
	// ConfigSource, if set, covers the workspace's configuration, read-only.
	ConfigSource string
	// Passwd and Group are the files to show as /etc/passwd and /etc/group.
	Passwd, Group string
	// CallerIsRoot says that the guest's ids stand for the host's root.
	CallerIsRoot bool
	// PersonalDirs are home directories, of whomever.
	PersonalDirs []string
	// Binds are the configured ones, in their order.
	Binds []Mount
	// Network keeps the host's network.
	Network bool
	// StatusFD is the descriptor for bwrap's reports.
	StatusFD int
}

type builder struct{ args []string }

func (b *builder) add(args ...string) { b.args = append(b.args, args...) }

// Args returns the options of bwrap. The order is the meaning: each mount
// covers what the ones before it put there.
func (v *View) Args() ([]string, error) {
	var b builder
	b.add("--unshare-user", "--uid", strconv.Itoa(v.UID), "--gid", strconv.Itoa(v.GID),
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if !v.Network {
		b.add("--unshare-net")
	}
	b.add("--die-with-parent", "--cap-drop", "ALL", "--json-status-fd", strconv.Itoa(v.StatusFD))

	home := Resolve(Home)
	scratch := []string{Resolve("/tmp"), Resolve("/var/tmp")}
	hidden := v.hidden(scratch)
	homes := filepath.Dir(home)
	own := append([]string{"/proc", "/dev", homes}, append(scratch, hidden...)...)
	binds := v.resolvedBinds(home)
	passwd, group := Resolve("/etc/passwd"), Resolve("/etc/group")

	places, made := append([]string{passwd, group}, own...), own
	for _, bind := range binds {
		places = append(places, bind.Guest)
		made = append(made, bind.Guest)
	}
	shadowed := shadows(places, made)
	if len(shadowed) == 0 || shadowed[0] != "/" {
		b.add("--ro-bind", "/", "/")
	}
	for _, dir := range shadowed {
		if err := b.shadow(dir); err != nil {
			return nil, err
		}
	}

	b.add("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm")
	if v.CallerIsRoot {
		if err := b.guardProc(); err != nil {
			return nil, err
		}
	}
	for _, dir := range hidden {
		b.add("--perms", "0555", "--tmpfs", dir)
	}
	for _, dir := range scratch {
		b.add("--perms", "1777", "--tmpfs", dir)
	}
	b.bringBack("/etc/resolv.conf", hidden)
	b.add("--ro-bind", v.Passwd, passwd, "--ro-bind", v.Group, group)

	b.add("--perms", "0555", "--tmpfs", homes)
	workspace := home + v.Workspace[len(Home):]
	if v.HomeSource != "" {
		b.add("--bind", v.HomeSource, home)
	} else {
		b.add("--perms", "0700", "--tmpfs", home, "--bind", v.WorkspaceSource, workspace)
	}
	for _, bind := range binds {
		if err := v.checkMountPoint(bind, home, workspace); err != nil {
			return nil, err
		}
		if bind.ReadOnly {
			b.add("--ro-bind", bind.Source, bind.Guest)
		} else {
			b.add("--bind", bind.Source, bind.Guest)
		}
	}
	if v.ConfigSource != "" { // last: no bind may put something else there
		b.add("--ro-bind", v.ConfigSource, filepath.Join(workspace, ".art"))
	}

	// What only had to be writable for bwrap to make mount points in it. The empty
	// directories have no write permission instead, which costs less: remounting
	// makes bwrap read the whole table of mounts.
	for _, dir := range shadowed {
		b.add("--remount-ro", dir)
	}
	b.add("--chmod", "0555", "/dev")
	b.add("--chdir", v.Workspace)
	return b.args, nil
}

// hidden returns the directories to hide, parents first, resolved: those with
// sockets of the system's and the caller's own homes. /home is not among them,
// the guest's home replaces it.
func (v *View) hidden(scratch []string) []string {
	covered := append([]string{Resolve(filepath.Dir(Home)), "/proc", "/dev"}, scratch...)
	var dirs []string
	candidates := append([]string{"/run", "/var/run"}, v.PersonalDirs...)
	for i, dir := range candidates {
		candidates[i] = Resolve(dir)
	}
	sort.Strings(candidates)
	for _, dir := range candidates {
		if !isDir(dir) || system(dir) || withinAny(dir, covered) {
			continue
		}
		covered = append(covered, dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// system says whether dir is part of the operating system. Some accounts have
// such a home (daemon: /usr/sbin, containers: /); nothing in it is personal, and
// without it nothing runs.
func system(dir string) bool {
	for _, sys := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/sys", "/nix/store"} {
		if Within(dir, sys) || Within(sys, dir) {
			return true
		}
	}
	return false
}

func (v *View) resolvedBinds(home string) []Mount {
	var binds []Mount
	for _, bind := range v.Binds {
		if Within(bind.Guest, Home) {
			// Links in the guest's home are the guest's, not to be followed here;
			// bwrap keeps them within the view.
			bind.Guest = home + bind.Guest[len(Home):]
		} else {
			bind.Guest = Resolve(bind.Guest)
		}
		binds = append(binds, bind)
	}
	return binds
}

// checkMountPoint refuses a bind into the workspace that bwrap would have to make
// a mount point for: in direct mode that would stay on the host.
func (v *View) checkMountPoint(bind Mount, home, workspace string) error {
	if v.HomeSource != "" || !Within(bind.Guest, workspace) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(v.WorkspaceHost, bind.Guest[len(workspace):])); err != nil {
		return fmt.Errorf("bind %s: the workspace has no such path to mount on: %w", Home+bind.Guest[len(home):], err)
	}
	return nil
}
