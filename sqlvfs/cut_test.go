package sqlvfs

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// A file is emptied and written anew in one batch, and cut shorter in the next while the first is
// being committed. The end of the first commit must not leave the file's start hidden: it is stored
// now, and only what the second cut takes is still void.
func TestCutWhileAnEarlierCutIsCommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	defer s.Close()
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(in, bytes.Repeat([]byte("old"), DefaultChunkSize), 0, nil, Now()))
	must(t, s.Sync())

	must(t, s.Truncate(in, 0, nil, Now()))
	data := bytes.Repeat([]byte("new"), DefaultChunkSize)
	must(t, s.WriteAt(in, data, 0, nil, Now()))
	blocker, err := sqlite3.Open(path)
	must(t, err)
	defer blocker.Close()
	must(t, blocker.Exec("BEGIN IMMEDIATE"))
	synced := make(chan error, 1)
	go func() { synced <- s.Sync() }()
	for committing := false; !committing; time.Sleep(time.Millisecond) {
		step(s, func(tx *Tx) { committing = tx.inflight != nil })
	}
	must(t, s.Truncate(in, 2*DefaultChunkSize, nil, Now()))
	must(t, blocker.Exec("ROLLBACK"))
	must(t, <-synced)

	// A write to a part of the chunk makes what is read of the rest permanent.
	must(t, s.WriteAt(in, []byte("X"), 7, nil, Now()))
	data = data[:2*DefaultChunkSize]
	data[7] = 'X'
	if !bytes.Equal(content(t, s, in), data) {
		t.Error("content differs")
	}
	must(t, s.Sync())
	if !bytes.Equal(content(t, s, in), data) {
		t.Error("content differs after the second commit")
	}
}
