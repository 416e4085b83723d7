package sync

import (
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
	if why := p.settings.why(a.path, isDir); why != "" {
		return why
	}
	switch {
	case a.attr.IsSymlink():
		if held.Outward(a.path, a.target, p.linksAt) {
			return "it points out of the workspace"
		}
		if held.Above(a.path) != "" || held.Reads(a.path) {
			return "a link in the place of what the host runs by itself"
		}
	case a.attr.IsRegular():
		if held.Reads(a.path) {
			after, err := p.guestHead(a)
			if err != nil {
				return "" // the error will come again where it can be told
			}
			return held.Content(a.path, p.hostHead(a), after)
		}
	}
	return ""
}

// guestHead reads the beginning of the guest's file.
func (p *planner) guestHead(a *item) ([]byte, error) {
	read, done, err := p.reader(a)
	if err != nil {
		return nil, err
	}
	defer done()
	data := make([]byte, min(a.attr.Size, held.Limit))
	n, err := read(data, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return data[:n], nil
}

// hostHead reads the beginning of the host's file, if there is one.
func (p *planner) hostHead(a *item) []byte {
	if a.there != unix.S_IFREG {
		return nil
	}
	f, err := p.host.openFile(a.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, min(a.host.Size, held.Limit))
	n, _ := f.ReadAt(data, 0)
	return data[:n]
}
