// Package view says what the guest sees: as steps that change the tree of the host's
// mounts into the guest's, and as the command line of bubblewrap.
//
// It starts from the host's tree, read-only, and takes away: everything personal
// and every directory of sockets, since a read-only mount does not stop
// connect(2). Nothing here changes anything: a test can read all of it. Package
// stage takes the steps.
package view

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/riverlytech/art/internal/paths"
)

// Home is the guest's home directory.
const Home = "/home/agent"

// GitConfig is where the guest's git finds who the user is: in a directory that is the guest's own.
const GitConfig = "/run/art/gitconfig"

// Authority and Bundle are where the guest finds the certificate that it believes beside those of the host, alone and with them.
const (
	Authority = "/run/art/authority.pem"
	Bundle    = "/run/art/certificates.pem"
)

// SSHSocket is where the guest asks for signatures of SSH.
const SSHSocket = "/run/art/ssh-agent"

// CheckpointSocket is where the guest asks for checkpoints.
const CheckpointSocket = "/run/art/checkpoint"

// Mount is one more path of the guest.
type Mount struct {
	Source   string // what the stage knows it by
	Guest    string // absolute and clean
	ReadOnly bool
}

// Seen is a path that the guest sees where the host has it.
type Seen struct {
	Path string // without links on the way to it
	Text string // if it is a symbolic link, what that says
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
	// HomeDir, if set, becomes Home in either mode, with the workspace in it, which it has a mount point for. Of
	// HomeSource only the workspace shows then.
	HomeDir string
	// Name is what the workspace is called in HomeSource.
	Name string
	// WorkspaceHost is the workspace on the host.
	WorkspaceHost string
	// HostPath, if set, is where the workspace shows too: its path on the host, without links.
	HostPath string
	// Layers are what belongs to the workspace and lies outside of it, as its git directory may, at the path that it
	// has on the host. It takes HostPath.
	Layers []Mount
	// Passwd and Group are the files to show as /etc/passwd and /etc/group.
	Passwd, Group string
	// GitConfig, if set, is the file to show as [GitConfig], which GIT_CONFIG_SYSTEM then names.
	GitConfig string
	// Checkpoints says that there is a [CheckpointSocket].
	Checkpoints bool
	// SSHAgent says that there is an [SSHSocket]. KnownHosts, if set, is the file to show as ssh_known_hosts.
	SSHAgent   bool
	KnownHosts string
	// CallerIsRoot says that the guest's ids stand for the host's root.
	CallerIsRoot bool
	// PersonalDirs are home directories, of whomever.
	PersonalDirs []string
	// Programs run while the host's tree becomes the guest's, and need what they stand on.
	Programs []string
	// Binds are the configured ones, in their order.
	Binds []Mount
	// Seen are paths of the host's, none within another, that show at their own places although what they lie in is
	// hidden: for reading.
	Seen []Seen
	// Nests says that the guest may make namespaces, for sandboxes within.
	Nests bool
	// Network keeps the network that the stage has: the host's, or one that it has made for the guest.
	Network bool
	// Resolver and Hosts, if set, are the files to show as /etc/resolv.conf and /etc/hosts.
	Resolver, Hosts string
	// Authority and Bundle, if set, are the files to show as those. Bundle takes the place of the host's own file Roots, too.
	Authority, Bundle, Roots string
	// Traced has bubblewrap make the guest's process namespace, and mount /proc for it: the tracer
	// needs the host's. Otherwise it is the stage's.
	Traced bool
}

// emptied returns the directories in which the guest has nothing of the host's: those that it writes, those that are
// hidden, and all of them.
func (v *View) emptied() (scratch, hidden, all []string) {
	scratch = []string{paths.Resolve("/tmp"), paths.Resolve("/var/tmp")}
	hidden = v.hidden(scratch)
	return scratch, hidden, slices.Concat([]string{"/proc", "/dev", paths.Resolve(filepath.Dir(Home))}, scratch, hidden)
}

// Hides returns what says whether the guest does not have what the host has at a path without links.
func (v *View) Hides() func(path string) bool {
	_, _, all := v.emptied()
	return func(path string) bool { return paths.WithinAny(path, all) }
}

