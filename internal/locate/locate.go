// Package locate finds a program of the caller's, and says what of the host somebody has to see to run it: the guest's
// view hides homes, and most agents are installed in one.
//
//	locate.go       finds the program, and what that is run by
//	directories.go  where installers put programs
//	layout.go       what belongs together, given a file of it
//	shebang.go      the interpreter that a script names
//	hops.go         links
//
// It only reads. What it returns may be changed, or be another thing, the next moment: who shows it opens it once.
package locate

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/paths"
)

// maxInterpreters is how many interpreters the kernel follows from a script (fs/exec.c, exec_binprm).
const maxInterpreters = 5

// Program is a program, and what it stands on.
type Program struct {
	// Path is where it was found, as it is called.
	Path string
	// See are the paths that have to be there: links on the way, too, are for who shows them to follow.
	See []string
	// Dirs are the directories of what is found by PATH, the first to be looked at first.
	Dirs []string
	// Values are variables, NAME=VALUE, without which it looks for its files in the guest's home.
	Values []string
	// Missing is the interpreter that is not there, if one is not.
	Missing string
}

// Host is where to look.
type Host struct {
	// Getenv returns the caller's variables.
	Getenv func(string) string
	// System are the directories of programs that everyone has.
	System []string
	// Skip are directories that others may have written: nothing in them is the caller's program.
	Skip []string
}

// Find returns the first of names that is a program, or nil.
func (h *Host) Find(names ...string) *Program {
	dirs := h.directories()
	for _, name := range names {
		if path := h.look(name, dirs); path != "" {
			p := &Program{Path: path}
			p.follow(h, path, dirs, maxInterpreters)
			return p
		}
	}
	return nil
}

// Looked returns the directories that Find looks in, as far as they are there.
func (h *Host) Looked() []string {
	return slices.DeleteFunc(h.directories(), func(dir string) bool { return !isDir(dir) })
}

// At returns what the program at path stands on.
func (h *Host) At(path string) *Program {
	p := &Program{Path: path}
	p.follow(h, path, h.directories(), maxInterpreters)
	return p
}

// look returns the path of the program name in the first of dirs that has it.
func (h *Host) look(name string, dirs []string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if executable(path) && !slices.ContainsFunc(h.Skip, func(skip string) bool {
			return paths.Within(path, skip) || paths.Within(resolved(path), skip)
		}) {
			return path
		}
	}
	return ""
}

// follow adds what the program at path stands on, and what that is run by.
func (p *Program) follow(h *Host, path string, dirs []string, most int) {
	real := resolved(path)
	p.add(filepath.Dir(path))
	root := h.root(real)
	p.see(path, root)
	p.Values = append(p.Values, values(h, real)...)
	if most == 0 {
		return
	}
	if base := base(root); base != "" { // the Python of a virtual environment
		p.see(base, h.root(resolved(base)))
	}
	interpreter, named := shebang(real)
	switch {
	case interpreter == "":
	case named:
		// What is beside the program comes first in the guest's PATH.
		beside := append(slices.Clone(p.Dirs), filepath.Join(root, "bin"))
		if found := h.look(interpreter, append(beside, dirs...)); found != "" {
			p.follow(h, found, dirs, most-1)
		} else {
			p.Missing = interpreter
		}
	case executable(interpreter):
		p.run(h, interpreter, dirs, most-1)
	default:
		p.Missing = interpreter
	}
}

// run adds what a program stands on that is not found by PATH.
func (p *Program) run(h *Host, path string, dirs []string, most int) {
	known := slices.Clone(p.Dirs)
	p.follow(h, path, dirs, most)
	p.Dirs = slices.DeleteFunc(p.Dirs, func(dir string) bool { return dir == filepath.Dir(path) && !slices.Contains(known, dir) })
}

func (p *Program) add(dir string) {
	if !slices.Contains(p.Dirs, dir) {
		p.Dirs = append(p.Dirs, dir)
	}
}

func (p *Program) see(paths ...string) {
	for _, path := range paths {
		if !slices.Contains(p.See, path) {
			p.See = append(p.See, path)
		}
	}
}

// executable says whether path is a regular file that the caller may execute.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

func is(path string, kind func(fs.FileMode) bool) bool {
	info, err := os.Stat(path)
	return err == nil && kind(info.Mode())
}

func isDir(path string) bool  { return is(path, fs.FileMode.IsDir) }
func isFile(path string) bool { return is(path, fs.FileMode.IsRegular) }
