package sqlvfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/fsck"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A database that is replicated leaves its log, durable, to a process that reads it, and keeps its identity. What that process writes in it
// is not another program's, once it has said so.
func TestReplicated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	open := func(o Options) *Store {
		t.Helper()
		o.Create, o.Root = true, NewRoot()
		s, err := Open(path, o)
		must(t, err)
		return s
	}
	id := func() string {
		t.Helper()
		s := open(Options{ReadOnly: true})
		defer s.Close()
		id, err := Query(s, (*Tx).ID)
		must(t, err)
		return id
	}
	must(t, open(Options{}).Close())
	if got := id(); got != "" {
		t.Errorf("one that is not replicated has the identity %q", got)
	}
	s := open(Options{Replicated: true})
	_, err := s.Checkpoint(ByUser, "mine")
	must(t, err)
	other, err := database.Connect(path, sqlite3.OPEN_READWRITE, database.HostFiles)
	must(t, err)
	must(t, other.Exec("BEGIN; SELECT count(*) FROM fs_inode"))
	put(s, create(t, s, "f", syscall.S_IFREG|0o600))
	must(t, s.Close())
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		t.Errorf("the log: %v", err)
	}
	if statesLeft(path) {
		t.Error("it says how it was left while another process has it")
	}
	must(t, other.Exec("COMMIT; CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"))
	must(t, other.Close())
	first := id()
	if len(first) != 32 {
		t.Errorf("the identity is %q", first)
	}

	// The other process leaves it as a store does.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	must(t, ForgetLeft(f))
	must(t, f.Close())
	must(t, open(Options{}).Close())
	if !statesLeft(path) {
		t.Error("it does not say how it was left")
	}
	s = open(Options{Replicated: true})
	if found := s.OtherProgram(); found != nil {
		t.Error(found)
	}
	// Without another process, the end is as always.
	put(s, create(t, s, "g", syscall.S_IFREG|0o600))
	must(t, s.Close())
	if _, err := os.Stat(path + "-wal"); err == nil || !statesLeft(path) {
		t.Errorf("the log is there: %v; it says how it was left: %v", err == nil, statesLeft(path))
	}
	if again := id(); again != first {
		t.Errorf("the identity was %q, and is %q", first, again)
	}
	if damage, err := fsck.Check(path); err != nil || len(damage) > 0 {
		t.Errorf("check: %v %v", damage, err)
	}
}
