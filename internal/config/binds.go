// Package config reads the settings of sessions: the user's, those of a workspace
// (<workspace>/.art/config), and what of the latter the user trusts. Whatever it
// cannot honour exactly as written is an error: a typing mistake must never widen,
// nor silently narrow, what the guest gets.
package config

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/paths"
)

// BindsFile is the path of the file of binds within a workspace: another spelling
// of the mounts of its settings.
const BindsFile = ".art/config/binds.json"

// binds reads the text of such a file.
func (src *source) binds(text []byte) ([]Mount, error) {
	root, err := parse(src.name, text)
	if err != nil {
		return nil, err
	}
	var mounts []Mount
	err = root.object(map[string]func(*node) error{"binds": func(n *node) error {
		mounts = []Mount{}
		return n.list(func(item *node) error {
			m, err := src.bind(item)
			mounts = append(mounts, m)
			return err
		})
	}})
	if err == nil && mounts == nil {
		err = root.errorf(`the key "binds" is missing`)
	}
	return mounts, err
}

func (src *source) bind(n *node) (Mount, error) {
	m, err := src.mount(n)
	switch {
	case err != nil:
		return m, err
	case m.Host == "":
		return m, n.errorf(`the key "host" is missing`)
	case m.Guest == "" && m.Overlay:
		m.Guest = m.On(src.dir)
	case m.Guest == "":
		return m, n.errorf(`the key "guest" is missing`)
	}
	return m, nil
}

// CheckGuests checks the places of mounts in the guest: none may take away what the
// sandbox itself stands on, or cover another. home is the guest's home directory and
// workspace the workspace's path in the guest.
func CheckGuests(mounts []Mount, home, workspace string) error {
	for i, m := range mounts {
		if err := m.checkGuest(home, workspace, mounts[:i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mount) checkGuest(home, workspace string, others []Mount) error {
	for _, dir := range []string{"/proc", "/dev", "/sys"} {
		if paths.Within(m.Guest, dir) {
			return m.errorf("guest %q lies in %s, which is the sandbox's own", m.Guest, dir)
		}
	}
	for _, dir := range []string{"/etc/passwd", "/etc/group", "/tmp", "/var/tmp", "/run", workspace, home} {
		if paths.Within(dir, m.Guest) {
			return m.errorf("guest %q would cover %s, which is the sandbox's own", m.Guest, dir)
		}
	}
	if paths.Within(m.Guest, filepath.Join(workspace, Dir)) {
		return m.errorf("guest %q lies in the configuration", m.Guest)
	}
	for _, other := range others {
		switch {
		case m.Guest == other.Guest:
			return m.errorf("guest %q is that of %s too", m.Guest, other.Origin)
		case paths.Within(other.Guest, m.Guest):
			return m.errorf("guest %q would cover that of %s: put it before that one", m.Guest, other.Origin)
		}
	}
	return nil
}

// OpenHost opens the host path of a mount with O_PATH, which needs no permission on it.
// Merge has resolved its links, so there are none: one that is there now was made
// since, perhaps by a guest. A relative path lies beneath the workspace, which is open
// as root.
func OpenHost(root int, host string) (fd int, err error) {
	rules := uint64(hostfs.NoSymlinks)
	if !filepath.IsAbs(host) {
		rules = hostfs.Beneath
	}
	fd, err = hostfs.OpenAt(root, host, unix.O_PATH, rules)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV) {
		return -1, errors.New("a symbolic link was put on the way to it")
	}
	return fd, err
}
