package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/confine"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/filetree"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/live/writer"
	"github.com/riverlytech/art/internal/whose"
	"github.com/riverlytech/art/sqlvfs"
)

// What is left of files that the guest has changed in part, and of the hashes of larger ones, may take keepLast at the end
// of a session: without its hash a large one cannot be read any more once the host has touched it.
const keepLast = 5 * time.Second

// runServe serves what art has left it.
func runServe(args []string) error {
	if len(args) != 1 {
		return flags.Fuse.Wrong("serve is for art alone")
	}
	what := &control.Serve{}
	err := control.ReadFile(os.NewFile(control.ServeFD, "serve"), what)
	if errors.Is(err, io.EOF) {
		return reported{err} // art has found a reason for no session, and tells it
	}
	if err == nil {
		err = what.Check()
	}
	if err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	return serve(args[0], what)
}

// serve is the life of an overlay session's server. It ends when the mount does, not by signals: a
// Ctrl-C meant for the payload must not take the payload's files away.
func serve(db string, what *control.Serve) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	fs.BoundMemory()
	sock := os.NewFile(control.SocketFD, "control")
	unix.CloseOnExec(control.SocketFD)
	unix.CloseOnExec(control.FilesFD)
	unix.CloseOnExec(control.CommandsFD)
	unix.CloseOnExec(control.RingFD)
	unix.CloseOnExec(control.CommitsFD)

	// Opening the database and waiting for the mount take about as long; do both at once. The stage is
	// told when it can hide the database's files, and again when it can have the guest's looked at.
	mounts := receive(sock, 1+len(what.Layers))
	tell := func(kind control.Kind) {
		if err := control.Send(sock, -1, control.Message{Kind: kind}); err != nil {
			logf("%v", err)
		}
	}
	s, err := openServer(db, what, sock, func() { tell(control.Opened) })
	if err != nil {
		refuse(sock, err)
		return reported{err}
	}
	m := <-mounts
	if m.err != nil {
		// The stage died before it had mounted anything; it has said why.
		return errors.Join(reported{m.err}, s.store.Discard())
	}
	if err := s.mount(m, mounts); err != nil {
		refuse(sock, err)
		s.store.Discard()
		return reported{err}
	}
	tell(control.Ready)
	s.writer = writer.New(s.store, append([]*fs.Overlay{s.overlay}, s.layers...)...)
	if tree, ok := s.tree.(*filetree.Tree); ok {
		s.writer.AroundBack(tree.GoBack)
	}
	s.flows = newFlows(s.store, what.Flows)
	go s.clients(sock)
	return s.run(db)
}

// server serves an overlay session.
type server struct {
	what     *control.Serve
	store    *sqlvfs.Store
	overlay  *fs.Overlay
	layers   []*fs.Overlay
	tree     fs.FileSystem   // the overlay, with what is mounted in the home
	commands *whose.Commands // the guest's; nil: nobody learns of them
	commits  *commits        // what art is told; nil: nothing
	mfs      *fs.Mounted
	beside   servedLayers
	writer   *writer.Writer
	flows    *flows
	// backfilled ends the copying of what the database needs of the host's files.
	backfilled func()
}

// openServer opens the database over the workspace and the layers beside it. It gives up what takes long once sock is closed by art.
func openServer(db string, what *control.Serve, sock *os.File, opened func()) (*server, error) {
	fork, _, _ := sqlvfs.ForkOf(db) // what it cannot read, opening it tells
	if what.Flatten && (fork == "" || !what.LeaveForks) {
		ctx, stop := whileOpen(sock)
		err := flattenFirst(ctx, db, what)
		stop()
		if err != nil {
			return nil, err
		}
	}
	how := sqlvfs.Options{Create: true, Placed: opened, Every: what.Checkpoints.Every, Keep: keep(what), Replicated: what.Replicated}
	if !what.Checkpoints.Off {
		how.Checkpoint = sqlvfs.AtSession
	}
	var tells *commits
	if what.Commits {
		tells = newCommits(os.NewFile(control.CommitsFD, "commits"), what)
		how.OnCommit = tells.add
	}
	store, overlay, err := openOverlay(db, what.Base, what.Name, how, true, what.Hide, what.Show)
	if err != nil {
		return nil, err
	}
	if parents := store.Parents(); what.Replicated && !what.LeaveForks && len(parents) > 0 {
		store.Discard()
		return nil, cli.WithHint(fmt.Errorf("replicate %s: it is a fork, which reads from %s: a copy of it alone could not be read", db, parents[0]),
			"art-fuse backup makes a database of it that needs no other; or replicate that one, and bring what the fork has changed there with art merge")
	}
	s := &server{what: what, store: store, overlay: overlay, commits: tells}
	ring, err := control.MapRing(os.NewFile(control.RingFD, "ring"))
	if err != nil {
		store.Discard()
		return nil, err
	}
	if sock := os.NewFile(control.CommandsFD, "commands"); what.Commands {
		s.commands = whose.Begin(sock, ring, store)
	} else {
		sock.Close()
	}
	tells.begin(s.commands)
	err = claimWorkspace(store, what)
	if err == nil {
		s.layers, err = openLayers(store, what)
	}
	if err == nil && what.Replicated && what.TellHost {
		err = tellHost(store, what)
	}
	if err == nil {
		err = store.AddHolds(holds(what.Hold))
	}
	if err == nil {
		// Also while the mount is made. What arrives over the socket is not subject to it.
		err = confine.Server(append([]string{store.Path()}, store.Parents()...), dirs(what)...)
	}
	if err != nil {
		store.Discard()
		return nil, err
	}
	return s, nil
}

