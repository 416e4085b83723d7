package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// Ask is something that a workspace's settings allow and the user's do not.
type Ask struct {
	Setting
	// What it is, as people are told of it and as trust remembers it.
	What string
}

// Merge returns the user's settings with those of a workspace, which was opened as
// root, in their place where it has any. A workspace may come from anywhere: what of
// its settings allows more than the user's is left out, and returned, unless the user
// trusts them. What either hides is hidden, and of two limits the lower holds.
//
// The mounts' paths come without symbolic links, those in the workspace relative to it.
func Merge(user, workspace *Settings, root string, trusted bool) (*Settings, []Ask, error) {
	m := &merger{user: user, root: root, real: resolved(root), trusted: trusted}
	out := *user
	out.Files = workspace.Files
	var err error
	if out.Mounts, err = m.resolve(user.Mounts, (*Mount).follow); err != nil {
		return nil, nil, err
	}
	mounts, err := m.resolve(workspace.Mounts, (*Mount).lead)
	if err != nil {
		return nil, nil, err
	}
	out.Hide = append(slices.Clip(user.Hide), workspace.Hide...)
	out.Values = append(slices.Clip(user.Values), m.values(workspace.Values)...)
	out.Secrets = m.secrets(workspace.Secrets)
	out.SSH = m.ssh(&workspace.SSH)
	m.network(&out, workspace)
	out.Publish = m.publish(workspace.Publish)
	if p := workspace.Path; p.Value != "host" || !view.System(m.real) ||
		m.widens(Setting{"path", p.Value, p.Origin, strconv.Quote(p.Value)}, `"path": "host" in a directory of the system`) {
		out.Path = cmp.Or(p, user.Path)
	}
	// With the others what it has started outlives its command.
	if e := workspace.End; e.Value == "kill" || e.Value != "" && (e.Value == user.End.Value ||
		m.widens(Setting{"end", e.Value, e.Origin, strconv.Quote(e.Value)}, `"end": "`+e.Value+`"`)) {
		out.End = e
	}
	// Without checkpoints nobody can go back.
	if c := workspace.Checkpoints; c.Value == "auto" || c.Value != "" && (c.Value == user.Checkpoints.Value ||
		m.widens(c.checkpoints(), `"checkpoints": `+c.checkpoints().text)) {
		out.Checkpoints = c
	}
	if g := workspace.GuestCheckpoints; g.Value == "false" || g.Value != "" && (user.GuestCheckpoints.Value != "false" ||
		m.widens(Setting{"checkpoints.guest", g.Value, g.Origin, g.Value}, `"checkpoints": {"guest": true}`)) {
		out.GuestCheckpoints = g
	}
	if workspace.Env != nil {
		out.Env = m.among(workspace.Env, user.Env, "env")
	}
	if workspace.Allow != nil {
		out.Allow = m.among(workspace.Allow, user.Allow, "allow")
	}
	if workspace.Tools != nil {
		out.Tools = m.among(workspace.Tools, user.Tools, "tools")
	}
	if workspace.Own != nil {
		out.Own = m.among(workspace.Own, user.Own, "own")
	}
	out.See = append(slices.Clip(user.See), m.see(workspace.See)...)
	if mounts != nil {
		out.Mounts = m.mounts(mounts, out.Mounts)
	}
	out.Limits = maps.Clone(user.Limits)
	if out.Limits == nil {
		out.Limits = map[string]Limit{}
	}
	for name, limit := range workspace.Limits {
		if old, ok := out.Limits[name]; !ok || limit.Value < old.Value {
			out.Limits[name] = limit
		}
	}
	return &out, m.asks, nil
}

type merger struct {
	user       *Settings
	root, real string // the workspace's path as it was given, and without links
	trusted    bool
	asks       []Ask
}

// widens notes what a workspace may say only if it is trusted, and says whether it is.
func (m *merger) widens(s Setting, what string) bool {
	m.asks = append(m.asks, Ask{s, what})
	return m.trusted
}

