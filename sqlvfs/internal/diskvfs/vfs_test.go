package diskvfs

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// synced is a file of which only Sync is called.
type synced struct{ vfs.File }

func (synced) Sync(vfs.SyncFlag) error { return nil }

// A log whose name could not be synced is not durable; the next sync tries again.
func TestNameIsSyncedUntilItIs(t *testing.T) {
	fail := errors.New("no")
	calls := 0
	f := &File{File: synced{}, syncName: func() error {
		calls++
		return fail
	}}
	if err := f.Sync(vfs.SYNC_FULL); !errors.Is(err, fail) {
		t.Errorf("sync: %v", err)
	}
	fail = nil
	for range 2 {
		if err := f.Sync(vfs.SYNC_FULL); err != nil {
			t.Error(err)
		}
	}
	if calls != 2 {
		t.Errorf("the name was synced %d times", calls)
	}
}

// syncedLog is a log that counts how often it is synced.
type syncedLog struct {
	vfs.File
	size  int64
	syncs int
}

func (c *syncedLog) Sync(vfs.SyncFlag) error { c.syncs++; return nil }
func (c *syncedLog) Size() (int64, error)    { return c.size, nil }

// Of a log that has never held anything, the header is synced with what follows it, and the name with both.
func TestHeaderOfFreshLogWaits(t *testing.T) {
	for _, c := range []struct {
		name         string
		before       int64 // bytes in it when it is said to be fresh
		first, later int   // syncs after that of the header, and after another
	}{
		{"fresh", 0, 0, 1},
		{"used", 1000, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, names := &syncedLog{size: c.before}, 0
			f := &File{File: log, isLog: true, syncs: &syncs{}, syncName: func() error { names++; return nil }}
			f.Fresh()
			log.size = logHeader
			for i, want := range []int{c.first, c.later, c.later + 1} {
				if err := f.Sync(vfs.SYNC_FULL); err != nil || log.syncs != want {
					t.Errorf("sync %d: the log was synced %d times, not %d; %v", i, log.syncs, want, err)
				}
			}
			if names != 1 {
				t.Errorf("the name was synced %d times", names)
			}
		})
	}
	// What was written behind the header counts.
	log := &syncedLog{}
	f := &File{File: log, isLog: true, syncs: &syncs{}}
	f.Fresh()
	log.size = logHeader + frameHeader
	if err := f.Sync(vfs.SYNC_FULL); err != nil || log.syncs != 1 {
		t.Errorf("a log with a frame was synced %d times; %v", log.syncs, err)
	}
}
