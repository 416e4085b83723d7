package sync

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sync/held"
)

// danger says why an item needs the user's permission, or nothing.
func (p *planner) danger(a *item) string {
	isDir := a.isDir()
	if why := held.Why(a.path); why != "" && !isDir {
		return why
	}
	if why := held.Bare(a.path, isDir, p.repositoryParts); why != "" && !a.gone() {
		return why
	}
	if why := p.settings.Why(a.path, isDir); why != "" {
		return why
	}
	if why := p.byPreset.Why(a.path); why != "" && !isDir {
		return why
	}
	switch {
	case a.attr.IsSymlink():
		if held.Outward(a.path, a.target, p.linksAt) {
			return "it points out of the workspace"
		}
		if held.Above(a.path) != "" || held.Reads(a.path) || p.byPreset.Above(a.path) != "" {
			return "a link in the place of what the host runs by itself"
		}
	case a.attr.IsRegular():
		if held.Reads(a.path) {
			after, err := p.guestHead(a)
			if err != nil && !errors.Is(err, io.EOF) {
				return "" // the error will come again where it can be told
			}
			return held.Content(a.path, p.hostHead(a), after)
		}
	}
	return ""
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
