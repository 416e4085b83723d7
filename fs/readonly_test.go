package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// A file whose content is the host's is found by who only reads the database, also if the host has changed it since.
func TestLookupOfWhatTheHostHasChanged(t *testing.T) {
	s := newSession(t)
	s.plant("f", []byte("old"))
	mode := uint32(0o600)
	s.must(s.setattr("ws/f", SetAttr{Mode: &mode}))
	s.forget()
	s.must(s.store.Close())
	s.must(os.WriteFile(filepath.Join(s.base, "f"), []byte("longer"), 0o600))
	store, err := sqlvfs.Open(s.db, sqlvfs.Options{ReadOnly: true})
	s.must(err)
	overlay, err := NewOverlay(OverlayOptions{Store: store, Base: s.host, Name: workspace})
	s.must(err)
	found := make(chan Entry)
	go func() {
		ws, err := overlay.Lookup(RootIno, workspace)
		s.must(err)
		e, err := overlay.Lookup(ws.Ino, "f")
		s.must(err)
		found <- e
	}()
	select {
	case e := <-found:
		if e.Attr.Size != int64(len("longer")) {
			t.Errorf("it has %d bytes", e.Attr.Size)
		}
		s.must(store.Close())
	case <-time.After(20 * time.Second):
		t.Fatal("it is looked for without an end")
	}
}
