// Package selection reports which paths of a workspace the user means: those that were named, without those that patterns
// leave out.
package selection

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
)

// Limit are the paths that the user has named; none means all.
type Limit []string

// Has reports whether a path is one of these, or below one.
func (l Limit) Has(rel string) bool {
	return len(l) == 0 || slices.ContainsFunc(l, func(at string) bool {
		return at == "." || rel == at || strings.HasPrefix(rel, at+"/")
	})
}

// Meets reports whether a path is one of these, or leads to one.
func (l Limit) Meets(rel string) bool {
	return l.Has(rel) || slices.ContainsFunc(l, func(at string) bool { return strings.HasPrefix(at, rel+"/") })
}

// PathError is about a path that the user has named and that cannot be meant: nothing was done.
type PathError struct{ Err error }

func (e PathError) Error() string { return e.Err.Error() }
func (e PathError) Unwrap() error { return e.Err }

// To turns the paths that the user gives into paths below the workspace: relative to the current
// directory, or else to the workspace. known reports whether either side has, or had, such a path; one
// that neither knows is most likely a slip of the fingers.
func To(workspace string, paths []string, known func(rel string) bool) (Limit, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var l Limit
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