// among returns those of a workspace's entries that are allowed.
func (m *merger) among(entries, allowed []Entry, key string) []Entry {
	out := []Entry{}
	for _, e := range entries {
		if slices.ContainsFunc(allowed, func(a Entry) bool { return a.Value == e.Value }) ||
			m.widens(Setting{key, e.Value, e.Origin, strconv.Quote(e.Value)}, fmt.Sprintf("%q: [%q]", key, e.Value)) {
			out = append(out, e)
		}
	}
	return out
}

// see returns those of the paths to be seen that are allowed: what the user has at another end of a link is another thing.
func (m *merger) see(entries []Entry) []Entry {
	var out []Entry
	for _, e := range entries {
		real := resolved(e.Value)
		if slices.ContainsFunc(m.user.See, func(u Entry) bool { return paths.Within(e.Value, u.Value) && paths.Within(real, resolved(u.Value)) }) ||
			m.widens(Setting{"see", e.Value, e.Origin, strconv.Quote(e.Value)}, fmt.Sprintf("to see %s", real)) {
			out = append(out, e)
		}
	}
	return out
}

// values returns those of a workspace's variables that are allowed.
func (m *merger) values(values []Value) []Value {
	var out []Value
	for _, v := range values {
		replaces := slices.ContainsFunc(m.user.Values, func(u Value) bool { return u.Name == v.Name }) ||
			slices.ContainsFunc(m.user.Set, func(u Value) bool { return u.Name == v.Name }) ||
			slices.ContainsFunc(m.user.Env, func(e Entry) bool { return e.Value == v.Name }) ||
			slices.ContainsFunc(m.user.Secrets, func(s Secret) bool { return s.Name == v.Name })
		what := fmt.Sprintf("the variable %s", v.Name)
		if v.Opened {
			what += " (which your key decrypts)"
		}
		if !replaces && !steers(v.Name) && !v.Opened || m.widens(v.setting(), what) {
			out = append(out, v)
		}
	}
	return out
}

// mounts returns those of a workspace's mounts that are allowed.
func (m *merger) mounts(mounts, allowed []Mount) []Mount {
	out := []Mount{}
	for _, mount := range mounts {
		host := mount.On(m.real)
		// What the workspace holds the guest has anyway. To write it is another thing: in an
		// overlay that is the host's own.
		inside := mount.ReadOnly && paths.Within(host, m.real) && !covers(mount.Guest)
		covered := inside || slices.ContainsFunc(allowed, func(u Mount) bool {
			at, err := filepath.Rel(u.On(m.real), host)
			return err == nil && paths.Within(host, u.On(m.real)) && u.permits(&mount) &&
				(!covers(mount.Guest) || filepath.Join(u.Guest, at) == mount.Guest)
		})
		what := fmt.Sprintf("the mount of %s", host)
		if covers(mount.Guest) {
			what += fmt.Sprintf(" at %s", mount.Guest)
		}
		switch {
		case mount.Overlay:
			what += ", as an overlay,"
		case mount.Writes():
			what += ", writable,"
		}
		if covered || m.widens(mount.setting(m.real), what) {
			out = append(out, mount)
		}
	}
	return out
}

// resolve returns mounts with all links in their paths resolved: one may have been made
// by a guest, and may be another by the time that the path is opened. outside does it for
// those that do not lie in the workspace.
func (m *merger) resolve(mounts []Mount, outside func(m *Mount, path string) error) ([]Mount, error) {
	out := slices.Clone(mounts)
	for i := range out {
		mount := &out[i]
		host := mount.On(m.real)
		if !paths.Within(host, m.real) && !paths.Within(host, m.root) {
			if err := outside(mount, host); err != nil {
				return nil, err
			}
		} else if real, err := filepath.EvalSymlinks(host); err != nil {
			continue // it cannot be opened either
		} else if !paths.Within(real, m.real) {
			return nil, mount.errorf("path %q: a symbolic link leads out of the workspace", mount.Host)
		} else {
			mount.Host = real
		}
		if paths.Within(mount.Host, m.real) {
			mount.Host, _ = filepath.Rel(m.real, mount.Host) // both are absolute
		}
	}
	return out, nil
}

// resolved returns path without symbolic links, or as it is where that cannot be.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
