package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// Hidden returns the paths of the host that sessions hide by what settings say: the user's, those of all of his agents and
// presets, and the workspaces', whose directories are named. Which of them a session had that changed something, nobody
// wrote down. Beside these it returns where the user's own settings and databases are.
func Hidden(getenv func(string) string, workspaces ...string) ([]string, error) {
	var entries []Entry
	add := func(file string, text []byte, dir string, within ...string) error {
		list, err := hides(&source{name: file, dir: dir, home: getenv("HOME")}, text, within...)
		entries = append(entries, list...)
		return err
	}
	for _, dir := range configDirs(getenv) {
		files := map[string][]string{filepath.Join(dir, "sandbox.json"): nil}
		for _, agent := range namesIn(dir, agentsDir) {
			files[filepath.Join(dir, agent, "sandbox.json")] = nil
		}
		for _, preset := range namesIn(dir, PresetDir) {
			if name, ok := strings.CutSuffix(filepath.Base(preset), ".json"); ok && IsPresetName(name) {
				files[filepath.Join(dir, preset)] = []string{"settings"}
			}
		}
		for file, within := range files {
			text, err := readIfThere(file)
			if err == nil {
				err = add(file, text, "", within...)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for _, workspace := range workspaces {
		root, err := os.Open(workspace)
		if err != nil {
			continue // nothing of it is there to be shown
		}
		text, err := readTrusted(root, SandboxFile)
		if err == nil {
			err = add(filepath.Join(workspace, SandboxFile), text, workspace)
		}
		root.Close()
		if err != nil {
			return nil, err
		}
	}
	paths, err := Expand(entries)
	return append(paths, UserHidden(getenv)...), err
}

// hides returns what a file of settings hides, or an object within it.
func hides(src *source, text []byte, within ...string) (entries []Entry, err error) {
	if text == nil {
		return nil, nil
	}
	n, err := parse(src.name, text)
	for _, key := range within {
		if n != nil {
			n = n.member(key)
		}
	}
	if n == nil || err != nil {
		return nil, err
	}
	if on := n.member("enabled"); on != nil && on.value == false {
		return nil, nil // the file is left out
	}
	if n = n.member("hide"); n == nil {
		return nil, nil
	}
	return entries, n.list(func(item *node) error {
		path, err := item.text()
		if err == nil {
			path, err = src.pattern(item, path)
		}
		entries = append(entries, Entry{path, item.origin()})
		return err
	})
}

// Bounds of what patterns of paths to hide may be about: each path that one fits is a mount in a session.
const (
	maxHidden = 4096   // paths
	maxLooked = 100000 // entries of directories that are looked at
)

// Expand returns the paths to hide, with what the patterns of settings match now in their place.
func Expand(entries []Entry) ([]string, error) {
	var paths []string
	tree := &bounded{}
	for _, e := range entries {
		if !strings.ContainsAny(e.Value, `*?[\`) || !filepath.IsAbs(e.Value) {
			paths = append(paths, e.Value)
			continue
		}
		matches, err := fs.Glob(tree, strings.TrimPrefix(e.Value, "/"))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: hide %q: %w", e.Origin, e.Value, err)
		case tree.full:
			return nil, cli.WithHint(fmt.Errorf("%s: hide %q: to find what that is about, more than %d files would have to be looked at", e.Origin, e.Value, maxLooked),
				"hide the directories that they are in")
		case len(paths)+len(matches) > maxHidden:
			return nil, cli.WithHint(fmt.Errorf("%s: hide %q: with that there are more than %d paths to hide", e.Origin, e.Value, maxHidden),
				"hide the directories that they are in")
		}
		for _, match := range matches {
			paths = append(paths, "/"+match)
		}
	}
	return paths, nil
}

// bounded is the host's tree, of which only so much can be looked at.
type bounded struct {
	looked int
	full   bool
}

func (b *bounded) Open(name string) (fs.File, error) {
	// O_DIRECTORY: to open a fifo would wait for who writes to it.
	return os.OpenFile("/"+name, unix.O_DIRECTORY, 0)
}

// Stat says what is at a path; a symbolic link is there wherever it leads.
func (b *bounded) Stat(name string) (fs.FileInfo, error) { return os.Lstat("/" + name) }

func (b *bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	if b.full {
		return nil, fs.ErrInvalid
	}
	f, err := os.OpenFile("/"+name, unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(max(1, maxLooked-b.looked))
	if b.looked += 1 + len(entries); b.looked > maxLooked {
		b.full = true
		return nil, fs.ErrInvalid
	}
	return entries, err
}
