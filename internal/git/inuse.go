package git

import (
	"path"
	"strings"
)

// A branch that a worktree of the host's is on is not moved under it, and neither is one that it comes back to: the one
// that it is rebasing, or left for a bisection (branch_checked_out in git's branch.c).

// branchesInUse finds them, and says by what each is used.
func (p *Plan) branchesInUse() error {
	main := *p.host
	main.own = ""
	list, err := main.list("worktrees")
	if err != nil {
		return err
	}
	dirs := []string{""}
	for _, e := range list {
		dirs = append(dirs, "worktrees/"+e.Name)
	}
	for _, dir := range dirs {
		w, name := main, "the worktree "+path.Base(dir)
		w.own = dir
		if dir == "" {
			name = "the main worktree"
		}
		if dir == p.host.own {
			name = "the host"
		} else if on := w.branch(); on != "" {
			p.elsewhere[on] = "it is checked out in " + name
		}
		for on, what := range w.comesBackTo() {
			p.elsewhere[on] = name + " is " + what + " it"
		}
	}
	return nil
}

// branch returns the branch that a worktree is on, if it is on one.
func (h *hostDir) branch() string {
	data, err := h.read("HEAD", maxRef)
	if err != nil || h.own == "" && h.isBare() {
		return ""
	}
	v, _ := parseRef(data)
	return v.sym
}

// comesBackTo returns the branches that a worktree moves to, or moves, at the end of what it is in the middle of.
func (h *hostDir) comesBackTo() map[string]string {
	names := map[string]string{}
	for _, at := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs"} {
		data, _ := h.read(at, maxState)
		for line := range strings.Lines(string(data)) { // of update-refs, the others are objects
			if name := strings.TrimSpace(line); validRef(name) {
				names[name] = "rebasing"
			}
		}
	}
	data, _ := h.read("BISECT_START", maxRef)
	name := strings.TrimSpace(string(data))
	if !strings.HasPrefix(name, "refs/") {
		name = "refs/heads/" + name
	}
	if validRef(name) {
		names[name] = "bisecting"
	}
	return names
}
