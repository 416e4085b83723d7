package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/sqlvfs"
)

// openLayers opens the layers beside the workspace.
func openLayers(store *sqlvfs.Store, what *control.Serve) (overlays []*fs.Overlay, err error) {
	for _, l := range what.Layers {
		overlay, err := openLayer(store, what, &l)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", describe(&l), err)
		}
		overlays = append(overlays, overlay)
	}
	return overlays, nil
}

// describe is a layer for people.
func describe(l *control.Layer) string {
	if l.Kind == control.Other {
		return "the directory of the mount " + l.Dir
	}
	return "the repository of the workspace, " + l.Dir
}

// layerName is a layer's name in the database.
func layerName(l *control.Layer, workspace string) string {
	switch l.Kind {
	case control.Git:
		return sqlvfs.GitLayer(workspace)
	case control.Tree:
		return sqlvfs.TreeLayer(workspace)
	}
	return sqlvfs.MountLayer(l.Dir)
}

// openLayer opens a layer. It may have been replaced since art found it to be what it is taken for.
func openLayer(store *sqlvfs.Store, what *control.Serve, l *control.Layer) (*fs.Overlay, error) {
	host, err := fs.OpenHost(l.Dir, append(slices.Clone(what.LayerHide), store.Path())...)
	if err == nil && (host.Dir() != l.Dir || !host.Is(l.Dev, l.Ino)) {
		err = errors.New("another directory has been put in its place")
	}
	if err == nil {
		err = host.ShowOnly(what.Show...)
	}
	if err != nil {
		return nil, err
	}
	if l.Kind == control.Tree {
		tracked, err := gitdir.Files(what.Tracked)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", what.Tracked, err)
		}
		tracked[".git"] = true // a file, or where the git directory is mounted
		host.Only(tracked)
	}
	name := layerName(l, what.Name)
	if err := claim(store, l.Dir, name, identity.Options{Adopt: what.Adopt, Learn: true}); err != nil {
		return nil, err
	}
	return fs.NewOverlay(fs.OverlayOptions{
		Store: store, Base: host, Name: name, Inner: true, Watches: fs.WatchShare() / (1 + len(what.Layers)), Logf: logf,
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
func receive(sock *os.File, count int) <-chan received {
	mounts := make(chan received, count)
	go func() {
		for range count {
			msg, err := control.Receive(sock)
			m := received{fd: msg.FD, ids: fs.Caller{UID: uint32(msg.UID), GID: uint32(msg.GID)}, err: err}
			if err == nil && msg.Kind != control.Mount && msg.Kind != control.NoMount {
				m.err = fmt.Errorf("receive the mount: message %q", msg.Kind)
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

// end copies what is left to be copied of the host's files (fs.BackfillLimits).
func (s *servedLayers) end() {
	for _, end := range s.ends {
		end()
	}
}

// serve serves the layers on mounts that arrive. The stage may have ended meanwhile, and said why.
func (s *servedLayers) serve(overlays []*fs.Overlay, mounts <-chan received, authors fs.Authors) error {
	for _, overlay := range overlays {
		m := <-mounts
		if m.err != nil {
			break
		}
		if m.fd < 0 {
			continue
		}
		overlay.Appear(m.ids)
		s.ends = append(s.ends, overlay.Backfill(fs.BackfillLimits{MaxFile: control.KeepWhole, AtEnd: keepLast}))
		mfs, err := fs.Serve(m.fd, overlay, authors, logf)
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
