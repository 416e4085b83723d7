package held

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// AddScript notes what a script names that is run in a directory: a hook, which git runs at a commit.
func (n *Names) AddScript(data []byte, dir, why string) {
	if bytes.IndexByte(data, 0) >= 0 {
		return // a program
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			n.addFileNames(line, dir, why)
		}
	}
}

// addFileNames notes the words of a line that have a slash or a dot; the others are words.
func (n *Names) addFileNames(line, dir, why string) {
	for _, w := range words(line) {
		if strings.ContainsAny(w, "/.") {
			n.addWord(w, dir, why, strings.Contains(w, "/"), strings.Contains(line, "$"))
		}
	}
}

// Environments are files that set up the shells of who enters their directory.
var Environments = []string{".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"}

// AddEnvironment notes what one of them names: its user has allowed it, but not what it reads, or puts into
// PATH (direnv-stdlib(1); https://mise.jdx.dev/environments/).
func (n *Names) AddEnvironment(data []byte, file string) {
	dir, why := filepath.Dir(file), "the host's "+filepath.Base(file)+" names it"
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		list := words(line)
		if len(list) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if slices.Contains(takePaths, list[0]) {
			for _, w := range list[1:] {
				n.addWord(w, dir, why, true, strings.Contains(line, "$"))
			}
		} else {
			n.addFileNames(line, dir, why)
		}
		for _, u := range uses {
			if strings.Contains(line, u.line) {
				for _, name := range u.names {
					n.Add(filepath.Join(dir, name), why, true)
				}
			}
		}
	}
}

// takePaths are commands and keys whose words are paths.
var takePaths = []string{".", "source", "source_env", "source_env_if_exists", "dotenv", "dotenv_if_exists", "PATH_add", "path_add", "load_prefix", "watch_file", "watch_dir",
	"_.path", "_.file", "_.source", "path", "file", "source", "env._.path", "env._.file", "env._.source", "python.venv", "_.python.venv"}

// uses are commands of direnv's that read, or put into PATH, what they do not name.
var uses = []struct {
	line  string
	names []string
}{
	{"nix", []string{"shell.nix", "default.nix", "flake.nix", "flake.lock"}},
	{"flake", []string{"flake.nix", "flake.lock"}},
	{"layout node", []string{"node_modules/.bin"}},
	{"layout_node", []string{"node_modules/.bin"}},
	{"layout php", []string{"vendor/bin"}},
	{"layout_php", []string{"vendor/bin"}},
	{"dotenv", []string{".env"}},
}
