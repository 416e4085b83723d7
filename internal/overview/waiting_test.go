package overview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// hears calls heard when something is written.
type hears struct {
	strings.Builder
	heard func()
}

func (h *hears) Write(text []byte) (int, error) {
	h.heard()
	return h.Builder.Write(text)
}

// Who removes a database, or gives it another place, waits for a process that is about to close it, and says so.
func TestRemovingWaits(t *testing.T) {
	for what, do := range map[string]func(path string, said *hears) error{
		"remove": func(path string, said *hears) error {
			return Remove(t.Context(), "", path, RemoveOptions{Stderr: said, Force: true})
		},
		"adopt": func(path string, said *hears) error {
			return Adopt(path, workspace.Workspace{Database: path + ".moved"}, func(pid int) { fmt.Fprintf(said, "waiting for process %d", pid) })
		},
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot()})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := lock.Take(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		used := new(sqlvfs.InUseError)
		if err := do(path, &hears{heard: func() {}}); !errors.As(err, &used) || used.PID != os.Getpid() {
			t.Errorf("%s what is in use: %v", what, err)
		}
		lock.SayLeaving(f)
		end := time.AfterFunc(time.Minute/2, func() { f.Close() })
		said := &hears{heard: func() { f.Close() }}
		err = do(path, said)
		end.Stop()
		if want := fmt.Sprintf("waiting for process %d", os.Getpid()); err != nil || !strings.Contains(said.String(), want) {
			t.Errorf("%s: said %q, %v", what, said, err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the database is there: %v", what, err)
		}
	}
}
