package fs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What the host has in the place of something else is not taken for that: neither the path itself nor what is below it.
func TestHostReplaced(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"new", "same", "dir/in", "dirs/in"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := OpenHost(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Replaced(map[string]bool{"new": true, "dir": true, "gone": true})
	top, err := h.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	for path, want := range map[string]error{"new": syscall.ESTALE, "gone": syscall.ESTALE, "dir": syscall.ESTALE, "dir/in": syscall.ESTALE,
		"same": nil, "dirs/in": nil, "not": syscall.ENOENT} {
		if _, _, err := h.Lstat(path); !errors.Is(err, want) {
			t.Errorf("lstat %s: %v, want %v", path, err, want)
		}
		if _, _, err := top.Lstat(path); !errors.Is(err, want) {
			t.Errorf("lstat %s in the open directory: %v, want %v", path, err, want)
		}
		f, err := h.Open(path)
		if !errors.Is(err, want) {
			t.Errorf("open %s: %v, want %v", path, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
}
