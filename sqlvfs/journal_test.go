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
		s.Lock()
		s.SetJournal(want)
		s.Unlock()
		must(t, s.Close())
		s = openTest(t, path)
		s.Lock()
		got, err := s.Journal()
		s.Unlock()
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		must(t, s.Close())
	}
}
