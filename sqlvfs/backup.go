package sqlvfs

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// backupStep is how much is copied at a time, in bytes.
const backupStep = 4 << 20

// Backup copies a database into a new file, for its owner alone: page by page, as the last commit
// left it. A session may be running, and goes on meanwhile. The file is there whole and durable, or
// not at all; one that has the name already is left alone, and the error is fs.ErrExist. step is
// told how many bytes were copied since the last call. An end of ctx ends the work.
//
// Damage is copied too; fsck.Check finds it. The copy of a fork is none: it has all that the fork reads from its parent.
func Backup(ctx context.Context, path, file string, step func(bytes int64)) (err error) {
	defer database.CatchOutOfMemory(&err)
	if _, err := database.Inspect(path, true, false); err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s: %w", file, fs.ErrExist)
	}
	c, err := database.ConnectReadOnly(path, database.HostFiles)
	if err != nil {
		return database.Explain(err)
	}
	defer c.Close()
	// One read transaction: otherwise the copy starts anew when a session commits meanwhile
	// (https://sqlite.org/backup.html, "Using the API").
	if err := c.Exec("BEGIN"); err != nil {
		return database.Explain(err)
	}
	if _, _, err := database.Marks(c.Conn); err != nil {
		return database.Explain(err)
	}
	n, err := database.MakeNew(file)
	if err != nil {
		return err
	}
	defer n.Discard()
	if err := copyPages(ctx, c, n.Tmp, step); err != nil {
		return database.Explain(err)
	}
	if err := makeIndependent(n.Tmp); err != nil {
		return database.Explain(err)
	}
	if err := forgetContinues(n.Tmp); err != nil {
		return database.Explain(err)
	}
	return n.Place(false)
}

// copyPages copies a database into an empty file. Whether that survives a power cut is the
// caller's care.
func copyPages(ctx context.Context, c *conn, to string, step func(bytes int64)) error {
	pageSize, err := database.PragmaInt(c.Conn, "page_size")
	if err != nil {
		return err
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: to, RawQuery: database.HostFiles + "&_pragma=journal_mode(off)&_pragma=synchronous(off)"}
	b, err := c.BackupInit("main", u.String())
	if err != nil {
		return err
	}
	defer b.Close()
	for left := int64(-1); ; {
		done, err := b.Step(int(max(backupStep/pageSize, 1)))
		if err != nil {
			return err
		}
		if left < 0 {
			left = int64(b.PageCount())
		}
		step((left - int64(b.Remaining())) * pageSize)
		left = int64(b.Remaining())
		if done {
			return b.Close()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