// keep is how much history is to stay.
func keep(what *control.Serve) sqlvfs.Keep {
	k, own := sqlvfs.DefaultKeep, &what.Checkpoints
	if own.Most > 0 {
		k.Checkpoints = int(min(own.Most, math.MaxInt32))
	}
	if own.Days > 0 {
		k.For = time.Duration(min(own.Days, 36500)) * 24 * time.Hour
	}
	if own.Bytes > 0 {
		k.Bytes = int64(min(own.Bytes, math.MaxInt64))
	}
	return k
}

// mount serves the tree on a mount, and the layers on those that arrive after it.
func (s *server) mount(m received, mounts <-chan received) (err error) {
	s.overlay.Appear(m.ids)
	s.overlay.KeepPlaces(placePaths(s.what.Places))
	s.backfilled = s.overlay.Backfill(fs.BackfillLimits{MaxFile: int64(s.what.Kept), AtEnd: keepLast})
	if s.tree, err = begin(s.what, s.overlay, m.ids); err != nil {
		return err
	}
	if s.mfs, err = fs.Serve(m.fd, s.tree, s.authors(), logf); err != nil {
		return err
	}
	return s.beside.serve(s.layers, mounts, s.authors())
}

// authors are who knows whose changes are; nil if nobody does.
func (s *server) authors() fs.Authors {
	switch {
	case s.commits != nil:
		return s.commits
	case s.commands != nil:
		return s.commands
	}
	return nil
}

// run waits until all is unmounted, and commits what is left.
func (s *server) run(db string) error {
	log := logSession(s.store, s.flows, s.what.PID, s.what.Command, os.Stdin)
	tellOnSignal(s.mfs)
	lost := s.mfs.Join(context.Background())
	s.beside.join()
	if s.commands != nil {
		s.commands.End()
	}
	changed := s.store.Changed()
	if tree, ok := s.tree.(*filetree.Tree); ok {
		tree.End()
	}
	s.backfilled()
	s.beside.end()
	s.writer.End()
	logged := log.end()
	err := s.store.Close()
	s.commits.end()
	if err != nil {
		hint := ""
		if errors.Is(err, syscall.ENOSPC) {
			hint = "make room, or allow a larger database (limits.database): what waits is committed as soon as there is room while the session runs"
		}
		return cli.WithHint(fmt.Errorf("commit to %s: %w", db, err), hint)
	}
	if logged != nil {
		logf("all is saved, but the session's end is not in the log: %v", logged)
	}
	_, err = os.Stdout.Write(control.Marshal(&control.Report{Broken: s.overlay.Broken(), Changed: changed, Dropped: uint64(s.store.Dropped())}))
	if lost != nil {
		return fmt.Errorf("serve: %w", lost)
	}
	return err
}

// clients serves who connects to the session for its tree, until art closes the socket.
func (s *server) clients(sock *os.File) {
	defer close(s.flows.told)
	var written []uint64
	for {
		m, err := control.Receive(sock)
		switch {
		case err != nil:
			sock.Close()
			return
		case m.Kind == control.Client:
			go s.writer.Serve(os.NewFile(uintptr(m.FD), "client"), written)
			written = nil
		case m.Kind == control.GuestSocket:
			go s.writer.ServeGuest(os.NewFile(uintptr(m.FD), "guest"))
		case m.Kind == control.Flows:
			s.flows.add(m.List)
		case m.Kind == control.Written:
			written = m.Inodes
		case m.FD >= 0:
			unix.Close(m.FD)
		}
	}
}

