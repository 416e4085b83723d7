package sync

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sync/quote"
)

// limit are the paths that the user has named; none means all.
type limit []string

func (l limit) has(rel string) bool {
	return len(l) == 0 || slices.ContainsFunc(l, func(at string) bool {
		return at == "." || rel == at || strings.HasPrefix(rel, at+"/")
	})
}

// meets tells whether a path is one of these, or leads to one.
func (l limit) meets(rel string) bool {
	return l.has(rel) || slices.ContainsFunc(l, func(at string) bool { return strings.HasPrefix(at, rel+"/") })
}

// PathError is about a path that the user has named and that cannot be meant: nothing was done.
type PathError struct{ error }

func (e PathError) Unwrap() error { return e.error }

// limitTo turns the paths that the user gives into paths below the workspace: relative to the current
// directory, or else to the workspace. known tells whether either side has, or had, such a path; one
// that neither knows is most likely a slip of the fingers.
func limitTo(workspace string, paths []string, known func(rel string) bool) (limit, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var l limit
	for _, arg := range paths {
		may := candidates(workspace, cwd, arg)
		i := slices.IndexFunc(may, known)
		switch {
		case len(may) == 0:
			return nil, PathError{fmt.Errorf("%s: it is not in the workspace %s", quote.Name(arg, true), quote.Name(workspace, true))}
		case i < 0:
			return nil, PathError{cli.WithHint(
				fmt.Errorf("%s: neither the workspace nor the guest has, or had, such a path", quote.Name(arg, true)),
				"paths are relative to the current directory, or to the workspace "+quote.Name(workspace, true))}
		}
		l = append(l, may[i])
	}
	return l, nil
}

// candidates are the paths below the workspace that a path may mean, the likelier one first.
func candidates(workspace, cwd, arg string) (list []string) {
	places := []string{path.Join(cwd, arg), path.Join(workspace, arg)}
	if path.IsAbs(arg) {
		places = []string{path.Clean(arg)}
	}
	for _, at := range places {
		if rel, ok := below(workspace, at); ok && !slices.Contains(list, rel) {
			list = append(list, rel)
		}
	}
	return list
}

func below(dir, at string) (string, bool) {
	if at == dir {
		return ".", true
	}
	return strings.CutPrefix(at, strings.TrimSuffix(dir, "/")+"/")
}

// knows tells whether either side has something at a path, or had when both last agreed.
func (p *planner) knows(rel string) bool {
	if _, err := p.host.stat(rel); err == nil || p.base[rel] != nil || p.origins[rel] != nil {
		return true
	}
	if p.top != nil {
		n, from := p.guestAt(rel)
		if n == nil && from != "" {
			_, err := p.host.stat(from)
			return err == nil
		}
		if dir, _ := p.guestAt(path.Dir(rel)); n != nil || dir != nil && slices.Contains(dir.Whiteouts, path.Base(rel)) {
			return true
		}
	}
	for at := range p.base { // a directory needs no baseline of its own
		if strings.HasPrefix(at, rel+"/") {
			return true
		}
	}
	for at := range p.origins {
		if strings.HasPrefix(at, rel+"/") {
			return true
		}
	}
	return false
}
