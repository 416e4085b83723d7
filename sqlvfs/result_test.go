package sqlvfs

import (
	"path/filepath"
	"testing"
)

// What is remembered has a bound, also where another program has written it.
func TestResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := Open(path, Options{Create: true, Root: rootAttr})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []string{"", "one", "two"} {
		if want != "" {
			if err := s.SetResult([]byte(want)); err != nil {
				t.Fatal(err)
			}
		}
		if is, err := s.Result(); err != nil || string(is) != want {
			t.Fatalf("%q, %v", is, err)
		}
	}
	if err := s.SetResult(make([]byte, MaxResult+1)); err == nil {
		t.Fatal("a result beyond the bound is kept")
	}
	if err := s.atWriter(func(w *writer) error {
		return do(w.conn, "INSERT OR REPLACE INTO main.fs_config (key, value) VALUES (?, zeroblob(?))", keyResult, int64(MaxResult+1))
	}); err != nil {
		t.Fatal(err)
	}
	if is, err := s.Result(); err != nil || is != nil {
		t.Fatalf("%d bytes, %v", len(is), err)
	}
}
