package held

import "strings"

// maxLinks is how many symbolic links one path may lead through (path_resolution(7)): a way through more
// leads nowhere. maxWays bounds how many are tried where the host and the guest have different links.
const (
	maxLinks = 40
	maxWays  = 1000
)

// Outward reports whether a symbolic link leads, or may come to lead, out of the workspace. rel is where it
// will be, and links returns the targets of the links that may be at a path once the pull is done: the
// host's, the guest's, or none.
//
// It does when its target is absolute, climbs above the workspace counted from the link's own place, has
// ".." after a name, or leads through a link that does. "a/.." is not where a is: the kernel follows a
// first, and what a is may be another thing after the next pull.
//
// Why that is enough, in whatever order links come: let all links in the workspace be of the form ../../x/y,
// with no more ".." than there are directories above the link. The kernel climbs from the directory that
// really holds the link, so the climb ends in the workspace; from there it goes down, by names alone. Each
// name is a directory, which is below the one before, or a link, which is of the same form, and lies where
// it lies. So by induction over the links that are followed, the way never leaves. Nothing but the link
// itself and its place is in the argument: links that are brought later, and directories that are
// exchanged for them, are of the form too. A link that is moved, alone or with a directory above it, is
// looked at in its new place. What is not of the form is what the user has made, or allowed; a link that
// leads through such a one is held back.
func Outward(rel, target string, links func(rel string) []string) bool {
	names := strings.Split(rel, "/")
	w := walk{links, maxWays}
	return w.follow(names[:len(names)-1], target, nil, 0)
}

type walk struct {
	links func(rel string) []string
	left  int // links that may still be looked at; then the answer is yes
}

// follow reports whether a link's target leads out, and the names that come after the link. followed are
// the links on the way so far.
func (w *walk) follow(dir []string, target string, rest []string, followed int) bool {
	if w.left--; w.left < 0 {
		return true
	}
	at, down, ok := climb(dir, target)
	if !ok {
		return true
	}
	return followed < maxLinks && w.descend(at, append(down, rest...), followed)
}

// climb takes a target apart: the directory where its leading ".." end, and the names that follow.
func climb(dir []string, target string) (at, down []string, ok bool) {
	if strings.HasPrefix(target, "/") {
		return nil, nil, false
	}
	at = dir
	for name := range strings.SplitSeq(target, "/") {
		switch {
		case name == "" || name == ".":
		case name != "..":
			down = append(down, name)
		case len(at) == 0 || down != nil:
			return nil, nil, false
		default:
			at = at[:len(at)-1]
		}
	}
	return at, down, true
}

// descend reports whether names lead out, one after the other, from a directory on.
func (w *walk) descend(at, down []string, followed int) bool {
	for i, name := range down {
		here := append(at[:len(at):len(at)], name)
		for _, target := range w.links(strings.Join(here, "/")) {
			if w.follow(at, target, down[i+1:], followed+1) {
				return true
			}
		}
		at = here // it is a directory, or nothing yet
	}
	return false
}
