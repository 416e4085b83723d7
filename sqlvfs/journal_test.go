package sqlvfs

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	for _, want := range [][][]byte{nil, {[]byte("one"), []byte("two")}, {[]byte("three")}, nil} {
		s := openTest(t, path)
		s.mu.Lock()
		s.tx.SetJournal(want)
		s.mu.Unlock()
		must(t, s.Close())
		s = openTest(t, path)
		s.mu.Lock()
		got, err := s.tx.Journal()
		s.mu.Unlock()
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		must(t, s.Close())
	}
}
