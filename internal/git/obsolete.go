package git

import "strings"

// What was pulled to the host need not stay in the guest, which then sees the host's. All else stays: what
// the guest has checked out where that could not come (Plan.Kept), its linked worktrees, which have no place on the
// host, the references that these are on, and those that are no references of the host's.

// Share says how much of a file or a directory is meant.
type Share int

const (
	None Share = iota
	Some       // of what is in it
	All
)

// Obsolete reports how much of what the guest has at a path of the git directory it need not have any more, once the
// plan is carried out.
func (p *Plan) Obsolete(at string) Share {
	if p.Left || !Owns(at) {
		return None
	}
	if own := p.host.own; own != "" && (at == own || strings.HasPrefix(at, own+"/")) {
		return unless(p.Kept)
	}
	name, rest, _ := strings.Cut(at, "/")
	switch {
	case rest == "" && (name == "worktrees" || name == "refs" || name == "logs"):
		return Some
	case name == "worktrees":
		worktree, _, _ := strings.Cut(rest, "/")
		return unless(p.foreign[worktree])
	case name == "refs":
		return p.obsoleteRef(at)
	case name == "logs" && rest != "HEAD":
		return p.obsoleteRef(rest)
	case name == "packed-refs":
		for name := range p.pinned {
			if _, own := p.g.own[name]; !own {
				return None
			}
		}
		return All
	case name == "objects":
		if p.keepsObjects() && strings.Count(rest, "/") == 0 {
			return Some // the host's show beside them
		}
		return unless(p.keepsObjects() && !p.hasLoose(rest))
	case name == "shallow", name == "info":
		return unless(p.keepsObjects())
	case perWorktree(at):
		return unless(p.Kept || p.host.own != "")
	}
	return All
}

// keepsObjects reports whether anything stays that refers to objects.
func (p *Plan) keepsObjects() bool { return p.Kept || len(p.foreign)+len(p.pinned) > 0 }

// obsoleteRef is Obsolete of a reference, or of a directory with references.
func (p *Plan) obsoleteRef(at string) Share {
	if p.pinned[at] {
		return None
	}
	for name := range p.pinned {
		if strings.HasPrefix(name, at+"/") {
			return Some
		}
	}
	return All
}

func unless(stays bool) Share {
	if stays {
		return None
	}
	return All
}

// hasLoose reports whether a path below objects is that of an object that the host has by now. What the guest has there
// may be no more than newer times of a file that the host has packed since.
func (p *Plan) hasLoose(at string) bool {
	id, ok := parseID(strings.Replace(at, "/", "", 1))
	if !ok {
		return false
	}
	there, err := p.objects.onHost(id)
	return there && err == nil || p.closure.done[id]
}
