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
