package history

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// A scratch fork is left if nobody holds it, whatever process has its number here: that of another PID namespace has none, and numbers come
// again.
func TestLeftIsWhatNobodyHolds(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "a.db")
	s, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	must(t, err)
	defer s.Close()
	for _, pid := range []int{1, os.Getppid(), 1 << 30} {
		path := filepath.Join(dir, fmt.Sprintf("a+.merge-%d-0.db", pid))
		if command, nth, ok := workspace.ScratchOf(path); !ok || command != "merge" || nth != 0 {
			t.Fatalf("%s is no scratch fork", path)
		}
		secret := sqlvfs.NewSecret()
		_, err := s.AddFork(path, secret, "")
		must(t, err)
		held, err := lock.HoldScratch(db, filepath.Base(path))
		must(t, err)
		if list, err := left(db, s); err != nil || len(list) > 0 {
			t.Errorf("process %d: held: left are %v, %v", pid, list, err)
		}
		must(t, held.Close())
		if list, err := left(db, s); err != nil || len(list) != 1 {
			t.Errorf("process %d: not held: left are %v, %v", pid, list, err)
		}
		must(t, s.DropFork(secret))
	}
}
