package config

import (
	"os"
	"path/filepath"
	"strings"
)

// SandboxFile is the path of the workspace's settings within the workspace.
const SandboxFile = ".art/config/sandbox.json"

// Entry is one thing that was said, and where.
type Entry struct{ Value, Origin string }

// Mount is a host path that the guest sees.
type Mount struct {
	Bind
	Origin string
}

// Settings are what one file says, or several together. What is not said is the
// zero value.
type Settings struct {
	// Network is "host" or "none".
	Network Entry
	// Env are names of variables of the caller's to pass on.
	Env []Entry
	// Values are variables from the .env beside the file. The caller's own value
	// counts more, where Env names it.
	Values []Value
	// Hide are absolute paths or patterns (filepath.Match) of the host.
	Hide []Entry
	// Allow are options of package seccomp.
	Allow []Entry
	// Mounts are further paths for the guest.
	Mounts []Mount
	// Limits are by name (see limits.go).
	Limits map[string]Limit
	// Workspace is the directory to take for the workspace if none is named. Only
	// the user's file has it.
	Workspace Entry
	// Trust are workspaces whose settings may widen what the user's allow; not those
	// below them, which a guest can make. Only the user's file has it.
	Trust []Entry
}

// source is what it depends on how a file is read.
type source struct {
	name string // of the file, for people
	dir  string // relative paths are relative to it; "" if there may be none
	home string // the caller's
	user bool   // it is the user's file
	// allowed are the options that Allow can have.
	allowed []string
}

// read reads the text of a file of settings.
func (src *source) read(text []byte) (*Settings, error) {
	root, err := parse(src.name, text)
	if err != nil {
		return nil, err
	}
	s := &Settings{Limits: map[string]Limit{}}
	enabled := true
	if err := root.object(src.keys(s, &enabled)); err != nil {
		return nil, err
	}
	if !enabled {
		return &Settings{}, nil
	}
	return s, nil
}

// keys are the keys of a file, each with what reads its value.
func (src *source) keys(s *Settings, enabled *bool) map[string]func(*node) error {
	entries := func(into *[]Entry, check func(*node, string) (string, error)) func(*node) error {
		return func(n *node) error {
			*into = []Entry{} // an empty list is not the same as none
			return n.list(func(item *node) error {
				text, err := item.text()
				if err == nil {
					text, err = check(item, text)
				}
				*into = append(*into, Entry{text, item.origin()})
				return err
			})
		}
	}
	keys := map[string]func(*node) error{
		"$schema": func(n *node) error { // for editors
			_, err := n.text()
			return err
		},
		"enabled": func(n *node) (err error) {
			*enabled, err = n.boolean()
			return err
		},
		"network": func(n *node) error {
			word, err := n.word("host", "none")
			s.Network = Entry{word, n.origin()}
			return err
		},
		"env":   entries(&s.Env, variable),
		"hide":  entries(&s.Hide, src.pattern),
		"trust": entries(&s.Trust, src.path),
		"allow": entries(&s.Allow, func(n *node, _ string) (string, error) { return n.word(src.allowed...) }),
		"workspace": func(n *node) error {
			text, err := n.text()
			if err == nil {
				text, err = src.path(n, text)
			}
			s.Workspace = Entry{text, n.origin()}
			return err
		},
		"mounts": func(n *node) error {
			s.Mounts = []Mount{}
			return n.list(func(item *node) error {
				m, err := src.mount(item)
				s.Mounts = append(s.Mounts, m)
				return err
			})
		},
		"limits": func(n *node) error {
			fields := map[string]func(*node) error{}
			for name, unit := range limits {
				fields[name] = func(n *node) error {
					value, err := n.limit(unit)
					s.Limits[name] = Limit{value, n.origin()}
					return err
				}
			}
			return n.object(fields)
		},
	}
	if !src.user {
		for _, key := range []string{"trust", "workspace"} {
			keys[key] = func(n *node) error {
				return n.errorf("%q can only be set in the user's file", key)
			}
		}
	}
	return keys
}

