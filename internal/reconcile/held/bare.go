package held

import (
	"slices"
	"strings"
)

// Git works in any directory that looks like a repository, not only in one that is called .git: HEAD beside
// objects and refs, or beside a commondir that says where these are (gitrepository-layout(5);
// safe.bareRepository in git-config(1)). Who enters such a directory, or one below, runs what its
// config says.

// Parts are the names in a directory that make it a repository.
type Parts struct{ Head, Store bool }

// Add notes a name in the directory.
func (p *Parts) Add(name string) {
	switch fold(name) {
	case "head":
		p.Head = true
	case "objects", "refs", "commondir":
		p.Store = true
	}
}

func (p Parts) repository() bool { return p.Head && p.Store }

// Bare says why what comes to a path is held back since a directory on the way is a repository by what is
// in it, or would become one. parts returns what the host has in a directory now, and what it may have
// after the pull; "" is the workspace.
//
// Of a repository that is new, HEAD is held back, and where the host has that already, what it lacks: so
// it becomes none in several pulls either. In one that the user has, commits come and go.
func Bare(rel string, isDir bool, parts func(dir string) (now, after Parts)) string {
	names := strings.Split(fold(rel), "/")
	if slices.Contains(names, ".git") {
		return "" // known by its name
	}
	for i, name := range names {
		last := i == len(names)-1
		head := name == "head" && last
		store := name == "objects" || name == "refs" || name == "commondir"
		tells := last && slices.Contains(settings, name) || !isDir && (name == "hooks" || name == "info" || name == "objects" && !last && names[i+1] == "info")
		if !head && !store && !tells {
			continue
		}
		now, after := parts(strings.Join(strings.Split(rel, "/")[:i], "/"))
		switch {
		case !after.repository():
		case tells:
			return "git takes the directory for a repository, and runs what it says"
		case !now.repository() && (head || now.Head):
			return "it makes the directory a repository that git works in"
		}
	}
	return ""
}

// settings are a repository's files that name programs, or lead elsewhere.
var settings = []string{"config", "config.worktree", "commondir", "gitdir"}
