package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// What is mounted in a home that the database has needs a mount point there, which art-fuse makes and takes away again.
// A single file that the guest may write is none: art-fuse has it among the home's own files (package files).

// homeFile is such a file.
type homeFile struct {
	host string // absolute, without symbolic links
	files.File
}

// addMounts adds the mounts to the view. The workspace is open as root.
func (p *prepared) addMounts(o *request, root *os.File, mounts []config.Mount) error {
	for i, m := range mounts {
		st, err := lookAt(root, &m)
		if err != nil {
			return err
		}
		in := p.inTree(m.Guest, mounts[:i])
		plain := p.inPlainHome(m.Guest, mounts[:i])
		if (in != "" || plain) && p.isHomeFile(&m, &st) {
			if err := p.addFile(&m, in); err != nil {
				return err
			}
			continue
		}
		if (in != "" || plain) && p.isLargeFile(&m, &st) {
			tell(o, "%s is larger than %d MiB: programs can write it in place, but not replace it", m.Host, files.MaxSize>>20)
		}
		bind := view.Mount{Guest: m.Guest, ReadOnly: m.ReadOnly}
		if !m.Overlay {
			bind.Source = p.source(m.Host)
			p.payload.Sockets = append(p.payload.Sockets, m.Guest)
		} else if bind.Source, err = p.addOverlay(&m, &st, mounts); err != nil {
			return err
		}
		p.plan.View.Binds = append(p.plan.View.Binds, bind)
		if in != "" {
			p.serve.Places = append(p.serve.Places, files.Place{Path: in, Directory: st.Mode&unix.S_IFMT == unix.S_IFDIR})
		}
	}
	return nil
}

func lookAt(root *os.File, m *config.Mount) (st unix.Stat_t, err error) {
	fd, err := config.OpenHost(int(root.Fd()), m.Host)
	if err == nil {
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
	}
	if err != nil {
		err = fmt.Errorf("%s: host path %q: %w", m.Origin, m.Host, err)
	}
	return st, err
}

// inTree returns where a path of the guest's is in the tree of the database, or "" if that does not show there. before
// are the mounts that are there already.
func (p *prepared) inTree(guest string, before []config.Mount) string {
	v := &p.plan.View
	covered := slices.ContainsFunc(before, func(m config.Mount) bool { return paths.Within(guest, m.Guest) })
	switch {
	case p.plan.Database == "" || covered:
	case v.HostPath != "" && paths.Within(guest, v.HostPath):
		return p.serve.Name + guest[len(v.HostPath):]
	case paths.Within(guest, v.Workspace):
		return p.serve.Name + guest[len(v.Workspace):]
	case paths.Within(guest, view.Home) && p.home == nil:
		return guest[len(view.Home)+1:]
	}
	return ""
}

// inPlainHome says whether a path of the guest's is in a home that is a plain directory: one that sessions share, or one in
// memory.
func (p *prepared) inPlainHome(guest string, before []config.Mount) bool {
	covered := slices.ContainsFunc(before, func(m config.Mount) bool { return paths.Within(guest, m.Guest) })
	return (p.home != nil || p.plan.Database == "") && !covered &&
		paths.Within(guest, view.Home) && !paths.Within(guest, p.plan.View.Workspace)
}

// isHomeFile says whether a mount is one that the guest can replace. The workspace's files are not: there a mount covers
// what the workspace has.
func (p *prepared) isHomeFile(m *config.Mount, st *unix.Stat_t) bool {
	return p.isOwnFile(m, st) && st.Size <= files.MaxSize
}

// isLargeFile says whether a mount is one that the guest could replace, if it were not too large to be copied each time
// that it is written.
func (p *prepared) isLargeFile(m *config.Mount, st *unix.Stat_t) bool {
	return p.isOwnFile(m, st) && st.Size > files.MaxSize && !m.Overlay
}

func (p *prepared) isOwnFile(m *config.Mount, st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && !m.ReadOnly &&
		!paths.Within(m.Guest, p.plan.View.Workspace) && paths.Within(m.Guest, view.Home)
}

// addFile adds such a file, which is at in of the database's tree, or in a plain home.
func (p *prepared) addFile(m *config.Mount, in string) error {
	workspace := paths.Resolve(p.plan.Workspace)
	f := homeFile{m.On(workspace), files.File{Path: in, Overlay: m.Overlay}}
	if in == "" {
		f.Path = m.Guest[len(view.Home)+1:]
	}
	err := unix.Access(f.host, unix.R_OK)
	if err == nil && m.Overlay && paths.Within(f.host, workspace) {
		err = errInWorkspace
	}
	if err == nil {
		switch {
		case in != "":
			p.files = append(p.files, f)
		case p.home != nil:
			err = p.shareFile(f)
		default:
			err = p.lendFile(f)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: host path %q: %w", m.Origin, m.Host, err)
	}
	return nil
}

var errInWorkspace = errors.New("it lies in the workspace, which is an overlay already")

// serveFiles begins to serve the host's side of the files, if there are any.
func (s *session) serveFiles(st *startingFUSE) error {
	if len(s.files) == 0 {
		return nil
	}
	var list []files.HostFile
	for _, f := range s.files {
		list = append(list, f.hostFile())
	}
	host, err := files.Open(list)
	if err != nil {
		return err
	}
	host.Serve(st.files)
	s.hostFiles, st.files = host, nil
	return nil
}

// tellFiles tells what has become of the files that the host was to have. The guest and art-fuse have ended.
func (s *session) tellFiles() {
	var told []error
	if s.hostFiles != nil {
		told = s.hostFiles.Told()
	}
	if s.plainHome != nil {
		told = append(told, s.plainHome.End()...)
	}
	for _, err := range told {
		cli.Fail("art", err)
	}
	s.hostFiles, s.plainHome = nil, nil
}
