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
		step(s, func(tx *Tx) { tx.SetJournal(want) })
		must(t, s.Close())
		s = openTest(t, path)
		if got := ask(t, s, (*Tx).Journal); !reflect.DeepEqual(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		must(t, s.Close())
	}
}
