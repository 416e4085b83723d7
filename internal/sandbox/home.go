package sandbox

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// openHome opens the home that is asked for, and finds what the workspace is called there: what a program has there of
// another workspace, which it knows by its path, is not this one's. Who gives a name has it.
func (p *prepared) openHome(o *request, name string) (err error) {
	p.place = p.serve.Name
	if name == "" {
		return nil
	}
	if p.home, err = home.Use(name); err != nil {
		return err
	}
	p.onRelease(func() {
		if p.failed {
			p.home.Abandon()
		} else {
			p.home.Close()
		}
	})
	if o.Name == "" {
		p.place, err = p.home.NameOf(paths.Resolve(p.plan.Workspace), p.serve.Name)
	}
	return err
}

// useHome gives the session that home, with a mount point for each thing that is mounted in it.
func (p *prepared) useHome(o *request, root *os.File, mounts []config.Mount) error {
	if p.home == nil {
		return nil
	}
	p.plan.View.HomeDir = p.source(p.home.Path)
	p.payload.Sockets = append(p.payload.Sockets, view.Home)
	covers, err := p.home.Place(p.place, true)
	if err != nil {
		return fmt.Errorf("show the workspace: %w", err)
	}
	if covers {
		tell(o, "what the home %s has at ~/%s does not show in this session, since the workspace is there", p.home.Name, p.place)
	}
	if err := p.sweepFiles(); err != nil {
		return err
	}
	places := []string{p.plan.View.Workspace}
	for i, m := range mounts {
		inside := slices.ContainsFunc(places, func(place string) bool { return paths.Within(m.Guest, place) })
		if !paths.Within(m.Guest, view.Home) || inside {
			continue // in the last case there is a mount point, or is going to be one
		}
		st, err := lookAt(root, &m)
		if err != nil {
			return err
		}
		if p.inPlainHome(m.Guest, mounts[:i]) && p.isHomeFile(&m, &st) {
			continue // it is none
		}
		path := m.Guest[len(view.Home)+1:]
		directory := st.Mode&unix.S_IFMT == unix.S_IFDIR
		if !directory {
			err = p.reserve(path)
		}
		if err == nil {
			_, err = p.home.Place(path, directory)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Origin, err)
		}
		places = append(places, m.Guest)
	}
	return nil
}

// onRelease adds what is to be done when the session has ended.
func (p *prepared) onRelease(do func()) {
	before := p.release
	p.release = func() { do(); before() }
}
