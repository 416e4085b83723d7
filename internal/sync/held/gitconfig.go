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
		switch {
		case (v.section == "include" || v.section == "includeif") && v.key == "path":
			at := v.value
			if rest, ok := strings.CutPrefix(at, "~/"); ok {
				at = filepath.Join(n.home, rest)
			}
			if !filepath.IsAbs(at) {
				at = filepath.Join(filepath.Dir(file), at)
			}
			n.Add(at, byGit, false)
			includes = append(includes, at)
		case v.names():
			paths := slices.Contains(pathKeys, v.key)
			if paths { // it is one path, whatever it holds
				n.addPath(v.value, top)
			}
			n.AddWords(v.value, top, byGit, paths)
		}
	}
	return includes
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
	"extensions", "index", "pack", "gc", "rerere", "svn-remote"}

// names tells whether a value may name a program. One of several words has some that are files; an alias is a
// command of a shell if it begins so.
func (v gitValue) names() bool {
	if slices.Contains(noPrograms, v.section) || slices.Contains(noPrograms, v.section+"."+v.key) {
		return false
	}
	return v.section != "alias" || strings.HasPrefix(v.value, "!")
}

// gitValues reads a file of git's configuration. One that cannot be read as such is taken line by line:
// git may read what this reader does not.
func gitValues(data []byte) (list []gitValue) {
	c := config.New()
	if err := config.NewDecoder(bytes.NewReader(data)).Decode(c); err != nil {
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(line, "=")
			key = strings.ToLower(strings.TrimSpace(key))
			list = append(list, gitValue{"", key, strings.TrimSpace(value)})
			if key == "path" {
				list = append(list, gitValue{"include", key, strings.Trim(strings.TrimSpace(value), `"`)})
			}
		}
		return list
	}
	add := func(section string, options config.Options) {
		for _, o := range options {
			list = append(list, gitValue{strings.ToLower(section), strings.ToLower(o.Key), o.Value})
		}
	}
	for _, s := range c.Sections {
		add(s.Name, s.Options)
		for _, sub := range s.Subsections {
			add(s.Name, sub.Options)
		}
	}
	return list
}
