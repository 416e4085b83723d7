package locate

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxVersions is how many versions of a version manager's are looked at.
const maxVersions = 100

// directories returns where programs may be, the first to be looked at first: in the caller's PATH, where everyone's are,
// and where installers put them that nobody's PATH leads to. None has links in it: a shell's own, as fnm makes it, is gone
// with the shell.
func (h *Host) directories() (dirs []string) {
	add := func(list ...string) {
		for _, dir := range list {
			if !filepath.IsAbs(dir) || !isDir(dir) {
				continue
			}
			dir = filepath.Clean(dir)
			if strings.Contains(dir, "/fnm_multishells/") {
				dir = resolved(dir)
			}
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	add(filepath.SplitList(h.Getenv("PATH"))...)
	add(h.System...)
	home := h.home()
	if home == "" {
		return dirs
	}
	in := func(variable, otherwise string) string {
		if dir := h.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		return filepath.Join(home, otherwise)
	}
	add(filepath.Join(home, ".local/bin"), filepath.Join(home, "bin"), filepath.Join(home, ".claude/local"), filepath.Join(home, ".opencode/bin"))
	add(npmPrefix(home)...)
	add(Versions(filepath.Join(in("NVM_DIR", ".nvm"), "versions/node"), "bin")...)
	fnm := in("FNM_DIR", ".local/share/fnm")
	add(resolved(filepath.Join(fnm, "aliases/default/bin")))
	add(Versions(filepath.Join(fnm, "node-versions"), "installation/bin")...)
	add(filepath.Join(in("VOLTA_HOME", ".volta"), "bin"), filepath.Join(in("BUN_INSTALL", ".bun"), "bin"), in("PNPM_HOME", ".local/share/pnpm"))
	add(filepath.Join(home, ".yarn/bin"), filepath.Join(in("DENO_INSTALL", ".deno"), "bin"), filepath.Join(in("CARGO_HOME", ".cargo"), "bin"), in("GOBIN", "go/bin"))
	add(filepath.Join(in("PYENV_ROOT", ".pyenv"), "shims"), in("MISE_DATA_DIR", ".local/share/mise")+"/shims", in("ASDF_DATA_DIR", ".asdf")+"/shims")
	add("/home/linuxbrew/.linuxbrew/bin")
	return dirs
}

// npmPrefix returns the directories of programs that npm installs for all projects (npm-config(7), prefix).
func npmPrefix(home string) (dirs []string) {
	if f, err := os.Open(filepath.Join(home, ".npmrc")); err == nil {
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 0; n < 1000 && lines.Scan(); n++ {
			key, value, _ := strings.Cut(lines.Text(), "=")
			if strings.TrimSpace(key) != "prefix" {
				continue
			}
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			for _, start := range []string{"~/", "${HOME}/", "$HOME/"} {
				if rest, ok := strings.CutPrefix(value, start); ok {
					value = filepath.Join(home, rest)
				}
			}
			dirs = append(dirs, filepath.Join(value, "bin"))
		}
	}
	for _, name := range []string{".npm-global", ".npm-packages", ".npm", "npm"} {
		dirs = append(dirs, filepath.Join(home, name, "bin"))
	}
	return dirs
}

// Versions returns sub of each version in dir, the newest first.
func Versions(dir, sub string) (dirs []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxVersions)
	slices.SortFunc(names, func(a, b string) int { return -compare(a, b) })
	for _, name := range names {
		dirs = append(dirs, filepath.Join(dir, name, sub))
	}
	return dirs
}

// compare compares versions, as v9.1.0 and v22.0.1.
func compare(a, b string) int {
	numbers := func(s string) (list []int) {
		for _, part := range strings.Split(strings.TrimPrefix(s, "v"), ".") {
			n, _ := strconv.Atoi(part) // what is no number is old
			list = append(list, n)
		}
		return list
	}
	if c := slices.Compare(numbers(a), numbers(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
