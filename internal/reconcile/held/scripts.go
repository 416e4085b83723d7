package held

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// AddScript notes what a script names that is run in a directory: a hook, which git runs at a commit.
func (n *Names) AddScript(data []byte, dir, why string) {
	if bytes.IndexByte(data, 0) >= 0 {
		return // a program
	}
	s := script{n, why, []string{dir}}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			s.line(line)
		}
	}
}

// script is one that is read line by line.
type script struct {
	names *Names
	why   string
	dirs  []string // in which it may be: where it is run, and wherever it has gone; "" is any
}

// line notes the words of a line that have a slash or a dot; the others are words.
func (s *script) line(line string) {
	list := words(line)
	s.enter(list)
	expands := strings.Contains(line, "$")
	takesDirs := slices.Contains(list, "run-parts")
	for _, w := range list {
		if isGlob(w) || !takesDirs && !strings.ContainsAny(w, "/.") {
			continue
		}
		for _, dir := range s.dirs {
			s.names.addWord(w, dir, s.why, takesDirs || strings.Contains(w, "/"), expands)
		}
	}
	if !runs(line) {
		return
	}
	inCase := caseHead(line)
	for _, w := range words(unquoted(line)) {
		if !isGlob(w) || slices.Contains(inCase, w) {
			continue
		}
		dirs := s.dirs
		if strings.Trim(w, "./*") == "" { // all there is counts only where the script has gone
			dirs = dirs[1:]
		}
		for _, dir := range dirs {
			s.names.addGlob(w, dir, s.why, expands)
		}
	}
}

// maxDirs bounds in how many directories a script may be; what is in further ones counts as a whole.
const maxDirs = 16

// enter notes where a line goes: from where the script is run, or from where it went last.
func (s *script) enter(list []string) {
	for i, w := range list {
		if w != "cd" && w != "pushd" {
			continue
		}
		at := slices.IndexFunc(list[i+1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
		if at < 0 {
			continue
		}
		for _, from := range []string{s.dirs[0], s.dirs[len(s.dirs)-1]} {
			dir := list[i+1+at]
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(from, dir)
			}
			switch {
			case slices.Contains(s.dirs, dir):
			case len(s.dirs) < maxDirs:
				s.dirs = append(s.dirs, dir)
			default:
				s.names.addWord(dir, "", s.why, true, false)
			}
		}
	}
}

// runners are words of a line that may run the files that a pattern stands for, there or on a later line;
// dot is the command of that name.
var (
	runners = []string{"for", "while", "source", "source_env", "eval", "exec", "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "perl", "ruby", "run-parts"}
	dot     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[;&|({!]|\b(do|then|else)\s)\s*\.\s`) })
)

func runs(line string) bool {
	return dot().MatchString(line) || slices.ContainsFunc(words(line), func(w string) bool { return slices.Contains(runners, filepath.Base(w)) })
}

var quotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"|'[^']*'`) })

// unquoted returns a line without the wildcards in quotes, which a shell leaves to a command, unless there is a
// command in the quotes.
func unquoted(line string) string {
	if strings.Contains(line, "eval") || strings.Contains(line, " -c") {
		return line
	}
	return quotes().ReplaceAllStringFunc(line, func(text string) string {
		if text[0] == '"' && strings.ContainsAny(text, "$`") {
			return text
		}
		return strings.NewReplacer("*", "", "?", "").Replace(text)
	})
}

func isGlob(w string) bool { return strings.ContainsAny(w, "*?") }

// caseHead returns the words before the first parenthesis that closes none: patterns of a case, which fit
// words and no files.
func caseHead(line string) []string {
	head, _, found := strings.Cut(line, ")")
	if found && !strings.Contains(head, "(") && !runs(head) {
		return words(head)
	}
	return nil
}

// Environments are files that set up the shells of who enters their directory.
var Environments = []string{".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"}

// AddEnvironment notes what one of them names: its user has allowed it, but not what it reads, or puts into
// PATH (direnv-stdlib(1); https://mise.jdx.dev/environments/).
func (n *Names) AddEnvironment(data []byte, file string) {
	dir, why := filepath.Dir(file), "the host's "+filepath.Base(file)+" names it"
	s := script{n, why, []string{dir}}
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
		}
		s.line(line)
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
