package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// What a session that copies its database elsewhere does about what is on the host alone, before its command begins.

// flattenFirst makes a database self-contained, if it is not. It does so by an opening of its own, before the session's: what comes from the host
// is nothing that the session has done, nor its checkpoint before that. A database whose work was interrupted is sound, and gone on with the next time.
func flattenFirst(ctx context.Context, db string, what *control.Serve) error {
	store, overlay, err := openOverlay(db, what.Base, what.Name, sqlvfs.Options{Create: true}, true, what.Hide, what.Show)
	if err != nil {
		return err
	}
	defer store.Close()
	if len(store.Parents()) > 0 {
		return nil // which is refused as such
	}
	if err := claimWorkspace(store, what); err != nil {
		return err
	}
	needed, err := onHost(store)
	if err != nil || len(needed) == 0 {
		return err
	}
	if others := slices.DeleteFunc(needed, func(w sqlvfs.Workspace) bool { return w.Name == what.Name }); len(others) > 0 || len(what.Layers) > 0 {
		for _, l := range what.Layers {
			others = append(others, sqlvfs.Workspace{Path: l.Dir})
		}
		return cli.WithHint(fmt.Errorf("make %s self-contained: it lies over %s too", db, places(others)),
			"art-fuse flatten --base takes in another workspace; what a mount of mode overlay or a linked worktree needs stays on the host: leave --flatten out there, or say --flatten=false")
	}
	c := newCount(what.Terminal)
	err = overlay.Flatten(ctx, fs.FlattenOptions{Progress: c.add, Failed: c.fail})
	c.progress.Erase()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(os.Stderr, "art: interrupted: %s is sound, and the next session with --flatten goes on with it\n", quote.Name(db, true))
		return err
	case err != nil:
		return fmt.Errorf("make %s self-contained: %w", db, err)
	case c.failures > 0:
		return cli.WithHint(fmt.Errorf("make %s self-contained: %d paths could not be copied", db, c.failures),
			"let the guest not see them, with --hide, or make them readable; or leave --flatten out: the copy then lacks what no session has changed")
	}
	if left, err := onHost(store); err != nil {
		return err
	} else if len(left) > 0 {
		return fmt.Errorf("make %s self-contained: a part of it is still in %s", db, places(left))
	}
	if what.TellHost {
		fmt.Fprintf(os.Stderr, "art: %s is self-contained now: %d files and directories and %s came from the host\n", quote.Name(db, true), c.objects, cli.Bytes(c.bytes))
	}
	return store.Close()
}

// whileOpen returns a context that ends when nobody has the other side of a socket any more. It reads nothing.
func whileOpen(sock *os.File) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			gone := []unix.PollFd{{Fd: int32(sock.Fd()), Events: unix.POLLRDHUP}}
			if n, err := unix.Poll(gone, int(lookGone/time.Millisecond)); err == nil && n > 0 {
				cancel()
			}
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}

// lookGone is how often it is looked whether what is watched for is still wanted.
const lookGone = 20 * time.Millisecond

// onHost is what a database has on the host alone.
func onHost(store *sqlvfs.Store) ([]sqlvfs.Workspace, error) {
	if err := store.Sync(); err != nil {
		return nil, err
	}
	return sqlvfs.Query(store, (*sqlvfs.Tx).OnHost)
}

// places are directories of the host for people.
func places(list []sqlvfs.Workspace) string {
	var words []string
	for _, w := range list {
		if w.Path == "" {
			w.Path = w.Name
		}
		words = append(words, quote.Name(w.Path, true))
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return strings.Join(words, ", ")
}

// tellHost says of a database that is copied for the first time what the copy will lack.
func tellHost(store *sqlvfs.Store, what *control.Serve) error {
	if known, err := sqlvfs.Query(store, (*sqlvfs.Tx).Continues); err != nil || len(known) > 0 {
		return err
	}
	needed, err := onHost(store)
	if err != nil {
		return err
	}
	needed = slices.DeleteFunc(needed, func(w sqlvfs.Workspace) bool { return w.Name == what.Name && hasNothing(what.Base, store.Path()) })
	offer := ": --flatten has it go along"
	if len(needed) != 1 || needed[0].Name != what.Name {
		offer = "" // it is refused
	}
	if len(needed) > 0 {
		fmt.Fprintf(os.Stderr, "art: the copy will lack what no session has changed of %s%s\n", places(needed), offer)
	}
	return nil
}

// hasNothing tells whether a directory is empty.
func hasNothing(path, database string) bool {
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer dir.Close()
	empty, err := identity.Empty(dir, database)
	return err == nil && empty
}
