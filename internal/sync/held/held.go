// Package held knows which files of a workspace are run by the host's programs without anybody
// asking for it: hooks, settings of editors and agents, start-up files of shells, what a package
// manager runs by itself. Whoever can write them runs code outside of the sandbox.
package held

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// rule says why files are held back. A pattern that holds a slash is about the end of a path, any
// other about the last name; one that ends in a slash is about everything in such a directory. Each
// name is matched as in [path.Match].
type rule struct {
	why      string
	patterns []string
}

var rules = []rule{
	{"git runs it", []string{".git/hooks/", ".git/modules/**/hooks/", ".husky/"}},
	{"it tells git which programs to run", []string{".git/config", ".git/config.worktree", ".git/worktrees/*/config.worktree",
		".git/modules/**/config", ".git/info/attributes"}},
	{"hooks are run from it", []string{".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".overcommit.yml"}},
	{"direnv runs it", []string{".envrc", ".direnvrc"}},
	{"mise runs it", []string{"mise.toml", ".mise.toml", ".mise/", "mise.local.toml", ".config/mise/"}},
	{"an editor runs what it says", []string{".vscode/", ".idea/", ".zed/", ".fleet/", ".vs/", ".devcontainer/", ".devcontainer.json",
		"*.code-workspace", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".dir-locals.el", ".dir-locals-2.el", "*.sublime-project"}},
	{"an agent runs what it says", []string{".claude/", ".mcp.json", ".cursor/", ".codex/", ".gemini/", ".windsurf/", ".aider.conf.yml", ".continue/"}},
	{"a shell runs it", []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".zlogout", ".cshrc", ".tcshrc", ".login", ".kshrc", ".inputrc", ".config/fish/", ".xprofile", ".xinitrc", ".xsession"}},
	{"a package manager runs what it says", []string{".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases/", ".yarn/plugins/", ".pnpmfile.cjs", "pnpmfile.js",
		".pnpmfile.mjs", "bunfig.toml", ".cargo/", ".mvn/", "gradle-wrapper.properties", "gradle-wrapper.jar", "pip.conf", ".pypirc", ".bundle/config", ".gemrc"}},
	{"programs read their secrets or their start from it", []string{".netrc", ".ssh/", ".gnupg/", ".gdbinit", ".lldbinit", ".pythonrc", ".Rprofile", ".irbrc"}},
	{"art reads its configuration from it", []string{".art/"}},
}

// pattern is one of a rule's, taken apart.
type pattern struct {
	why    string
	names  []string
	inside bool // it is about everything below
}

// byName has the patterns by their first name, byEnd those that begin with a wildcard by how that name
// ends: there are as many paths as a workspace has files, and hardly one of them fits.
var byName, byEnd = func() (names, ends map[string][]pattern) {
	names, ends = map[string][]pattern{}, map[string][]pattern{}
	for _, r := range rules {
		for _, text := range r.patterns {
			text = strings.ToLower(text)
			list := strings.Split(strings.TrimSuffix(text, "/"), "/")
			p := pattern{r.why, list, strings.HasSuffix(text, "/")}
			if first := list[0]; first[0] == '*' {
				ends[path.Ext(first)] = append(ends[path.Ext(first)], p)
			} else {
				names[first] = append(names[first], p)
			}
		}
	}
	return names, ends
}()

// Why says why the file at a path below the workspace, with slashes, is held back, or nothing.
func Why(rel string) string {
	names := strings.Split(strings.ToLower(rel), "/")
	if last := names[len(names)-1]; strings.HasSuffix(last, ".sample") {
		return "" // what git leaves in hooks, and never runs
	}
	for start, first := range names {
		for _, list := range [2][]pattern{byName[first], byEnd[path.Ext(first)]} {
			for _, p := range list {
				if rest, ok := prefix(p.names, names[start:]); ok && (p.inside || len(rest) == 0) {
					return p.why
				}
			}
		}
	}
	return ""
}

// prefix matches names from the first on, and returns those that are left. "**" is any number of
// names, at least one.
func prefix(want, names []string) ([]string, bool) {
	for i, w := range want {
		if w == "**" {
			for skip := 1; skip < len(names)-i; skip++ {
				if rest, ok := prefix(want[i+1:], names[i+skip:]); ok {
					return rest, true
				}
			}
			return nil, false
		}
		if i >= len(names) {
			return nil, false
		}
		if ok, err := path.Match(w, names[i]); err != nil || !ok {
			return nil, false
		}
	}
	return names[len(want):], true
}

// Reads tells whether [Content] wants to see a file.
func Reads(rel string) bool {
	switch strings.ToLower(path.Base(rel)) {
	case "package.json", ".gitattributes":
		return true
	}
	return false
}

// Limit is how much of a file Content needs to see, in bytes.
const Limit = 1 << 20

// Content says why a file is held back whose name alone does not tell, or nothing. before is what
// the host has.
func Content(rel string, before, after []byte) string {
	switch strings.ToLower(path.Base(rel)) {
	case "package.json":
		if len(after) >= Limit || !sameScripts(before, after) {
			return "a package manager runs its scripts when it installs"
		}
	case ".gitattributes":
		if filters(after) != filters(before) {
			return "it tells git which filters to run"
		}
	}
	return ""
}

// lifecycle are the scripts that npm(1) runs by itself in the directory where it installs (npm's
// documentation, scripts, "Life Cycle Operation Order").
var lifecycle = []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "dependencies"}

func sameScripts(before, after []byte) bool {
	var a, b struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	if json.Unmarshal(after, &a) != nil {
		return bytes.Equal(before, after) // npm may read what this reader does not
	}
	json.Unmarshal(before, &b) // what cannot be read has no scripts
	for _, name := range lifecycle {
		if !bytes.Equal(a.Scripts[name], b.Scripts[name]) {
			return false
		}
	}
	return true
}

// filters returns the lines that name a program of git's configuration (gitattributes(5)).
func filters(data []byte) string {
	var found strings.Builder
	for line := range strings.Lines(string(data)) {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "filter=") || strings.HasPrefix(word, "diff=") || strings.HasPrefix(word, "merge=") || strings.HasPrefix(word, "[attr]") {
				found.WriteString(strings.TrimSpace(line) + "\n")
				break
			}
		}
	}
	return found.String()
}
