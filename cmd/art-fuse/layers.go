package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// layer is one more directory of the host under the database, with a mount of its own.
type layer struct {
	kind     string // git: a git directory; tree: the working tree around the workspace; mount: any other directory
	dev, ino uint64 // which directory it was when art looked
	dir      string
}

func parseLayer(text string) (l layer, err error) {
	fields := strings.SplitN(text, ":", 4)
	if len(fields) < 4 || !slices.Contains([]string{"git", "tree", "mount"}, fields[0]) {
		return l, fmt.Errorf("%q is not a layer", text)
	}
	l.kind, l.dir = fields[0], fields[3]
	if l.dev, err = strconv.ParseUint(fields[1], 10, 64); err == nil {
		l.ino, err = strconv.ParseUint(fields[2], 10, 64)
	}
	return l, err
}

// openLayers opens the layers beside the workspace.
func openLayers(store *sqlvfs.Store, cfg serveConfig) (overlays []*fs.Overlay, err error) {
	for _, l := range cfg.layers {
		var only map[string]bool
		if l.kind == "tree" {
			if only, err = gitdir.Files(cfg.tracked); err != nil {
				return nil, fmt.Errorf("read %s: %w", cfg.tracked, err)
			}
			only[".git"] = true // a file, or where the git directory is mounted
		}
		overlay, err := l.open(store, cfg, only)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", l.what(), err)
		}
		overlays = append(overlays, overlay)
	}
	return overlays, nil
}

// what is a layer for people.
func (l *layer) what() string {
	if l.kind == "mount" {
		return "the directory of the mount " + l.dir
	}
	return "the repository of the workspace, " + l.dir
}

// name is the layer's in the database.
func (l *layer) name(workspace string) string {
	switch l.kind {
	case "git":
		return sqlvfs.GitLayer(workspace)
	case "tree":
		return sqlvfs.TreeLayer(workspace)
	}
	return sqlvfs.MountLayer(l.dir)
}

// open opens a layer. It may have been replaced since art found it to be what it is taken for.
func (l *layer) open(store *sqlvfs.Store, cfg serveConfig, only map[string]bool) (*fs.Overlay, error) {
	host, err := fs.OpenHost(l.dir, append(cfg.layerHide, cfg.db)...)
	if err == nil && (host.Dir() != l.dir || !host.Is(l.dev, l.ino)) {
		err = errors.New("another directory has been put in its place")
	}
	if err == nil {
		err = host.ShowOnly(cfg.show...)
	}
	if err != nil {
		return nil, err
	}
	if only != nil {
		host.Only(only)
	}
	name := l.name(cfg.name)
	if err := claim(store, l.dir, name, cfg.adopt); err != nil {
		return nil, err
	}
	return fs.NewOverlay(fs.OverlayOptions{
		Store: store, Base: host, Name: name, Inner: true, Watches: fs.WatchShare() / (1 + len(cfg.layers)), Logf: logf,
		Owner: &fs.Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())},
	})
}

// received is a mount to be served.
type received struct {
	fd  int       // -1 if there is none of a layer
	ids fs.Caller // the guest's, there
	err error
}

// receive receives mounts over the control socket.
func receive(control *os.File, count int) <-chan received {
	mounts := make(chan received, count)
	go func() {
		for range count {
			fd, msg, err := libexec.RecvFD(control)
			m := received{fd: fd}
			switch {
			case err != nil:
				m.err = err
			case fd < 0 && string(msg) == "no mount":
			default:
				if _, err = fmt.Sscanf(string(msg), "mount %d %d", &m.ids.UID, &m.ids.GID); err != nil || fd < 0 {
					m.err = fmt.Errorf("receive the mount: message %q", msg)
				}
			}
			mounts <- m
			if m.err != nil {
				return
			}
		}
	}()
	return mounts
}

// servedLayers are the layers that have a mount.
type servedLayers struct {
	mounts []*fs.Mounted
	ends   []func()
}

// join waits until all of them are unmounted.
func (s *servedLayers) join() {
	for _, mfs := range s.mounts {
		if err := mfs.Join(context.Background()); err != nil {
			logf("serve: %v", err)
		}
	}
}

// end keeps what is left to be kept of the host's files (fs.Keeping).
func (s *servedLayers) end() {
	for _, end := range s.ends {
		end()
	}
}

// serve serves the layers on mounts that arrive. The stage may have ended meanwhile, and said why.
func (s *servedLayers) serve(overlays []*fs.Overlay, mounts <-chan received) error {
	for _, overlay := range overlays {
		m := <-mounts
		if m.err != nil {
			break
		}
		if m.fd < 0 {
			continue
		}
		overlay.Appear(m.ids)
		s.ends = append(s.ends, overlay.Keep(fs.Keeping{Whole: keepWhole, Last: keepLast}))
		mfs, err := fs.Serve(m.fd, overlay, logf)
		if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) {
			continue // a short session has ended without a look there: it is unmounted (fuse_dev_do_read and fuse_dev_do_write in fs/fuse/dev.c)
		}
		if err != nil {
			return err
		}
		s.mounts = append(s.mounts, mfs)
	}
	return nil
}