// variable checks the name of a variable.
func variable(n *node, name string) (string, error) {
	if strings.ContainsRune(name, '=') {
		return "", n.errorf("%q is not a variable's name: values do not belong in this file", name)
	}
	return name, nil
}

// path returns the absolute path that was written as p.
func (src *source) path(n *node, p string) (string, error) {
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		if src.home == "" {
			return "", n.errorf("%q: the home directory is not known", p)
		}
		p = src.home + p[1:]
	case strings.HasPrefix(p, "~"):
		return "", n.errorf("%q: write the other user's home in full", p)
	case !filepath.IsAbs(p) && src.dir == "":
		return "", n.errorf("%q is not an absolute path", p)
	case !filepath.IsAbs(p) && !filepath.IsLocal(p):
		return "", n.errorf("%q leads out of the workspace", p)
	case !filepath.IsAbs(p):
		p = filepath.Join(src.dir, p)
	}
	return filepath.Clean(p), nil
}

// pattern is path for what may also be a pattern.
func (src *source) pattern(n *node, p string) (string, error) {
	if _, err := filepath.Match(p, ""); err != nil {
		return "", n.errorf("%q is not a pattern: %w", p, err)
	}
	return src.path(n, p)
}

func (src *source) mount(n *node) (Mount, error) {
	m := Mount{Bind: Bind{ReadOnly: true}, Origin: n.origin()}
	err := n.object(map[string]func(*node) error{
		"path": func(n *node) error {
			text, err := n.text()
			if err == nil {
				m.Host, err = src.path(n, text)
			}
			return err
		},
		"guest": func(n *node) error {
			text, err := n.text()
			if err == nil && !filepath.IsAbs(text) {
				err = n.errorf("%q is not an absolute path", text)
			}
			m.Guest = filepath.Clean(text)
			return err
		},
		"mode": func(n *node) error {
			mode, err := n.word("ro", "rw")
			m.ReadOnly = mode != "rw"
			return err
		},
	})
	switch {
	case err != nil:
		return m, err
	case m.Host == "":
		return m, n.errorf(`the key "path" is missing`)
	case m.Guest == "":
		m.Guest = m.Host
	}
	return m, nil
}

// ReadWorkspace reads the settings of the workspace whose root directory is open
// as root; without a file they are empty. home is the caller's home directory and
// allowed what Allow may have.
func ReadWorkspace(root *os.File, home string, allowed []string) (*Settings, error) {
	values, err := workspaceValues(root)
	if err != nil {
		return nil, err
	}
	text, err := readTrusted(root, SandboxFile)
	if text == nil || err != nil {
		return &Settings{Values: values}, err
	}
	src := &source{name: filepath.Join(root.Name(), SandboxFile), dir: root.Name(), home: home, allowed: allowed}
	s, err := src.read(text)
	if err == nil {
		s.Values = values
	}
	return s, err
}

// UserFile returns the path of the user's settings, given the environment, or ""
// if there is no place for them (XDG Base Directory Specification: a relative
// path is to be ignored).
func UserFile(getenv func(string) string) string {
	for _, dir := range []string{getenv("XDG_CONFIG_HOME"), filepath.Join(getenv("HOME"), ".config")} {
		if filepath.IsAbs(dir) {
			return filepath.Join(dir, "art", "sandbox.json")
		}
	}
	return ""
}

// ReadUser reads the user's settings from file; without a file they are empty.
func ReadUser(file, home string, allowed []string) (*Settings, error) {
	if file == "" {
		return &Settings{}, nil
	}
	values, err := userValues(file)
	if err != nil {
		return nil, err
	}
	text, err := readIfThere(file)
	if text == nil || err != nil {
		return &Settings{Values: values}, err
	}
	s, err := (&source{name: file, home: home, user: true, allowed: allowed}).read(text)
	if err == nil {
		s.Values = values
	}
	return s, err
}
