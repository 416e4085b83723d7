package sqlvfs

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Where a disk is full of the log and of what another process has made of it, that process gives way, and what the guest writes has room.
func TestFullDiskOfWhoReadsTheLog(t *testing.T) {
	const size, kept, content = 24 << 20, 6 << 20, 14 << 20
	path := filepath.Join(t.TempDir(), "a.db")
	s := openFull(t, path, size, true, Options{Replicated: true})
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.Sync())
	other, err := database.Connect(path, sqlite3.OPEN_READWRITE, database.HostFiles)
	must(t, err)
	must(t, other.Exec("BEGIN; SELECT count(*) FROM fs_inode"))
	waits := filepath.Join(filepath.Dir(path), "kept")
	must(t, os.WriteFile(waits, make([]byte, kept), 0o600))
	left := make(chan error, 1)
	var wrote atomic.Int64
	go func() {
		for before := int64(-1); before != wrote.Load(); time.Sleep(250 * time.Millisecond) { // it looks some times a second
			before = wrote.Load()
		}
		err := os.Remove(waits)
		if err == nil {
			err = other.Close()
		}
		left <- err
	}()
	part := random(256 << 10)
	for at := int64(0); at < content; at += int64(len(part)) {
		if err := s.WriteAt(in, part, at, nil, Now()); err != nil {
			t.Fatalf("write at %d: %v", at, err)
		}
		wrote.Add(1)
	}
	must(t, s.Sync())
	must(t, <-left)
	put(s, in)
	must(t, s.Close())
	if got := names(t, path)["f"]; got != content {
		t.Errorf("the file has %d bytes", got)
	}
}
