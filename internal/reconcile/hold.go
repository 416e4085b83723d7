package reconcile

import (
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/held"
)

// holdReason says why an item needs the user's permission, or nothing.
func (p *planner) holdReason(a *item) string {
	isDir := a.isDir()
	if why := p.byNames(a.path, held.Why); why != "" && !isDir {
		return why
	}
	if why := held.Bare(a.path, isDir, p.repositoryParts); why != "" && !a.gone() {
		return why
	}
	if why := p.settings.Why(a.path, isDir); why != "" {
		return why
	}
	if why := p.byNames(a.path, p.byPreset.Why); why != "" && !isDir {
		return why
	}
	switch {
	case a.attr.IsSymlink():
		if held.Outward(a.path, a.target, p.linksAt) {
			return "it points out of the workspace"
		}
		if p.byNames(a.path, held.Above) != "" || held.Reads(a.path) || p.byNames(a.path, p.byPreset.Above) != "" {
			return "a link in the place of what the host runs by itself"
		}
	case a.attr.IsRegular():
		if held.Reads(a.path) {
			after, err := p.guestHead(a)
			if err != nil && !errors.Is(err, io.EOF) {
				return "" // the error will come again where it can be reported
			}
			return held.Content(a.path, p.hostHead(a), after)
		}
	}
	return ""
}

// byNames asks what the name of a path tells: below the workspace, and with the names of the directories above, which may be
// the ones that a program looks for: of a mount of ~/.claude, settings.json.
func (p *planner) byNames(rel string, why func(rel string) string) string {
	text := why(rel)
	for _, above := range p.above {
		if text == "" {
			text = why(join(above, rel))
		}
	}
	return text
}

// worktree is where Claude Code has working trees of a repository: what is below is a project, and none of its settings
// (https://code.claude.com/docs/en/common-workflows, "worktrees").
var worktree = regexp.MustCompile(`^.*/\.claude/worktrees/[^/]+`)

// namesAbove returns the names that lead to the workspace at a path, as that is written and without links.
func namesAbove(abs string) (list []string) {
	add := func(at string) {
		at = worktree.ReplaceAllString(at, "")
		if at = strings.Trim(at, "/"); at != "" && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	add(abs)
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		add(real)
	}
	return list
}

// guestHead reads the beginning of the guest's file.
func (p *planner) guestHead(a *item) ([]byte, error) {
	c, err := p.guestContent(a)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.head(held.Limit)
}

// hostHead reads the beginning of the host's file, if there is one.
func (p *planner) hostHead(a *item) (head []byte) {
	if a.there == unix.S_IFREG {
		if c, err := p.hostContent(a); err == nil {
			defer c.close()
			head, _ = c.head(held.Limit)
		}
	}
	return head
}
