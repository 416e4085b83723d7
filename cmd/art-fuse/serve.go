package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/peterbourgon/ff/v3/ffcli"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/confine"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

const serveUsage = `usage: art-fuse serve --db FILE [--base DIR --name NAME [--adopt] [--hide FILE]... [--show PATH]... [--layer KIND:DEV:INO:DIR]... [--layer-hide FILE]... [--tracked INDEX]] [--kept BYTES] [--place KIND:PATH]... [--file MODE:PATH]... [--files FD] [--hold PATTERN<tab>WHY]... --control FD

Serve an overlay on a mounted /dev/fuse descriptor that arrives over the
SOCK_SEQPACKET socket FD. This is how art uses it; see 'art-fuse mount'.
Of a directory in DIR that holds a PATH, relative to DIR, nothing else is shown.
Each layer is another directory of the host, with a mount of its own that arrives
after the first one: git, tree, of which only what INDEX tracks is shown, or mount.
Each place is a mount point in the tree, file or dir; each file one of the host's,
rw or overlay, that arrives over the socket of --files. They are gone at the end.
What fits a PATTERN, a pull from DB is to hold back from now on.
On SIGUSR1 it prints how many operations of each kind the kernel asked for,
and how long it polled for requests when none came.
`

// Of files that the guest has changed in part, those of up to keepWhole bytes are copied into the database, if
// the settings say nothing else.
// What is left of that, and of the hashes of larger ones, may take keepLast at the end of a session: without its hash a
// large one cannot be read any more once the host has touched it.
const (
	keepWhole = 16 << 20
	keepLast  = 5 * time.Second
)

type serveConfig struct {
	db, base, name string
	adopt          bool
	hide, show     []string
	layers         []layer
	layerHide      []string
	tracked        string
	control        int
	kept           int64
	places         []files.Place
	files          []files.File
	sock           int // to the host's side of the files
	hold           []sqlvfs.Hold
}

func serveCommand() *ffcli.Command {
	var cfg serveConfig
	set := flag.NewFlagSet("art-fuse serve", flag.ContinueOnError)
	set.StringVar(&cfg.db, "db", "", "")
	set.StringVar(&cfg.base, "base", "", "")
	set.StringVar(&cfg.name, "name", "", "")
	set.BoolVar(&cfg.adopt, "adopt", false, "")
	set.Func("hide", "", func(path string) error {
		cfg.hide = append(cfg.hide, path)
		return nil
	})
	set.Func("show", "", func(path string) error {
		cfg.show = append(cfg.show, path)
		return nil
	})
	set.Func("layer", "", func(text string) error {
		l, err := parseLayer(text)
		cfg.layers = append(cfg.layers, l)
		return err
	})
	set.Func("layer-hide", "", func(path string) error {
		cfg.layerHide = append(cfg.layerHide, path)
		return nil
	})
	set.StringVar(&cfg.tracked, "tracked", "", "")
	set.Int64Var(&cfg.kept, "kept", keepWhole, "")
	set.IntVar(&cfg.control, "control", -1, "")
	set.Func("place", "", func(text string) error {
		kind, path, err := pathOf(text, "file", "dir")
		cfg.places = append(cfg.places, files.Place{Path: path, Directory: kind == "dir"})
		return err
	})
	set.Func("file", "", func(text string) error {
		kind, path, err := pathOf(text, "rw", "overlay")
		cfg.files = append(cfg.files, files.File{Path: path, Overlay: kind == "overlay"})
		return err
	})
	set.IntVar(&cfg.sock, "files", -1, "")
	set.Func("hold", "", func(text string) error {
		p, err := hold.Parse(text)
		cfg.hold = append(cfg.hold, sqlvfs.Hold{Pattern: p.Text, Why: p.Why})
		return err
	})
	return &ffcli.Command{
		Name:      "serve",
		FlagSet:   set,
		UsageFunc: func(*ffcli.Command) string { return serveUsage },
		Exec: func(context.Context, []string) error {
			if cfg.db == "" || cfg.control < 3 {
				return errors.New("serve needs --db and --control")
			}
			return serve(cfg)
		},
	}
}

