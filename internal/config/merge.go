package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// Merge returns the user's settings with those of a workspace, which was opened
// as root, in their place where it has any. It is an error if the workspace's
// allow what the user's do not: a workspace may come from anywhere. Those that the
// user trusts may. What either hides is hidden, and of two limits the lower holds.
func Merge(user, workspace *Settings, root, userFile string) (*Settings, error) {
	m := &merger{user: user, root: resolved(root), userFile: userFile}
	m.trusted = slices.ContainsFunc(user.Trust, func(t Entry) bool { return m.root == resolved(t.Value) })

	out := *user
	out.Hide = append(slices.Clip(user.Hide), workspace.Hide...)
	out.Values = append(slices.Clip(user.Values), workspace.Values...)
	if workspace.Network.Value != "" {
		out.Network = workspace.Network
		if workspace.Network.Value == "host" && user.Network.Value == "none" {
			m.widens(workspace.Network.Origin, `"network": "host"`)
		}
	}
	if workspace.Env != nil {
		out.Env = workspace.Env
		m.among(workspace.Env, user.Env, "env")
	}
	if workspace.Allow != nil {
		out.Allow = workspace.Allow
		m.among(workspace.Allow, user.Allow, "allow")
	}
	if workspace.Mounts != nil {
		out.Mounts = m.mounts(workspace.Mounts)
	}
	out.Limits = maps.Clone(user.Limits)
	if out.Limits == nil {
		out.Limits = map[string]Limit{}
	}
	for name, limit := range workspace.Limits {
		if old, ok := out.Limits[name]; !ok || limit.Value < old.Value || m.trusted {
			out.Limits[name] = limit
		}
	}
	return &out, m.err
}

type merger struct {
	user           *Settings
	root, userFile string
	trusted        bool
	err            error // the first
}

// widens is called for what a workspace may say only if it is trusted.
func (m *merger) widens(origin, what string) {
	if !m.trusted && m.err == nil {
		m.err = cli.WithHint(fmt.Errorf("%s: %s allows more than the user's settings do", origin, what),
			fmt.Sprintf("if that is meant, say so in %s, or trust the workspace there: \"trust\": [%q]", m.userFile, m.root))
	}
}

func (m *merger) among(entries, allowed []Entry, key string) {
	for _, e := range entries {
		if !slices.ContainsFunc(allowed, func(a Entry) bool { return a.Value == e.Value }) {
			m.widens(e.Origin, fmt.Sprintf("%q: [%q]", key, e.Value))
		}
	}
}

// mounts checks each of a workspace's mounts, with all links in its path resolved:
// one may have been made by a guest.
func (m *merger) mounts(mounts []Mount) []Mount {
	var out []Mount
	for _, mount := range mounts {
		mount.Host = resolved(mount.Host)
		// What the workspace holds the guest has anyway; to write it is another thing.
		covered := mount.ReadOnly && within(mount.Host, m.root) || slices.ContainsFunc(m.user.Mounts, func(u Mount) bool {
			return within(mount.Host, resolved(u.Host)) && (mount.ReadOnly || !u.ReadOnly)
		})
		if !covered {
			m.widens(mount.Origin, fmt.Sprintf("the mount of %s", mount.Host))
		}
		out = append(out, mount)
	}
	return out
}

// resolved returns path without symbolic links, or as it is where that cannot be.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// CheckMounts checks that the mounts can be, and returns them after the binds that
// there are already.
func CheckMounts(mounts []Mount, binds []Bind, home, workspace string) ([]Bind, error) {
	for _, m := range mounts {
		fd, err := OpenHost(-1, m.Host)
		if err != nil {
			return nil, fmt.Errorf("%s: path %q: %w", m.Origin, m.Host, err)
		}
		unix.Close(fd)
		if err := checkGuest(m.Guest, home, workspace, binds); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Origin, err)
		}
		binds = append(binds, m.Bind)
	}
	return binds, nil
}
