package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/toolchain"
)

// Dir is the directory within a workspace that belongs to art.
const Dir = ".art"

// SandboxFile is the path of the workspace's settings within the workspace.
const SandboxFile = ".art/config/sandbox.json"

// GuestFiles are what guests see of a workspace's [Dir].
var GuestFiles = []string{SandboxFile, BindsFile}

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
	keys := map[string]func(*node) error{
		"$schema": func(n *node) error { // for editors
			_, err := n.text()
			return err
		},
		"enabled": func(n *node) (err error) {
			*enabled, err = n.boolean()
			return err
		},
		"network":     func(n *node) error { return n.network(s) },
		"publish":     func(n *node) error { return n.ports(&s.Publish) },
		"secrets":     func(n *node) error { return n.secrets(&s.Secrets) },
		"ssh":         func(n *node) error { return n.ssh(&s.SSH) },
		"path":        word(&s.Path, "home", "host"),
		"end":         word(&s.End, "kill", "wait", "ask"),
		"checkpoints": func(n *node) error { return n.checkpoints(&s.Checkpoints, &s.GuestCheckpoints) },
		"keep": func(n *node) error {
			s.Keep = map[string]Limit{}
			return n.limits(kept, s.Keep)
		},
		"systemd":   boolean(&s.Systemd),
		"commands":  boolean(&s.Commands),
		"notify":    func(n *node) error { return n.notify(&s.Notify) },
		"replicate": entry(&s.Replicate, placeOfCopies),
		"flatten":   boolean(&s.Flatten),
		"mode":      word(&s.Mode, "direct", "overlay"),
		"env":       list(&s.Env, variable),
		"hide":      list(&s.Hide, src.pattern),
		"allow":     list(&s.Allow, func(n *node, _ string) (string, error) { return n.word(src.allowed...) }),
		"see":       list(&s.See, src.path),
		"tools":     list(&s.Tools, tool),
		"own":       list(&s.Own, func(n *node, _ string) (string, error) { return n.word(OwnWords...) }),
		"workspace": src.place(&s.Workspace),
		"db":        src.place(&s.Databases),
		"home":      entry(&s.Home, homeName),
		"mounts": func(n *node) error {
			s.Mounts = []Mount{}
			return n.list(func(item *node) error {
				m, err := src.ownPath(item)
				s.Mounts = append(s.Mounts, m)
				return err
			})
		},
		"limits": func(n *node) error { return n.limits(limits, s.Limits) },
	}
	if !src.user {
		for _, key := range []string{"workspace", "db", "mode", "home", "notify", "systemd", "commands", "keep", "replicate", "flatten"} {
			keys[key] = func(n *node) error { return n.errorf("%q can only be set in the user's file", key) }
		}
	}
	return keys
}

// word returns what reads one of some words.
func word(into *Entry, words ...string) func(*node) error {
	return entry(into, func(n *node, _ string) (string, error) { return n.word(words...) })
}

// boolean returns what reads true or false.
func boolean(into *Entry) func(*node) error {
	return func(n *node) error {
		on, err := n.boolean()
		*into = Entry{strconv.FormatBool(on), n.origin()}
		return err
	}
}

// entry returns what reads a text that check passes.
func entry(into *Entry, check func(*node, string) (string, error)) func(*node) error {
	return func(n *node) error {
		text, err := n.text()
		if err == nil {
			text, err = check(n, text)
		}
		*into = Entry{text, n.origin()}
		return err
	}
}

// list returns what reads a list of texts that check passes.
func list(into *[]Entry, check func(*node, string) (string, error)) func(*node) error {
	return func(n *node) error {
		*into = []Entry{} // an empty list is not the same as none
		return n.list(func(item *node) error {
			var e Entry
			err := entry(&e, check)(item)
			*into = append(*into, e)
			return err
		})
	}
}

// notify reads whether to notify the user, or the command that does: a program and its arguments.
func (n *node) notify(into *Entry) error {
	*into = Entry{Origin: n.origin()}
	switch v := n.value.(type) {
	case bool:
		into.Value = strconv.FormatBool(v)
		return nil
	case string:
		if words := strings.Fields(v); len(words) > 0 && words[0] != "true" && words[0] != "false" && !strings.ContainsRune(v, 0) {
			into.Value = strings.Join(words, " ")
			return nil
		}
		return n.errorf("%q is not a command", v)
	}
	return n.unexpected("true, false or a command")
}

// placeOfCopies checks the URL of a place for copies of databases.
func placeOfCopies(n *node, url string) (string, error) {
	if _, err := place.Parse(url); err != nil {
		return "", n.errorf("%v", err)
	}
	return url, nil
}

// homeName checks the name of a home.
func homeName(n *node, name string) (string, error) {
	if !IsPresetName(name) {
		return "", n.errorf("%q is not the name of a home: small letters, digits, dots, and - and _", name)
	}
	return name, nil
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
func (src *source) place(into *Entry) func(*node) error { return entry(into, src.path) }

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