// serve is the life of an overlay session's server. It ends when the mount does, not by signals: a
// Ctrl-C meant for the payload must not take the payload's files away.
func serve(cfg serveConfig) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	control := os.NewFile(uintptr(cfg.control), "control")
	unix.CloseOnExec(cfg.control)

	// Opening the database and waiting for the mount take about as long; do both at once. The stage is
	// told when it can hide the database's files, and again when it can have the guest's looked at.
	mounts := receive(control, 1+len(cfg.layers))
	tell := func(what string) func() {
		return func() {
			if err := libexec.SendFD(control, -1, []byte(what)); err != nil {
				logf("%v", err)
			}
		}
	}
	store, overlay, err := openOverlay(cfg.db, cfg.base, cfg.name, sqlvfs.Options{Create: true, Placed: tell("opened")}, true, cfg.hide, cfg.show)
	if err == nil && cfg.base != "" {
		if err = claim(store, cfg.base, cfg.name, cfg.adopt); err != nil {
			store.Discard()
		}
	}
	if err != nil {
		refuse(control, err)
		return reported{err}
	}
	layers, err := openLayers(store, cfg)
	if err == nil {
		err = store.AddHolds(cfg.hold)
	}
	if err == nil {
		// Also while the mount is made. What arrives over the socket is not subject to it.
		err = confine.Server(store.Path(), cfg.dirs()...)
	}
	if err != nil {
		refuse(control, err)
		store.Discard()
		return reported{err}
	}
	m := <-mounts
	if m.err != nil {
		// The stage died before it had mounted anything; it has said why.
		return errors.Join(reported{m.err}, store.Discard())
	}
	overlay.Appear(m.ids)
	keep := overlay.Keep(fs.Keeping{Whole: cfg.kept, Last: keepLast})
	tree, err := cfg.begin(overlay, m.ids)
	var mfs *fs.Mounted
	if err == nil {
		mfs, err = fs.Serve(m.fd, tree, logf)
	}
	var beside servedLayers
	if err == nil {
		err = beside.serve(layers, mounts)
	}
	if err != nil {
		refuse(control, err)
		store.Discard()
		return reported{err}
	}
	tell("ready")()
	control.Close()
	log := logSession(store, os.Stdin)
	tellOnSignal(mfs)
	if err := mfs.Join(context.Background()); err != nil {
		logf("serve: %v", err)
	}
	beside.join()
	changed := store.Changed()
	if tree, ok := tree.(*files.Tree); ok {
		tree.End()
	}
	keep()
	beside.end()
	if err := log.end(); err != nil {
		logf("%v", err)
	}
	if err := store.Close(); err != nil {
		return fmt.Errorf("commit to %s: %w", cfg.db, err)
	}
	report(overlay.Broken(), changed)
	return nil
}

// begin puts what is mounted in the home into the tree.
func (cfg *serveConfig) begin(overlay *fs.Overlay, as fs.Caller) (fs.FileSystem, error) {
	if len(cfg.places)+len(cfg.files) == 0 {
		return overlay, nil
	}
	return files.Begin(overlay, as, cfg.places, cfg.files, os.NewFile(uintptr(cfg.sock), "files"), logf)
}

// pathOf takes the kind from a path of the tree that has it in front.
func pathOf(text string, kinds ...string) (kind, path string, err error) {
	kind, path, _ = strings.Cut(text, ":")
	if !slices.Contains(kinds, kind) || !filepath.IsLocal(path) || filepath.Clean(path) != path {
		err = fmt.Errorf("%q is not %s and a path", text, strings.Join(kinds, " or "))
	}
	return kind, path, err
}

// dirs are the directories of the host that are shown.
func (cfg *serveConfig) dirs() (dirs []string) {
	if cfg.base != "" {
		dirs = append(dirs, cfg.base)
	}
	for _, l := range cfg.layers {
		dirs = append(dirs, l.dir)
	}
	return dirs
}

// claim makes sure that a base is the directory that it was, of the workspace or of a layer.
func claim(store *sqlvfs.Store, base, name string, adopt bool) error {
	dir, err := os.OpenFile(base, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	defer dir.Close()
	return identity.Claim(context.Background(), store, dir, base, name, identity.Options{Adopt: adopt, Learn: true})
}

// report tells art what to say at the end: the files that the host has broken, each followed by NUL,
// then an empty one, and after it whether anything was changed.
func report(broken []string, changed bool) {
	for _, path := range broken {
		fmt.Printf("%s\x00", path)
	}
	fmt.Print("\x00")
	if changed {
		fmt.Print("changed")
	}
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
func refuse(control *os.File, err error) {
	hint := ""
	var h cli.Hinted
	if errors.As(err, &h) {
		hint = h.Hint()
	}
	oneLine := strings.NewReplacer("\n", " ").Replace
	libexec.SendFD(control, -1, []byte("error\n"+oneLine(err.Error())+"\n"+oneLine(hint)))
	for {
		fd, _, err := libexec.RecvFD(control)
		if err != nil {
			return
		}
		unix.Close(fd)
	}
}

func logf(format string, args ...any) {
	cli.Fail(prog, fmt.Errorf(format, args...))
}

// openOverlay opens a database and puts it over a workspace, if one is given. The database and what
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
		if opt.Base, err = fs.OpenHost(base, append(hide, db)...); err == nil {
			err = opt.Base.ShowOnly(show...)
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