// begin puts what is mounted in the home into the tree.
func begin(what *control.Serve, overlay *fs.Overlay, as fs.Caller) (fs.FileSystem, error) {
	if len(what.Places)+len(what.Files) == 0 {
		return overlay, nil
	}
	return filetree.Begin(overlay, as, what.Places, what.Files, os.NewFile(control.FilesFD, "files"), logf)
}

// placePaths are where mounts are in the tree.
func placePaths(places []files.Place) (paths []string) {
	for _, p := range places {
		paths = append(paths, p.Path)
	}
	return paths
}

// dirs are the directories of the host that are shown.
func dirs(what *control.Serve) []string {
	dirs := []string{what.Base}
	for _, l := range what.Layers {
		dirs = append(dirs, l.Dir)
	}
	return dirs
}

func holds(patterns []hold.Pattern) (all []sqlvfs.Hold) {
	for _, p := range patterns {
		all = append(all, sqlvfs.Hold{Pattern: p.Text, Why: p.Why})
	}
	return all
}

// claim makes sure that a base is the directory that it was, of the workspace or of a layer.
func claim(store *sqlvfs.Store, base, name string, opt identity.Options) error {
	dir, err := os.OpenFile(base, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	defer dir.Close()
	return identity.Claim(context.Background(), store, dir, base, name, opt)
}

func claimWorkspace(store *sqlvfs.Store, what *control.Serve) error {
	return claim(store, what.Base, what.Name, identity.Options{Adopt: what.Adopt, Learn: true, Beside: beside(what)})
}

// beside says when the workspace may be new in the database.
func beside(what *control.Serve) identity.Beside {
	switch {
	case what.Named:
		return identity.Always
	case what.Sole:
		return identity.Never
	}
	return identity.WithOthers
}

// tellOnSignal writes on SIGUSR1, to standard error, what the kernel has asked for so far.
func tellOnSignal(mfs *fs.Mounted) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			fmt.Fprintf(os.Stderr, "%s: wasted polls: %v\n%[1]s: operations: %[3]s\n", prog, mfs.WastedPolls(), mfs.Operations())
		}
	}()
}

// refuse tells the stage why there will be no file system; the stage tells the user. It stays until
// the stage has gone, which may only be about to send the mount.
func refuse(sock *os.File, err error) {
	_ = control.Send(sock, -1, control.Failure(err))
	for {
		m, err := control.Receive(sock)
		if err != nil {
			return
		}
		if m.FD >= 0 {
			unix.Close(m.FD)
		}
	}
}

func logf(format string, args ...any) {
	cli.Fail(prog, fmt.Errorf(format, args...))
}

// openOverlay opens a database and puts it over a workspace, if one is given. The database, its parents and forks, and what
// is to be hidden are left out of that, and what lies beside what is to be shown.
func openOverlay(db, base, name string, how sqlvfs.Options, session bool, hide, show []string) (*sqlvfs.Store, *fs.Overlay, error) {
	store, err := openWith(db, how)
	if err != nil {
		return nil, nil, err
	}
	opt := fs.OverlayOptions{Store: store, Name: name, Watches: fs.WatchShare(), Logf: logf}
	if session {
		opt.Owner = &fs.Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	}
	if base != "" {
		if unfinished(store, base) {
			store.Close()
			return nil, nil, cli.WithHint(fmt.Errorf("workspace %s: a pull from %s into it was killed half-way", base, db),
				"let it finish first: art pull -m "+base+" -d "+db)
		}
		forks, err := store.ForksBelow(base)
		if err == nil {
			opt.Base, err = fs.OpenHost(base, slices.Concat(hide, []string{db}, store.Parents(), forks)...)
		}
		if err == nil {
			err = opt.Base.ShowOnly(show...)
		}
		if err == nil && how.At != "" {
			err = leaveOutReplaced(store, opt.Base, name, how.At)
		}
		if err != nil {
			store.Close()
			return nil, nil, fmt.Errorf("open workspace: %w", err)
		}
	}
	overlay, err := fs.NewOverlay(opt)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return store, overlay, nil
}
