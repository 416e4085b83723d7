package sqlvfs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
)

// A file is a picture of chunks, one letter each: '-' is a hole, 'T' the origin's, 'H' held. Writes, truncations and holes
// change the picture as they change the file, whatever of it is committed, and also when it is loaded anew.
func TestStretchesAndBlocks(t *testing.T) {
	const chunk, most = int64(DefaultChunkSize), 9
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, _ := failing(t)
			f := create(t, s, "f", syscall.S_IFREG|0o600)
			rnd := rand.New(rand.NewPCG(seed, 1))
			picture := []byte{}
			var base *bytes.Reader
			if seed%2 == 1 {
				picture = []byte("TTTT")
				base = bytes.NewReader(bytes.Repeat([]byte("o"), int(4*chunk)))
				must(t, s.Update(func(tx *Tx) error {
					f.Attr.Size = 4 * chunk
					tx.SetOrigin(f, &Origin{Base: "b", Path: "p", Number: uint64(MaxIno), Limit: f.Attr.Size})
					return nil
				}))
			}
			lengthen := func(chunks int64) {
				picture = append(picture, bytes.Repeat([]byte("-"), int(max(0, chunks-int64(len(picture)))))...)
			}
			for range 300 {
				from := rnd.Int64N(most)
				n := 1 + rnd.Int64N(2)
				switch what := rnd.IntN(100); {
				case what < 40: // whole chunks, or a byte
					p := make([]byte, n*chunk)
					if what < 10 {
						p, n = p[:1], 1
					}
					must(t, s.WriteAt(f, p, from*chunk, base, Now()))
					lengthen(from + n)
					copy(picture[from:], bytes.Repeat([]byte("H"), int(n)))
					must(t, s.Truncate(f, int64(len(picture))*chunk, base, Now())) // the picture has no half chunks
				case what < 55:
					must(t, s.Truncate(f, from*chunk, base, Now()))
					lengthen(from)
					picture = picture[:from]
				case what < 70:
					must(t, s.change(base, func(tx *Tx) error {
						_, err := tx.Zero(f, from*chunk, n*chunk, true, Now())
						return err
					}))
					for i := from; i < min(from+n, int64(len(picture))); i++ {
						// In front of more of the origin, zeros must be kept.
						if picture[i] = '-'; slices.Contains(picture[i:], 'T') && f.Origin.Limit > i*chunk {
							picture[i] = 'H'
						}
					}
				case what < 90:
					s.Sync()
				default:
					must(t, s.Sync())
					must(t, s.View(func(tx *Tx) (err error) {
						tx.Put(f)
						f, err = tx.Get(f.Ino)
						return err
					}))
				}
				checkPicture(t, s, f, string(picture))
			}
		})
	}
}

func checkPicture(t *testing.T, s *Store, f *Inode, want string) {
	t.Helper()
	must(t, s.View(func(tx *Tx) error {
		got, taken := "", int64(0)
		for off := int64(0); off < f.Attr.Size; {
			kind, end, err := tx.Stretch(f, off)
			if err != nil || end <= off || end > f.Attr.Size {
				t.Fatalf("a stretch [%d, %d) of %d bytes: %v", off, end, f.Attr.Size, err)
			}
			if kind != Hole {
				taken += end - off
			}
			for ; off < end; off += tx.chunkSize {
				got += "-HT"[kind : kind+1]
			}
		}
		blocks, err := tx.Blocks(f)
		if got != want || err != nil || blocks != taken/512 {
			t.Fatalf("%s, %d blocks, %v; want %s, %d blocks", got, blocks, err, want, taken/512)
		}
		return nil
	}))
}
