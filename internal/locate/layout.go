package locate

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// root returns the smallest directory that a program at the path real, which has no links, needs all of; or real itself,
// if that is enough.
func (h *Host) root(real string) string {
	if at := strings.Index(real, "/.linuxbrew/"); at >= 0 {
		return real[:at+len("/.linuxbrew")] // its libraries lead from one directory to another
	}
	if at := strings.Index(real, "/.pnpm/"); at >= 0 {
		return real[:at] // all packages are there, linked to each other
	}
	if at := strings.Index(real, "/node_modules/"); at >= 0 {
		modules := real[:at+len("/node_modules")]
		// A version of Node.js, as version managers keep it, brings npm and npx.
		if version, ok := strings.CutSuffix(modules, "/lib/node_modules"); ok && isFile(filepath.Join(version, "bin/node")) {
			return version
		}
		return modules
	}
	dir := filepath.Dir(real)
	parent := filepath.Dir(dir)
	switch filepath.Base(dir) {
	case "bin", "sbin", "libexec":
		// An installation has libraries beside its programs. Other directories of programs have many of them.
		if isFile(filepath.Join(parent, "pyvenv.cfg")) || isFile(filepath.Join(parent, "codex-package.json")) || isDir(filepath.Join(parent, "lib")) && !h.shared(parent) {
			return parent
		}
		if filepath.Base(real) == "volta-shim" {
			return parent
		}
		return real
	case "shims": // which find the program in what is beside them
		return parent
	}
	if h.shared(dir) {
		return real
	}
	return dir
}

// shared says whether a directory holds what has nothing to do with each other.
func (h *Host) shared(dir string) bool {
	home := h.home()
	if home == "" {
		return true
	}
	if within(home, dir) {
		return true
	}
	for _, known := range []string{".local", ".local/share", ".local/lib", ".local/state", ".config", ".cache", ".claude", ".codex", ".gemini", "bin", "opt", "src"} {
		if dir == filepath.Join(home, known) {
			return true
		}
	}
	return slices.Contains([]string{"/usr", "/usr/local", "/opt", "/srv", "/tmp", "/var/tmp", "/home"}, dir)
}

func (h *Host) home() string {
	home := h.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return resolved(filepath.Clean(home))
}

// base returns the program that a virtual environment's Python is a copy of, or "" (https://peps.python.org/pep-0405).
func base(root string) string {
	config := filepath.Join(root, "pyvenv.cfg")
	if !isFile(config) {
		return ""
	}
	f, err := os.Open(config)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; n < 100 && lines.Scan(); n++ {
		key, value, _ := strings.Cut(lines.Text(), "=")
		if strings.TrimSpace(key) != "home" {
			continue
		}
		for _, name := range []string{"python3", "python"} {
			if path := filepath.Join(strings.TrimSpace(value), name); filepath.IsAbs(path) && executable(path) {
				return path
			}
		}
	}
	return ""
}

// values returns the variables that name the directory of a version manager, whose shims otherwise look for it in the
// guest's home.
func values(h *Host, real string) []string {
	dir := filepath.Dir(filepath.Dir(real))
	switch {
	case filepath.Base(real) == "volta-shim":
		return []string{"VOLTA_HOME=" + dir}
	case filepath.Base(filepath.Dir(real)) != "shims":
		return nil
	case filepath.Base(dir) == ".pyenv" || dir == h.Getenv("PYENV_ROOT"):
		return []string{"PYENV_ROOT=" + dir}
	case filepath.Base(dir) == ".asdf" || dir == h.Getenv("ASDF_DATA_DIR"):
		return []string{"ASDF_DATA_DIR=" + dir}
	}
	return nil
}
