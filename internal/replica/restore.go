package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// Copy is one at a place.
type Copy struct {
	store *store
	tag   string // of Who
	Who   *Head
	// Progress, if not nil, is told what is fetched to bring it back.
	Progress *cli.Progress
	kept     string // the directory for the hashes of its pages; "" if they are not kept
}

// Find looks for a copy at a place.
func Find(ctx context.Context, url string) (*Copy, error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // errors that count are told by this package
	s, err := open(ctx, url)
	c := &Copy{store: s}
	if err == nil {
		c.Who, c.tag, err = readHead(ctx, s.own)
	}
	if err == nil && c.Who == nil {
		err = &noCopyError{}
	}
	return c, err
}

// noCopyError says that a place holds nothing.
type noCopyError struct{}

func (*noCopyError) Error() string { return "there is no copy of a database" }
func (*noCopyError) Hint() string {
	return "the place is named as it was by --replicate, or in the settings with the database's name behind it"
}

// Restore brings a copy back as the database at path, where there is none, as it was at a time, or as it is at the end. What is there
// then has passed the check of [fsck].
func (c *Copy) Restore(ctx context.Context, path string, at time.Time) error {
	if err := vacant(path); err != nil {
		return err
	}
	// Under another name until all is well, in the same directory: Landlock keeps this process from moving files between directories on
	// kernels before 5.19 (landlock(7), LANDLOCK_ACCESS_FS_REFER).
	removeStale(filepath.Dir(path))
	made := filepath.Join(filepath.Dir(path), unfinished+rand.Text()[:10]+".db")
	unlock, err := lockBeside(made)
	if err != nil {
		return err
	}
	defer unlock()
	defer removeMade(made)
	done := make(chan error, 1)
	go func() { done <- c.make(ctx, made, at) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(interruptedMost): // it is in a system call, or checks the database; this process ends
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE); errors.Is(err, unix.EEXIST) {
		return vacant(path)
	} else if err != nil {
		return fmt.Errorf("put it at %s: %w", path, err)
	}
	return syncDirectory(filepath.Dir(path))
}

const (
	// unfinished begins the names of what is being brought back.
	unfinished = ".art-restore-"
	// interruptedMost is how long that may take to end once it was interrupted.
	interruptedMost = 2 * time.Second
)

// removeStale removes what processes have left in a directory that were killed while they brought something back.
func removeStale(dir string) {
	entries, _ := os.ReadDir(dir) // or the next time
	for _, e := range entries {
		name, lock := strings.CutSuffix(e.Name(), ".lock")
		if !lock || !strings.HasPrefix(name, unfinished) {
			continue
		}
		made := filepath.Join(dir, name)
		if unlock, err := lockBeside(made); err == nil {
			removeMade(made)
			unlock()
		}
	}
}

func removeMade(made string) {
	for _, suffix := range []string{"", ".tmp", "-wal", "-shm"} {
		os.Remove(made + suffix)
	}
}

// make brings the database back and checks it.
func (c *Copy) make(ctx context.Context, made string, at time.Time) error {
	if err := c.bring(ctx, made, at); err != nil {
		return err
	}
	if err := os.Chmod(made, 0o600); err != nil {
		return cli.Reason(err)
	}
	damage, err := fsck.Check(made)
	if err == nil && len(damage) > 0 {
		err = fmt.Errorf("%v", damage[0])
	}
	if err != nil {
		return spoilt(err)
	}
	return settle(made)
}

// isDamage tells whether what was read of a file is why it could not be brought back.
func isDamage(err error) bool {
	for _, known := range []error{errFrames, ltx.ErrInvalidFile, ltx.ErrChecksumMismatch, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return true
		}
	}
	return err != nil && (strings.Contains(err.Error(), "invalid ltx file") || strings.Contains(err.Error(), "decompress"))
}

func spoilt(err error) error {
	return cli.WithHint(fmt.Errorf("the copy is damaged: %w", err), "an earlier state may be sound: --at TIME")
}

