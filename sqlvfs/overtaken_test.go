package sqlvfs

import (
	"bytes"
	"io"
	"path/filepath"
	"syscall"
	"testing"
)

// slowBase is an origin's content; what comes in between while it is read is done.
type slowBase struct {
	io.ReaderAt
	meanwhile func()
}

func (b *slowBase) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.ReaderAt.ReadAt(p, off)
	if do := b.meanwhile; do != nil {
		b.meanwhile = nil
		do()
	}
	return n, err
}

// A chunk is written in part, and while the rest of it is read from the base, another write replaces
// all of it and is committed, so that nothing of it is left in memory. What was read is old then.
func TestWriteWhileAnotherReadsTheRestOfItsChunk(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	old := bytes.Repeat([]byte("old"), DefaultChunkSize)
	step(s, func(tx *Tx) {
		tx.SetOrigin(in, &Origin{Base: "ws", Path: "f", Limit: int64(len(old))})
		in.Attr.Size = int64(len(old))
		tx.Dirty(in)
	})

	base := &slowBase{ReaderAt: bytes.NewReader(old)}
	want := bytes.Clone(old)
	second := bytes.Repeat([]byte("new"), DefaultChunkSize)[:DefaultChunkSize]
	base.meanwhile = func() {
		must(t, s.WriteAt(in, second, DefaultChunkSize, nil, Now()))
		must(t, s.Sync())
	}
	must(t, s.WriteAt(in, []byte("X"), DefaultChunkSize+7, base, Now()))
	copy(want[DefaultChunkSize:], second)
	want[DefaultChunkSize+7] = 'X'

	got := make([]byte, len(want))
	if _, err := s.ReadAt(in, got, 0, base); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the first write has brought back what the second replaced")
	}
}
