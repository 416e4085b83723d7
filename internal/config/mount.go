package config

import (
	"fmt"
	"path/filepath"
)

// Mount is a host path that the guest sees at a place of its own.
type Mount struct {
	// Host is the path on the host: absolute, or relative to the workspace, and
	// then beneath it.
	Host string
	// Guest is the absolute, clean path in the guest.
	Guest string
	// ReadOnly denies the guest writing.
	ReadOnly bool
	// Overlay has what the guest writes go to the database, and the host's stay as it is.
	Overlay bool
	// Optional leaves it out where the host has nothing at the path.
	Optional bool
	Origin   string
}

// modes are what a mount can be.
var modes = []string{"ro", "rw", "overlay"}

// Mode is how a mount is written.
func (m *Mount) Mode() string {
	switch {
	case m.Overlay:
		return "overlay"
	case m.ReadOnly:
		return "ro"
	}
	return "rw"
}

// Writes says whether the guest can write to the host's.
func (m *Mount) Writes() bool { return !m.ReadOnly && !m.Overlay }

// permits says whether who allows the mount allows what the other lets the guest do with the same path.
func (m *Mount) permits(other *Mount) bool {
	return other.ReadOnly || m.Writes() || m.Overlay && other.Overlay
}

// On returns the absolute path on the host, the workspace being at root.
func (m *Mount) On(root string) string {
	if filepath.IsAbs(m.Host) {
		return m.Host
	}
	return filepath.Join(root, m.Host)
}

func (m *Mount) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", m.Origin, fmt.Errorf(format, args...))
}

// mount reads a mount. It is "path" and "mode" in sandbox.json, "host" and "readonly" in binds.json; each file may use the
// other's words.
func (src *source) mount(n *node) (Mount, error) {
	m := Mount{ReadOnly: true, Origin: n.origin()}
	for _, same := range [][2]string{{"path", "host"}, {"mode", "readonly"}} {
		if n.member(same[0]) != nil && n.member(same[1]) != nil {
			return m, n.errorf("the keys %q and %q say the same: leave one out", same[0], same[1])
		}
	}
	err := n.object(map[string]func(*node) error{
		"path":  src.host(&m),
		"host":  src.host(&m),
		"guest": guest(&m),
		"mode": func(n *node) error {
			mode, err := n.word(modes...)
			m.ReadOnly, m.Overlay = mode == "ro", mode == "overlay"
			return err
		},
		"optional": func(n *node) (err error) {
			m.Optional, err = n.boolean()
			return err
		},
		"readonly": func(n *node) (err error) {
			m.ReadOnly, err = n.boolean()
			return err
		},
	})
	return m, err
}

// ownPath reads a mount that is at the host's own path if nothing else is said.
func (src *source) ownPath(n *node) (Mount, error) {
	m, err := src.mount(n)
	switch {
	case err != nil:
		return m, err
	case m.Host == "":
		return m, n.errorf(`the key "path" is missing`)
	case m.Guest == "":
		m.Guest = m.On(src.dir)
	}
	return m, nil
}

// host returns what reads the host's path of a mount.
func (src *source) host(m *Mount) func(*node) error {
	return func(n *node) error {
		text, err := n.text()
		if err == nil {
			m.Host, err = src.written(n, text)
		}
		return err
	}
}

// guest returns what reads the guest's path of a mount.
func guest(m *Mount) func(*node) error {
	return func(n *node) error {
		text, err := n.text()
		if err == nil && !filepath.IsAbs(text) {
			err = n.errorf("%q is not an absolute path", text)
		}
		m.Guest = filepath.Clean(text)
		return err
	}
}
