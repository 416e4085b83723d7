package locate

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/paths"
)

// root returns the smallest directory that a program at the path real, which has no links, needs all of, where that is a
// layout that installers make; or real itself. What lies beside a program in any other directory is its owner's, and none
// of the guest's.
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
		if filepath.Base(real) == "volta-shim" || !h.shared(parent) && installed(parent) {
			return parent
		}
		return real
	case "shims": // which find the program in what is beside them
		if h.managed(parent) {
			return parent
		}
		return real
	}
	if dir == filepath.Join(h.home(), ".claude/local") || filepath.Base(dir) == "pnpm" || dir == h.Getenv("PNPM_HOME") {
		return dir // with scripts that start what is below it
	}
	return real
}

// marks are what a directory has beside bin where programs in that do not run without it, as patterns: a virtual
// environment, a release of Codex, and installations of Node.js, Python, Ruby, Perl, PHP, R, Rust, Erlang, GHC, Java and Go.
var marks = []string{"pyvenv.cfg", "codex-package.json", "lib/node_modules", "lib/python[23]*", "lib/ruby", "lib/perl5", "lib/php", "lib/R",
	"lib/rustlib", "lib/erlang", "lib/ghc-[0-9]*", "lib/jvm.cfg", "lib/jrt-fs.jar", "jre/lib/rt.jar", "pkg/tool/*_*"}

// installed says whether a directory is an installation, of which the programs in its bin need all.
func installed(dir string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		found, _ := filepath.Glob(filepath.Join(escape(dir), mark)) // the patterns are well formed
		return found != nil
	})
}

// escape returns a path as a pattern that it alone matches.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// managed says whether a directory is that of a version manager with shims.
func (h *Host) managed(dir string) bool {
	for _, variable := range []string{"PYENV_ROOT", "ASDF_DATA_DIR", "MISE_DATA_DIR", "RBENV_ROOT", "NODENV_ROOT"} {
		if dir == h.Getenv(variable) {
			return true
		}
	}
	return slices.Contains([]string{".pyenv", ".asdf", ".rbenv", ".nodenv", "mise"}, filepath.Base(dir))
}

// shared says whether a directory holds what has nothing to do with each other.
func (h *Host) shared(dir string) bool {
	home := h.home()
	if home == "" || paths.Within(home, dir) || dir == filepath.Join(home, ".local") {
		return true
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
