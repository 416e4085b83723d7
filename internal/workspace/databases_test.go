package workspace

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

func TestDatabasesBeside(t *testing.T) {
	if applicationID != sqlvfs.ApplicationID {
		t.Errorf("databases are marked with %#x", sqlvfs.ApplicationID)
	}
	dir := t.TempDir()
	write := func(name string, size int, id uint32) {
		text := make([]byte, size)
		copy(text, "SQLite format 3\x00")
		binary.BigEndian.PutUint32(text[68:], id)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("own.db", 4096, applicationID)
	write("other", 4096, applicationID)
	write("short", 100, applicationID)
	write("foreign.db", 4096, 1)
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Beside(filepath.Join(dir, "own.db")); !slices.Equal(got, []string{filepath.Join(dir, "other")}) {
		t.Errorf("%q", got)
	}
	if got := Beside(filepath.Join(dir, "none", "x.db")); got != nil {
		t.Errorf("%q", got)
	}
}
