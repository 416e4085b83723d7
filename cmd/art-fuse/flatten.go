package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/sqlvfs"
)

func runFlatten(c *flags.Command, args []string, stdout io.Writer) error {
	var base, name string
	line, err := c.Parse(args, map[string]any{"base": &base, "name": &name})
	if err == nil {
		err = place.Here(line.Words[0])
	}
	if err != nil {
		return err
	}
	if base, name, err = workspace(base, name); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return flatten(ctx, stdout, line.Words[0], base, name)
}

// guestFiles are what guests see of a workspace's .art. The secrets beside them are in no database.
var guestFiles = []string{".art/config/sandbox.json", ".art/config/binds.json"}

// flatten copies into a database what it has in the workspace base on the host.
func flatten(ctx context.Context, stdout io.Writer, db, base, name string) error {
	store, err := openWith(db, sqlvfs.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := checkBase(store, db, base, name); err != nil {
		return err
	}
	if base == "" {
		_, err := fmt.Fprintf(stdout, "%s is self-contained: nothing of it is on the host\n", db)
		return err
	}
	hidden, err := config.Hidden(os.Getenv, base)
	if err != nil {
		return err
	}
	host, err := fs.OpenHost(base, append(hidden, db)...)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	defer host.Close()
	if err := host.ShowOnly(guestFiles...); err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	overlay, err := fs.NewOverlay(fs.OverlayOptions{
		Store: store, Base: host, Name: name,
		Logf: func(string, ...any) {}, // what it would say, Failed does
	})
	if err != nil {
		return err
	}
	c := newCount(term.IsTerminal(int(os.Stderr.Fd())))
	err = overlay.Flatten(ctx, fs.FlattenOptions{Progress: c.add, Failed: c.fail})
	c.progress.Erase()
	if cerr := store.Close(); err == nil {
		err = cerr
	}
	switch {
	case errors.Is(err, context.Canceled):
		return cli.WithHint(errors.New("interrupted"), "the database is sound; run the command again to go on")
	case err != nil:
		return fmt.Errorf("write %s: %w", db, err)
	case c.failures > 0:
		return cli.WithHint(fmt.Errorf("%d paths could not be copied; all others are in %s", c.failures, db),
			"a file that was changed in part needs the version that it was taken from; in a session, replace or remove it")
	}
	if err := othersLeft(db); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s is self-contained: %d files and directories and %d bytes came from the host\n", db, c.objects, c.bytes)
	return err
}

// count is how far the work is.
type count struct {
	objects, failures int
	bytes             int64
	progress          *cli.Progress
	terminal          bool
}

// newCount counts for somebody at a terminal, or for nobody.
func newCount(terminal bool) *count {
	return &count{terminal: terminal, progress: newProgress("flatten", terminal)}
}

func (c *count) add(objects int, bytes int64) {
	c.objects += objects
	c.bytes += bytes
	c.progress.Add(objects, bytes)
}

func (c *count) fail(path string, err error) {
	c.failures++
	c.progress.Erase()
	cli.Fail(prog, fmt.Errorf("%s: %w", quote.Name(path, c.terminal), err))
}

// checkBase refuses a workspace that cannot be the one that the database lies over, and none where
// one is needed.
func checkBase(store *sqlvfs.Store, db, base, name string) error {
	origins, total, err := originsOf(store)
	switch {
	case err != nil || total == 0 || origins[name] > 0:
		return err
	case base == "":
		return cli.WithHint(fmt.Errorf("%s is not self-contained: %d of its files and directories have their content on the host", db, total),
			"name the directory of the workspace "+names(store, origins)+" with --base")
	}
	return cli.WithHint(fmt.Errorf("%s lies over the workspace %s and not over %s", db, names(store, origins), name),
		"give the name with --name, if "+base+" is that directory")
}

// othersLeft says that the database lies over another workspace too.
func othersLeft(db string) error {
	store, err := openStore(db, false)
	if err != nil {
		return err
	}
	defer store.Close()
	origins, total, err := originsOf(store)
	if err != nil || total == 0 {
		return err
	}
	return cli.WithHint(fmt.Errorf("%s lies over the workspace %s too: %d of its files and directories have their content there", db, names(store, origins), total),
		"run the command again with that directory")
}

func originsOf(store *sqlvfs.Store) (byName map[string]int, total int, err error) {
	byName, err = sqlvfs.Query(store, (*sqlvfs.Tx).Origins)
	for _, n := range byName {
		total += n
	}
	return byName, total, err
}

// names are the workspaces for people; of other directories of the host that the database lies over, the paths.
func names(store *sqlvfs.Store, origins map[string]int) string {
	list, err := sqlvfs.Query(store, (*sqlvfs.Tx).Workspaces)
	words := slices.Sorted(maps.Keys(origins))
	for i, name := range words {
		if at := slices.IndexFunc(list, func(w sqlvfs.Workspace) bool { return w.Name == name }); err == nil && at >= 0 && sqlvfs.IsLayer(name) {
			words[i] = quote.Name(list[at].Path, true)
		}
	}
	return strings.Join(words, ", ")
}
