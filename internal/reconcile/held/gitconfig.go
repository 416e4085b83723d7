package held

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

const byGit = "the host's git settings name it"

// AddGit notes what a file of git's configuration names, and returns the files that it includes, on
// whatever condition. file is where it lies; top is the directory that git runs commands in, or "" if the
// file is for all repositories.
func (n *Names) AddGit(data []byte, file, top string) (includes []string) {
	for _, v := range gitValues(data) {
		v.value, _, _ = strings.Cut(v.value, "\x00") // as git, which is written in C
		switch {
		case (v.section == "include" || v.section == "includeif") && v.key == "path":
			for _, at := range n.includes(v.value, file) {
				n.Add(at, byGit, false)
				if !slices.Contains(includes, at) {
					includes = append(includes, at)
				}
			}
		case v.names():
			paths := slices.Contains(pathKeys, v.key)
			if paths { // it is one path, whatever it holds
				n.addPath(v.value, top)
			}
			n.AddWords(v.value, top, byGit, paths)
			if !paths {
				n.addCommand(v, top)
			}
		}
	}
	return includes
}

// addCommand notes what the shell runs for a value: after "!", where that says that it is a command
// (git-config(1): alias.*, credential.helper, submodule.<name>.update). An update runs in the submodule.
func (n *Names) addCommand(v gitValue, top string) {
	if v.section == "submodule" && v.key == "update" {
		top = ""
	}
	n.AddScript([]byte(strings.TrimLeft(v.value, "! \t")), top, byGit)
}

// includes returns where a file of git's configuration finds another one.
func (n *Names) includes(at, file string) (list []string) {
	rest, ok := strings.CutPrefix(at, "~/")
	switch {
	case ok:
		for _, home := range n.homes {
			list = append(list, filepath.Join(home, rest))
		}
		return list
	case filepath.IsAbs(at):
		return []string{at}
	}
	return []string{filepath.Join(filepath.Dir(file), at)}
}

func (n *Names) addPath(value, top string) {
	switch {
	case filepath.IsAbs(value), strings.HasPrefix(value, "~/"):
		n.Add(value, byGit, true)
	case top == "":
		n.AddAnywhere(value, byGit, true)
	default:
		n.Add(filepath.Join(top, value), byGit, true)
	}
}

// HooksPath returns the directories that a file of git's configuration names for hooks.
func HooksPath(data []byte) (dirs []string) {
	for _, v := range gitValues(data) {
		if v.section == "core" && v.key == "hookspath" {
			dirs = append(dirs, v.value)
		}
	}
	return dirs
}

type gitValue struct{ section, key, value string }

// pathKeys have a path for a value, and no command (git-config(1)).
var pathKeys = []string{"hookspath", "attributesfile", "templatedir"}

// noPrograms are sections and keys that name branches, people, addresses and looks, and no program. What
// they name in the workspace, if anything, is not run.
var noPrograms = []string{"user", "author", "committer", "color", "column", "init.defaultbranch", "branch", "safe", "maintenance.repo", "gui", "scalar",
	"submodule.url", "submodule.path", "submodule.active", "remote.url", "remote.pushurl", "remote.fetch", "remote.push", "url", "core.worktree", "core.excludesfile",
	"core.sparsecheckout", "blame", "commit.template", "pretty", "format", "log", "push", "pull", "fetch", "status", "help", "http", "advice", "i18n",
	"extensions", "index", "pack", "rerere", "svn-remote"}

// names reports whether a value may name a program. One of several words has some that are files; an alias is a
// command of a shell if it begins so.
func (v gitValue) names() bool {
	if slices.Contains(noPrograms, v.section) || slices.Contains(noPrograms, v.section+"."+v.key) {
		return false
	}
	return v.section != "alias" || strings.HasPrefix(v.value, "!")
}

// gitValues reads a file of git's configuration, by the library's reader and line by line: git reads files
// that the former refuses, and a few otherwise (a fuzz test compares them).
func gitValues(data []byte) (list []gitValue) {
	add := func(section string, options config.Options) {
		for _, o := range options {
			list = append(list, gitValue{strings.ToLower(section), strings.ToLower(o.Key), o.Value})
		}
	}
	c := config.New()
	err := config.NewDecoder(bytes.NewReader(data)).Decode(c)
	for _, s := range c.Sections {
		add(s.Name, s.Options)
		for _, sub := range s.Subsections {
			add(s.Name, sub.Options)
		}
	}
	return append(list, gitLines(data, err != nil)...)
}

// gitLines takes a file line by line. Sections count; with unsure, a path may be that of an include wherever
// it is.
func gitLines(data []byte, unsure bool) (list []gitValue) {
	section := ""
	for line := range strings.Lines(strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(string(data))) {
		head, text, _ := strings.Cut(line, "=")
		if end := strings.LastIndexByte(head, ']'); end >= 0 {
			section = strings.ToLower(strings.TrimSpace(strings.SplitN(strings.TrimLeft(head[:end], " \t["), " ", 2)[0]))
			section, _, _ = strings.Cut(section, ".")
			head = head[end+1:]
		}
		key, value := strings.ToLower(strings.TrimSpace(head)), plainValue(text)
		list = append(list, gitValue{section, key, value})
		if unsure && key == "path" {
			list = append(list, gitValue{"include", key, value})
		}
	}
	return list
}

// plainValue is what git makes of the text after an equals sign (git-config(1), "Values"): without quotes,
// escapes, a comment, and the space around.
func plainValue(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			if e := strings.IndexByte("ntb", text[i]); e >= 0 {
				b.WriteByte("\n\t\b"[e])
			} else {
				b.WriteByte(text[i])
			}
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}