// vacant makes sure that there is no database at a path, nor what is left of one.
func vacant(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			return cli.WithHint(fmt.Errorf("%s is there already, and stays as it is", path+suffix), "name another database with --db DB, or move that away")
		}
	}
	return nil
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return cli.Reason(err)
	}
	defer d.Close()
	return cli.Reason(d.Sync())
}

// bring brings the database back as it was at a time.
func (c *Copy) bring(ctx context.Context, path string, at time.Time) error {
	g, client, plan, err := c.plan(ctx, at)
	if err != nil {
		return err
	}
	c.expect(plan)
	options := litestream.NewRestoreOptions()
	options.OutputPath, options.TXID = path, plan[len(plan)-1].MaxTXID
	if err = litestream.NewReplicaWithClient(nil, &watchedClient{client, c.Progress}).Restore(ctx, options); err == nil {
		if c.kept != "" && c.noteBrought(ctx, path, g, options.TXID) != nil {
			_ = forgetPages(c.kept) // the next session copies the whole database
		}
		err = remember(path, c.Who.Place, position(g.ID, options.TXID))
	}
	if isDamage(err) {
		return spoilt(err)
	}
	return explain(err)
}

// plan finds the newest generation that has a state of a time, and the files that this is made of, oldest first.
func (c *Copy) plan(ctx context.Context, at time.Time) (g Generation, client litestream.ReplicaClient, plan []*ltx.FileInfo, err error) {
	var since time.Time
	for _, g = range slices.Backward(c.Who.Generations) {
		if client, err = c.store.generation(c.Who, g); err != nil {
			return g, nil, nil, err
		}
		files, err := list(ctx, client, !at.IsZero())
		if err != nil {
			return g, nil, nil, explain(err)
		}
		plan, err = litestream.CalcRestorePlan(ctx, files, 0, at, slog.Default())
		switch {
		case err != nil && (at.IsZero() && files.last() > 0 || !errors.Is(err, litestream.ErrTxNotAvailable)):
			return g, nil, nil, incomplete(err)
		case err == nil && at.IsZero() && c.Who.lacks(position(g.ID, plan[len(plan)-1].MaxTXID)):
			return g, nil, nil, incomplete(errors.New("the newest files are missing"))
		case err == nil:
			return g, client, plan, nil
		}
		if begins, _, err := litestream.NewReplicaWithClient(nil, files).TimeBounds(ctx); err != nil {
			return g, nil, nil, explain(err)
		} else if !begins.IsZero() {
			since = begins
		}
	}
	if at.IsZero() || since.IsZero() {
		return g, nil, nil, cli.WithHint(errors.New("nothing was copied there yet"), "the session that copies there says why")
	}
	return g, nil, nil, cli.WithHint(fmt.Errorf("the copy has no state of %s: it goes back to %s", at.Local().Format(time.DateTime), since.Local().Format(time.DateTime)),
		"name a later time, or leave --at out")
}

// incomplete says that files of a copy are gone, which somebody else has removed.
func incomplete(err error) error {
	return cli.WithHint(fmt.Errorf("the copy is not whole: %w", err), "somebody has removed files of it; --at TIME may bring an earlier state back")
}

// expect says how much is to be fetched.
func (c *Copy) expect(plan []*ltx.FileInfo) {
	if c.Progress == nil {
		return
	}
	var bytes int64
	for _, file := range plan {
		bytes += file.Size
	}
	c.Progress.Phase("bring the copy back")
	c.Progress.Expect(0, bytes)
}

// watchedClient tells how much is read of a copy.
type watchedClient struct {
	litestream.ReplicaClient
	progress *cli.Progress // or nil
}

func (c *watchedClient) OpenLTXFile(ctx context.Context, level int, from, to ltx.TXID, offset, size int64) (io.ReadCloser, error) {
	r, err := c.ReplicaClient.OpenLTXFile(ctx, level, from, to, offset, size)
	if err != nil || c.progress == nil {
		return r, err
	}
	return &watchedReader{r, c.progress}, nil
}

type watchedReader struct {
	io.ReadCloser
	progress *cli.Progress
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.progress.Add(0, int64(n))
	return n, err
}
