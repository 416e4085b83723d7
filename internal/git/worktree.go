package git

import (
	"bytes"
	"path"
	"strings"
	"time"
)

// A linked worktree has a HEAD, an index and a few files more of its own, in a directory below the git directory that
// it shares with the others (gitrepository-layout(5), "worktrees"). To the rest of this package they are where those
// of the main one are.

// common are the names at the top of a git directory that all worktrees share; what else is there is each one's own
// (common_list in git's path.c).
var common = map[string]bool{
	".": true, "branches": true, "common": true, "hooks": true, "info": true, "logs": true, "lost-found": true, "modules": true,
	"objects": true, "refs": true, "remotes": true, "worktrees": true, "rr-cache": true, "svn": true, "config": true,
	"gc.pid": true, "packed-refs": true, "shallow": true,
}

// perWorktree reports whether a path of a git directory is each worktree's own.
func perWorktree(at string) bool {
	at = strings.TrimSuffix(path.Clean(at), ".lock")
	for _, own := range []string{"logs/HEAD", "logs/refs/bisect", "refs/bisect", "refs/rewritten", "refs/worktree"} {
		if at == own || strings.HasPrefix(at, own+"/") {
			return true
		}
	}
	name, _, _ := strings.Cut(at, "/")
	return !common[name] && !strings.HasPrefix(name, tmpPrefix)
}

// in returns where a path of the git directory of a worktree is in the one that it shares. own is the worktree's
// directory there, or "" for the main one.
func in(own, at string) string {
	if own != "" && perWorktree(at) {
		return own + "/" + at
	}
	return at
}

// worktreeGuest is the git directory of a worktree of the guest's.
type worktreeGuest struct {
	Guest
	own string
}

func (g worktreeGuest) List(dir string) (Listing, error) {
	if perWorktree(dir) {
		return g.Guest.List(in(g.own, dir))
	}
	l, err := g.Guest.List(dir)
	if dir = path.Clean(dir); err != nil || dir != "." && dir != "logs" {
		return l, err
	}
	// Of these, a part is elsewhere.
	own, err := g.Guest.List(path.Join(g.own, dir))
	if err != nil {
		own = Listing{}
	}
	merged := Listing{Opaque: l.Opaque}
	for i, from := range []Listing{l, own} {
		for _, e := range from.Own {
			if perWorktree(path.Join(dir, e.Name)) == (i == 1) {
				merged.Own = append(merged.Own, e)
			}
		}
		for _, name := range from.Hidden {
			if perWorktree(path.Join(dir, name)) == (i == 1) {
				merged.Hidden = append(merged.Hidden, name)
			}
		}
	}
	return merged, nil
}

func (g worktreeGuest) Open(at string) (File, error)       { return g.Guest.Open(in(g.own, at)) }
func (g worktreeGuest) Same(at string) (host, guest bool)  { return g.Guest.Same(in(g.own, at)) }
func (g worktreeGuest) Changed(at string) (when time.Time) { return g.Guest.Changed(in(g.own, at)) }
func (g worktreeGuest) Since(at string) (time.Time, bool)  { return g.Guest.Since(in(g.own, at)) }
func (g worktreeGuest) Brought(at string) []byte           { return g.Guest.Brought(in(g.own, at)) }

// isBare reports whether the main worktree is none.
func (h *hostDir) isBare() bool {
	text, _ := h.read("config", 1<<20)
	bare, _ := Worktree(bytes.NewReader(text))
	return bare
}
