package home

import (
	"os"
	"path/filepath"
	"testing"
)

// A home that was made for a use that has come to nothing goes with it, unless somebody else has it, or has put something
// there.
func TestAbandon(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	homes, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	use := func(name string) *Home {
		t.Helper()
		h, err := Use(name)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	there := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(homes)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if len(got) != len(want) {
			t.Errorf("%q is there, want %q", got, want)
		}
	}
	h := use("a")
	if _, err := h.Place("x/y", true); err != nil {
		t.Fatal(err)
	}
	h.Abandon()
	h.Close()
	there()

	h = use("a")
	if err := os.WriteFile(filepath.Join(h.Path, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.Abandon()
	there(".a", "a")

	h = use("b")
	other := use("b")
	h.Abandon()
	there(".a", ".b", "a", "b")
	other.Abandon() // it was there before
	there(".a", ".b", "a", "b")

	h = use("c")
	h.Close()
	there(".a", ".b", ".c", "a", "b", "c")
}
