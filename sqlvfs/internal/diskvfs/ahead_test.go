package diskvfs

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// counted is a file in memory that counts how often it is read.
type counted struct {
	vfs.File
	content *bytes.Reader
	reads   int
}

func (f *counted) ReadAt(p []byte, off int64) (int, error) {
	f.reads++
	return f.content.ReadAt(p, off)
}

func newCounted(pages int) (*counted, []byte) {
	content := make([]byte, pages*page)
	rand.NewChaCha8([32]byte{}).Read(content)
	return &counted{content: bytes.NewReader(content)}, content
}

const page = 4096

// Pages in order, with some left out, are one read of the file, or two if it is not known where they begin.
func TestAheadReadsOnce(t *testing.T) {
	for _, c := range []struct {
		after int64
		reads int
	}{{0, 2}, {10 * page, 1}} {
		inner, content := newCounted(200)
		f := &File{File: inner}
		end := f.Ahead(80*page, c.after)
		p := make([]byte, page)
		for i := 10; i < 90; i++ {
			if i%16 == 0 {
				continue // one of the tree, which SQLite has
			}
			if n, err := f.ReadAt(p, int64(i)*page); n != page || err != nil || !bytes.Equal(p, content[i*page:(i+1)*page]) {
				t.Fatalf("page %d: %d bytes, %v", i, n, err)
			}
		}
		if inner.reads != c.reads {
			t.Errorf("after %d: %d reads, want %d", c.after, inner.reads, c.reads)
		}
		if got := end(); got != 90*page {
			t.Errorf("it ends at %d", got)
		}
	}
}

// Whatever is asked for, it is what the file has; and nothing of it is from before the end of a transaction.
func TestAheadReadsWhatIsThere(t *testing.T) {
	inner, content := newCounted(40)
	f := &File{File: inner}
	random := rand.New(rand.NewPCG(1, 2))
	off := int64(0)
	for range 2000 {
		end := f.Ahead(page*(1+random.IntN(20)), off)
		for range random.IntN(10) {
			if random.IntN(3) == 0 {
				off = random.Int64N(45) * page
			}
			p := make([]byte, 1+random.IntN(page))
			want := content[min(off, int64(len(content))):]
			want = want[:min(len(want), len(p))]
			n, err := f.ReadAt(p, off)
			if !bytes.Equal(p[:n], want) || n < len(p) != errors.Is(err, io.EOF) {
				t.Fatalf("%d bytes at %d: %d, %v", len(p), off, n, err)
			}
			off += int64(page)
		}
		end()
		i := random.IntN(40) * page
		content[i]++ // and with it what the file has
	}
}
