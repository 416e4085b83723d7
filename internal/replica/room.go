package replica

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/superfly/ltx"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// Mostly the database, its log and what waits are on one disk, and what the guest writes is in the log first, then in what waits, and at last in the
// database. Where there is no room for all of that, the copy gives way to the session: without it the log is copied into the database and begins anew.

const (
	// A disk is short of room where a sixteenth of it is left, within these bounds.
	shortMost, shortLeast = 16 << 20, 2 << 20
	// leftFree is what the session's server leaves free for what makes room (sqlvfs/room.go).
	leftFree = 1 << 20
	// keptCopied is how many bytes of copied files stay for Litestream to merge, where there is room: it reads the others at the place.
	keptCopied = 64 << 20
	// worthLeaving is how much has to be gained for the copy to give way.
	worthLeaving = 1 << 20
)

// room is how much the disk of a directory still takes of this user. What the kernel does not know is without end.
type room struct{ free, size uint64 }

func roomOf(dir string) room {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Blocks == 0 || s.Bsize <= 0 {
		return room{math.MaxUint64, math.MaxUint64}
	}
	blocks := s.Bavail
	if os.Geteuid() == 0 {
		blocks = s.Bfree
	}
	return room{blocks * uint64(s.Bsize), s.Blocks * uint64(s.Bsize)}
}

// little is how much of a disk is little room.
func (r room) little() uint64 { return min(max(r.size/16, shortLeast), shortMost) }

// short tells whether there is no room for the log and what waits.
func (j *Job) short() bool {
	if r := j.room(j.what.Kept); r.free < r.little() {
		return true
	}
	// The server has the database grow by half of what is free, since what it grows by is in the log first; and while the log cannot be copied into it, by
	// no more than that.
	r, grown := j.room(filepath.Dir(j.what.Database)), int64(0)
	if size := j.databaseSize(); size > 0 {
		grown = size - sizeOf(j.what.Database)
	}
	return int64(min(r.free, math.MaxInt64/2))/2-leftFree/2-max(grown, 0) < int64(r.little())
}

// databaseSize is how large the database is with what is in its log; 0: that is not known.
func (j *Job) databaseSize() (bytes int64) {
	db := j.db.SQLDB() // Litestream's own, see file
	if db == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = db.QueryRowContext(ctx, "SELECT page_count*page_size FROM pragma_page_count, pragma_page_size").Scan(&bytes) // or the next time
	return bytes
}

// watchRoom calls letGo when there is no room for the log and what waits.
func (j *Job) watchRoom(ctx context.Context, letGo func()) {
	every := time.NewTicker(look)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if !j.short() {
			j.forgetCopied(keptCopied)
			continue
		}
		if j.forgetCopied(0) > worthLeaving {
			continue // that may be enough
		}
		if uint64(sizeOf(j.what.Database+"-wal"))+bytesBelow(j.what.Kept) > worthLeaving {
			letGo()
			return
		}
	}
}

// awaitRoom waits until there is room for a copy of the whole database beside it, or for the end of the session, when nobody writes the log.
func (j *Job) awaitRoom(end <-chan struct{}) {
	for {
		r := j.room(j.what.Kept)
		need := uint64(sizeOf(j.what.Database)+sizeOf(j.what.Database+"-wal")) + 4*r.little()
		if r.free >= need {
			return
		}
		behind := time.Now()
		if !j.since.IsZero() {
			behind = j.since
		}
		j.say(control.ReplicaState{Behind: milliseconds(behind), Why: fmt.Sprintf("what waits for it in %s has no room: %s are free there, and it may take %s",
			j.what.Kept, cli.Bytes(int64(min(r.free, math.MaxInt64))), cli.Bytes(int64(need)))})
		select {
		case <-end:
			return
		case <-time.After(time.Second):
		}
	}
}

// forgetCopied removes files that are at the place, but for so many bytes of the newest, and the last, which Litestream goes on from. It
// returns how many bytes were removed.
func (j *Job) forgetCopied(but uint64) (removed uint64) {
	pos, err := j.db.Pos()
	if err != nil {
		return 0
	}
	dir := j.db.LTXLevelDir(0)
	entries, _ := os.ReadDir(dir) // in the order of their numbers
	for _, e := range slices.Backward(entries) {
		_, last, err := ltx.ParseFilename(e.Name())
		if err != nil || last >= pos.TXID || last > j.db.Replica.Pos().TXID {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if size := uint64(info.Size()); size <= but {
			but -= size
		} else if os.Remove(filepath.Join(dir, e.Name())) == nil {
			but = 0
			removed += size
		}
	}
	return removed
}

// sizeOf is the size of a file; 0: there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// bytesBelow is how many bytes the files in a directory and below it have.
func bytesBelow(dir string) (bytes uint64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was just removed
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return bytes
}
