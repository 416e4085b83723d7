package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/toolchain"
)

// Dir is the directory within a workspace that belongs to art.
const Dir = ".art"

// SandboxFile is the path of the workspace's settings within the workspace.
const SandboxFile = ".art/config/sandbox.json"

// GuestFiles are what guests see of a workspace's [Dir].
var GuestFiles = []string{SandboxFile, BindsFile}

// Entry is one thing that was said, and where.
type Entry struct{ Value, Origin string }

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

// OwnWords are what a guest can have of the user's own: name and mail for git, the shell, the variables of proxies and of
// certificates with the files that these name, the editor, languages, and what a terminal can do.
var OwnWords = []string{"certificates", "editor", "git", "locale", "proxy", "shell", "terminal"}

// Settings are what one file says, or several together. What is not said is the
// zero value.
type Settings struct {
	// Network is "host" or "none".
	Network Entry
	// Path is "home", or "host" for the workspace at its own path too.
	Path Entry
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
	// See are absolute paths of the host to show at their own places, for reading, where they are hidden.
	See []Entry
	// Tools are names of what is installed in a home (package toolchain), or directories of programs.
	Tools []Entry
	// Own are words for what the guest has of the user's own ([OwnWords]).
	Own []Entry
	// Set are variables with values that are no secrets; Values count more.
	Set []Value
	// Limits are by name (see limits.go).
	Limits map[string]Limit
	// Workspace is the directory to take for the workspace if none is named. Only
	// the user's file has it.
	Workspace Entry
	// Mode is "direct" or "overlay": what a session is that names no database. Only the
	// user's file has it.
	Mode Entry
	// Databases is the directory of the databases that are kept for workspaces. Only the
	// user's file has it.
	Databases Entry
	// Agent is the name of the agent of the user's own whose settings these are too, and its file.
	Agent Entry
	// Home is the name of the guest's home, if that is to be one that sessions share. Only the user's file has it.
	Home Entry
	// Preset is what a preset says besides, to be shown.
	Preset []Setting
	// Files are those that these settings of a workspace come from.
	Files []File
	// Content stands for the text of the files that these settings of a workspace come
	// from, and for those of its variables that need trust, or is "" if there are none.
	Content string
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
	if old := root.member("trust"); old != nil {
		return nil, cli.WithHint(old.errorf(`the key "trust" is no more: trust is of what settings say, not of a path`),
			"take it out, and run `art trust DIR` for each of these workspaces")
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
		"path": func(n *node) error {
			word, err := n.word("home", "host")
			s.Path = Entry{word, n.origin()}
			return err
		},
		"env":       entries(&s.Env, variable),
		"hide":      entries(&s.Hide, src.pattern),
		"allow":     entries(&s.Allow, func(n *node, _ string) (string, error) { return n.word(src.allowed...) }),
		"see":       entries(&s.See, src.path),
		"tools":     entries(&s.Tools, tool),
		"own":       entries(&s.Own, func(n *node, _ string) (string, error) { return n.word(OwnWords...) }),
		"workspace": src.place(&s.Workspace),
		"db":        src.place(&s.Databases),
		"mode": func(n *node) error {
			word, err := n.word("direct", "overlay")
			s.Mode = Entry{word, n.origin()}
			return err
		},
		"home": func(n *node) error {
			name, err := n.text()
			if err == nil && !IsPresetName(name) {
				err = n.errorf("%q is not the name of a home: small letters, digits, dots, and - and _", name)
			}
			s.Home = Entry{name, n.origin()}
			return err
		},
		"mounts": func(n *node) error {
			s.Mounts = []Mount{}
			return n.list(func(item *node) error {
				m, err := src.ownPath(item)
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
		for _, key := range []string{"workspace", "db", "mode", "home"} {
			keys[key] = func(n *node) error { return n.errorf("%q can only be set in the user's file", key) }
		}
	}
	return keys
}

// tool checks the name of a tool, or the path of a directory of programs.
func tool(n *node, name string) (string, error) {
	if !toolchain.Known(name) {
		all := append(toolchain.Names(), toolchain.LocalBin)
		return "", n.errorf("unknown tool %q: did you mean %q?", name, nearest(name, all))
	}
	return name, nil
}

// variable checks the name of a variable.
func variable(n *node, name string) (string, error) {
	if strings.ContainsRune(name, '=') {
		return "", n.errorf("%q is not a variable's name: values do not belong in this file", name)
	}
	if strings.HasPrefix(name, ownPrefix) {
		return "", n.errorf("%s is a variable of art's own: its flags are environment variables", name)
	}
	return name, nil
}

// place returns what reads an absolute path.
func (src *source) place(into *Entry) func(*node) error {
	return func(n *node) error {
		text, err := n.text()
		if err == nil {
			text, err = src.path(n, text)
		}
		*into = Entry{text, n.origin()}
		return err
	}
}

// path returns the absolute path that was written as p.
func (src *source) path(n *node, p string) (string, error) {
	p, err := src.written(n, p)
	if err == nil && !filepath.IsAbs(p) {
		p = filepath.Join(src.dir, p)
	}
	return p, err
}

// written returns the clean path that was written as p, relative if it is relative to
// the workspace.
func (src *source) written(n *node, p string) (string, error) {
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

// ReadWorkspace reads the settings of the workspace whose root directory is open
// as root; without a file they are empty. home is the caller's home directory and
// allowed what Allow may have.
func ReadWorkspace(root *os.File, home string, allowed []string) (*Settings, error) {
	values, err := workspaceValues(root)
	if err != nil {
		return nil, err
	}
	s := &Settings{}
	digest := sha256.New()
	// The digest takes the very text that is read, each after its name and length: no
	// two pairs of files have the same.
	each := func(path string, read func(*source, []byte) error) error {
		file, err := readSettings(root, path)
		if file == nil || err != nil {
			return err
		}
		text := file.Text
		fmt.Fprintf(digest, "%s %d\n%s", path, len(text), text)
		s.Files, s.Content = append(s.Files, *file), hex.EncodeToString(digest.Sum(nil))
		return read(&source{name: filepath.Join(root.Name(), path), dir: root.Name(), home: home, allowed: allowed}, text)
	}
	var binds []Mount
	if err := each(BindsFile, func(src *source, text []byte) (err error) {
		binds, err = src.binds(text)
		return err
	}); err != nil {
		return nil, err
	}
	if err := each(SandboxFile, func(src *source, text []byte) error {
		own, err := src.read(text)
		if err == nil {
			own.Files, own.Content, s = s.Files, s.Content, own
		}
		return err
	}); err != nil {
		return nil, err
	}
	for _, v := range values {
		if steers(v.Name) || v.Opened {
			fmt.Fprintf(digest, "%s %d\n%s=%s", EnvFile, len(v.Name)+1+len(v.Value), v.Name, v.Value)
			s.Content = hex.EncodeToString(digest.Sum(nil))
		}
	}
	if binds != nil {
		s.Mounts = append(binds, s.Mounts...) // an empty list, too, takes the place of the user's
	}
	s.Values = values
	return s, nil
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