// Args returns the options of bwrap that make a guest of the finished tree at root. Where it is
// bubblewrap that mounts /proc, p is what that takes from it. statusFD is the descriptor for its reports,
// filterFD that of the filter of system calls.
func (v *View) Args(root string, p *ProcCovers, statusFD, filterFD int) []string {
	args := []string{"--unshare-user", "--uid", strconv.Itoa(v.UID), "--gid", strconv.Itoa(v.GID),
		"--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"}
	if !v.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--die-with-parent", "--cap-drop", "ALL", "--json-status-fd", strconv.Itoa(statusFD),
		"--add-seccomp-fd", strconv.Itoa(filterFD),
		// With what is mounted below it, as it is: also the devices, which the stage has chosen.
		"--dev-bind", root, "/")
	if v.Traced {
		args = append(append(args, "--unshare-pid", "--proc", "/proc"), p.args()...)
	}
	if v.readOnlyProc() {
		args = append(args, "--remount-ro", "/proc")
	}
	if v.HomeSource != "" {
		return append(args, "--chdir", Home) // what is below it the guest has written: the stub goes there
	}
	return append(args, "--chdir", v.Workspace)
}

// hidden returns the directories to hide, parents first, resolved: those with
// sockets of the system's and the caller's own homes. /home is not among them,
// the guest's home replaces it.
func (v *View) hidden(scratch []string) []string {
	covered := append([]string{paths.Resolve(filepath.Dir(Home)), "/proc", "/dev"}, scratch...)
	var dirs []string
	candidates := append([]string{"/run", "/var/run"}, v.PersonalDirs...)
	for i, dir := range candidates {
		candidates[i] = paths.Resolve(dir)
	}
	sort.Strings(candidates)
	for _, dir := range candidates {
		if !isDir(dir) || System(dir) || paths.WithinAny(dir, covered) {
			continue
		}
		covered = append(covered, dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// System says whether dir is part of the operating system. Some accounts have
// such a home (daemon: /usr/sbin, containers: /); nothing in it is personal, and
// without it nothing runs.
func System(dir string) bool {
	for _, sys := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/sys", "/nix/store"} {
		if paths.Within(dir, sys) || paths.Within(sys, dir) {
			return true
		}
	}
	return false
}

// resolvedBinds returns the binds with their places as the guest finds them. own are the directories of which the guest
// sees nothing of the host's.
func (v *View) resolvedBinds(home string, own []string) []Mount {
	var binds []Mount
	for _, bind := range v.Binds {
		if paths.Within(bind.Guest, Home) {
			// Links in the guest's home are the guest's, not to be followed here;
			// bwrap keeps them within the view.
			bind.Guest = home + bind.Guest[len(Home):]
		} else {
			bind.Guest = resolveOutside(bind.Guest, own)
		}
		binds = append(binds, bind)
	}
	return binds
}

// checkMountPoint refuses a bind into the workspace that bwrap would have to make
// a mount point for: in direct mode that would stay on the host.
func (v *View) checkMountPoint(bind Mount, home, workspace string) error {
	shown, path := bind.Guest, ""
	switch {
	case v.HomeSource != "":
		return nil
	case paths.Within(bind.Guest, workspace):
		shown, path = Home+bind.Guest[len(home):], bind.Guest[len(workspace):]
	case v.HostPath != "" && paths.Within(bind.Guest, v.HostPath):
		path = bind.Guest[len(v.HostPath):]
	default:
		return nil
	}
	if _, err := os.Stat(filepath.Join(v.WorkspaceHost, path)); err != nil {
		return fmt.Errorf("bind %s: the workspace has no such path to mount on: %w", shown, err)
	}
	return nil
}

// GuestOf returns the path at which the guest sees a source; "": it does not.
func (v *View) GuestOf(source string) string {
	for _, list := range [][]Mount{v.Layers, v.Binds} {
		for _, m := range list {
			if m.Source == source {
				return m.Guest
			}
		}
	}
	return ""
}
