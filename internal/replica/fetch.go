package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// Fetched is what [Fetch] has found.
type Fetched int

// What it has found.
const (
	Nothing Fetched = iota // neither there nor here
	Here                   // the database that was here goes on from all that is there
	Brought                // it was brought back
	Aside                  // and the one that was here was renamed
)

// LastAside is the path that the database at a path was renamed to, the last time; "" if it never was.
func LastAside(path string) (last string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries { // in order
		if strings.HasPrefix(e.Name(), filepath.Base(path)+control.AsideMark) {
			last = filepath.Join(filepath.Dir(path), e.Name())
		}
	}
	return last
}

// Fetch has the database at path go on from the copy at a place, for a session that is about to begin: it brings that back, if the one that is
// here does not go on from it. Before, it takes the lease for the session with that token, so that nothing is copied there afterwards. In
// the directory kept it leaves what the session needs to copy no more than what it changes. wait is told for whom it waits, and progress, if not nil,
// what is fetched.
func Fetch(ctx context.Context, url, path, kept, token string, takeOver bool, wait func(string), progress *cli.Progress) (Fetched, *Head, error) {
	c, err := Find(ctx, url)
	c.Progress, c.kept = progress, kept
	var none *noCopyError
	if errors.As(err, &none) {
		if _, err := os.Lstat(path); err == nil {
			return Here, nil, nil // its session makes sure that it may be copied there
		}
		return Nothing, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	who := claimant{lease: leaseOf(path, token), takeOver: takeOver}
	here := Nothing
	if _, err := os.Lstat(path); err == nil {
		here = Here
		if who.mine, who.continues, err = identify(path, ""); err != nil {
			return 0, nil, err
		}
		if who.mine.ID != c.Who.ID {
			return 0, nil, &refused{path + " is another database than the copy is of", "move it away, or name the database with --db and the place with --replicate"}
		}
		err := who.heir(ctx, c.store, c.Who, "")
		if err == nil {
			return Here, c.Who, nil // its session takes the lease
		}
		if !errors.As(err, new(*refused)) {
			return 0, nil, err
		}
	}
	made := path + ".fetched"
	unlock, err := lockBeside(made)
	if err != nil {
		return 0, nil, err
	}
	defer unlock()
	defer removeDatabase(made)
	// While a session that may have died is waited for, its copy is brought back: mostly that is all.
	var ahead sync.WaitGroup
	defer ahead.Wait()
	early, stop := context.WithCancel(ctx)
	defer stop()
	// It does not have to go on from anything: nothing is copied by this lease.
	t, err := who.await(ctx, c.store, func(held string) {
		wait(held)
		ahead.Go(func() { _ = c.anew(early, made) }) // or it is brought back later
	})
	if err != nil {
		return 0, nil, err
	}
	release := t.holding(func(*Head) {})
	ahead.Wait()
	err = c.fetch(ctx, t, made, path, here == Here)
	release()
	if err != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
		_ = t.end(ending, func(*Head) {}) // or it runs out
		cancel()
		return 0, nil, err
	}
	// A session that does not come to begin leaves it to the next one with this file.
	t.lease.Machine = leaseOf(path, token).Machine
	if err := t.renew(ctx, func(*Head) {}); err != nil {
		return 0, nil, err
	}
	if here == Here {
		return Aside, c.Who, nil
	}
	return Brought, c.Who, nil
}

// mostRaces bounds the attempts at a place that others change each time.
const mostRaces = 5

// await claims a place for nobody's history, and waits for a session that has died.
func (c *claimant) await(ctx context.Context, s *store, wait func(string)) (*tenure, error) {
	c.fetches = true
	races := 0
	for told := false; ; {
		t, err := c.claim(ctx, s)
		var held *heldError
		switch {
		case errors.As(err, &held):
			if !told {
				wait(held.Error())
			}
			told = true
		case errors.Is(err, errRace) && races < mostRaces:
			races++
		default:
			return t, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// fetch has path be all of the copy, with the lease in hand, and renames what is in its place. made may be the copy as it was earlier.
func (c *Copy) fetch(ctx context.Context, t *tenure, made, path string, aside bool) error {
	c.Who = t.says() // with every generation up to that of this lease
	if !c.whole(ctx, t, made) {
		if err := c.anew(ctx, made); err != nil {
			return err
		}
	}
	if err := goOnFrom(ctx, t, made); err != nil {
		return err
	}
	if aside {
		// It is one file, and no session has it.
		if err := settle(path); err != nil {
			return err
		}
		if _, err := os.Lstat(path + "-wal"); err == nil {
			return cli.WithHint(fmt.Errorf("%s is in use", path), "end the session that has it")
		}
		if err := os.Rename(path, path+control.AsideMark+time.Now().Format("20060102-150405")); err != nil {
			return cli.Reason(err)
		}
	}
	if err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE); err != nil {
		return fmt.Errorf("put it at %s: %w", path, err)
	}
	return syncDirectory(filepath.Dir(path))
}

// goOnFrom has the generation of this lease go on from what was brought back, and the database from all of that. A session that was
// taken over may still write below an older generation, after what was read of it: that is no part of what goes on.
func goOnFrom(ctx context.Context, t *tenure, made string) error {
	_, continues, err := identify(made, "")
	if err != nil {
		return err
	}
	head := t.says()
	if err = t.goOnFrom(ctx, head.shortest(continues[head.Place])); err == nil {
		err = remember(made, head.Place, t.generation.ID)
	}
	if err != nil {
		return err
	}
	return settle(made)
}

// anew brings the copy back as made, of which a killed process may have left something.
func (c *Copy) anew(ctx context.Context, made string) error {
	if err := removeDatabase(made); err != nil {
		return err
	}
	return c.Restore(ctx, made, time.Time{})
}

// whole tells whether made is all that the copy has.
func (c *Copy) whole(ctx context.Context, t *tenure, made string) bool {
	if _, err := os.Lstat(made); err != nil {
		return false
	}
	who := claimant{}
	var err error
	if who.mine, who.continues, err = identify(made, ""); err != nil {
		return false
	}
	return who.heir(ctx, c.store, t.says(), t.generation.ID) == nil
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.Reason(err)
		}
	}
	return nil
}

// lockBeside keeps other processes from bringing a copy back as made, until unlock is called.
func lockBeside(made string) (unlock func(), err error) {
	name := made + ".lock"
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, cli.Reason(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				err = cli.WithHint(errors.New("another session is bringing the copy back here"), "wait for that one, which art ps shows then")
			}
			return nil, err
		}
		mine, merr := f.Stat()
		there, terr := os.Lstat(name)
		if merr == nil && terr == nil && os.SameFile(mine, there) { // otherwise the one before has just removed it
			return func() { os.Remove(name); f.Close() }, nil
		}
		f.Close()
	}
}
