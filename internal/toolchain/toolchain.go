// Package toolchain knows version managers and compilers that are installed in a home: what of it has to be seen for
// their programs to work at their own paths, where these are, and which variables they need.
//
// They are shown for reading. What the guest installs with them goes to its own home.
package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPrograms is how many programs of one directory are looked at.
const maxPrograms = 500

// Tool is one that was found on the host.
type Tool struct {
	// Name is as the settings have it, and Dir where it is.
	Name, Dir string
	// See are the paths that are shown, Programs those of programs, with what each stands on.
	See, Programs []string
	// Links are the symbolic links in what is shown that lead out of it: to a toolchain or a program of one's own.
	Links []string
	// Dirs are for PATH.
	Dirs []string
	// Values are variables, NAME=VALUE.
	Values []string
}

// Host is where to look.
type Host struct {
	// Getenv returns the caller's variables.
	Getenv func(string) string
	// Home is the guest's, for what the guest installs.
	Home string
}

// names are the tools, sorted as they are looked at: what comes first in PATH stands first.
var names = []string{"nvm", "fnm", "volta", "bun", "deno", "pyenv", "uv", "pipx", "rustup", "cargo", "go", "sdkman", "ghcup"}

// LocalBin is the directory of a user's own programs, which counts as a tool too.
const LocalBin = "~/.local/bin"

// Names returns the names of all tools.
func Names() []string { return slices.Clone(names) }

// Known says whether there is such a tool: a name, or a directory of programs.
func Known(name string) bool {
	return slices.Contains(names, name) || strings.HasPrefix(name, "~/") || filepath.IsAbs(name)
}

// Find returns the tool of that name, or nil if the host has none.
func (h *Host) Find(name string) *Tool {
	home := h.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return nil
	}
	b := &builder{Host: h, home: filepath.Clean(home), tool: &Tool{Name: name}}
	if find, ok := table[name]; ok {
		find(b)
	} else {
		b.programs(name)
	}
	if b.tool.See == nil && b.tool.Programs == nil {
		return nil
	}
	return b.tool
}

// builder makes a tool.
type builder struct {
	*Host
	home string
	tool *Tool
}

// root makes the directory that a variable names, or else one below the home, that of the tool, if it is there.
func (b *builder) root(variable string, below ...string) bool {
	var dirs []string
	if variable != "" {
		dirs = append(dirs, b.Getenv(variable))
	}
	for _, path := range below {
		dirs = append(dirs, filepath.Join(b.home, path))
	}
	for _, dir := range dirs {
		if filepath.IsAbs(dir) && isDir(dir) {
			b.tool.Dir = filepath.Clean(dir)
			return true
		}
	}
	return false
}

// in is a path below the tool's directory.
func (b *builder) in(path string) string { return filepath.Join(b.tool.Dir, path) }

// see shows those paths below the tool's directory that are there.
func (b *builder) see(paths ...string) {
	for _, path := range paths {
		if path = b.in(path); exists(path) {
			b.tool.See = append(b.tool.See, path)
		}
	}
}

// links finds the symbolic links that lead out of the tool's directory, among the entries of those below it.
func (b *builder) links(dirs ...string) {
	root, err := filepath.EvalSymlinks(b.tool.Dir)
	if err != nil {
		return
	}
	for _, dir := range dirs {
		f, err := os.Open(b.in(dir))
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(maxPrograms)
		f.Close()
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			path := b.in(filepath.Join(dir, e.Name()))
			if to, err := filepath.EvalSymlinks(path); err == nil && to != root && !strings.HasPrefix(to, root+"/") {
				b.tool.Links = append(b.tool.Links, path)
			}
		}
	}
	slices.Sort(b.tool.Links)
}

// path adds directories for PATH that are there.
func (b *builder) path(dirs ...string) {
	for _, dir := range dirs {
		if isDir(dir) && !slices.Contains(b.tool.Dirs, dir) {
			b.tool.Dirs = append(b.tool.Dirs, dir)
		}
	}
}

// guest adds directories of the guest's home for PATH, in which a tool installs programs.
func (b *builder) guest(paths ...string) {
	for _, path := range paths {
		b.tool.Dirs = append(b.tool.Dirs, filepath.Join(b.Home, path))
	}
}

func (b *builder) set(name, value string) { b.tool.Values = append(b.tool.Values, name+"="+value) }

// one shows those of programs in a directory that are there.
func (b *builder) one(dir string, programs ...string) {
	for _, program := range programs {
		if path := filepath.Join(dir, program); exists(path) {
			b.tool.Programs = append(b.tool.Programs, path)
			b.path(dir)
		}
	}
}

// programs shows a directory of programs, with what each stands on.
func (b *builder) programs(dir string) {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		dir = filepath.Join(b.home, rest)
	}
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	files, _ := f.Readdirnames(maxPrograms)
	slices.Sort(files)
	b.tool.Dir = dir
	for _, file := range files {
		path := filepath.Join(dir, file)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			b.tool.Programs = append(b.tool.Programs, path)
		}
	}
	if b.tool.Programs != nil {
		b.path(dir)
	}
}

// current returns the directory of the caller's PATH that lies in dir, or else the first of others.
func (b *builder) current(dir string, others ...string) string {
	for _, in := range filepath.SplitList(b.Getenv("PATH")) {
		if in = filepath.Clean(in); strings.HasPrefix(in, dir+"/") && isDir(in) {
			return in
		}
	}
	i := slices.IndexFunc(others, isDir)
	if i < 0 {
		return ""
	}
	return others[i]
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
