package sqlvfs

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// While the disk takes nothing, changes wait as soon as so much is not committed: of content, and of
// names. When it takes them again, all is made.
func TestWhatWaitsForTheDiskIsBounded(t *testing.T) {
	const limit = 2 << 20
	for name, change := range map[string]func(s *Store, f *Inode, i int) error{
		"content": func(s *Store, f *Inode, i int) error {
			return s.WriteAt(f, make([]byte, 64<<10), int64(i)<<16, nil, Now())
		},
		"names": func(s *Store, f *Inode, i int) error {
			for j := range 1000 {
				err := s.Update(func(tx *Tx) error {
					in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1})
					if err != nil {
						return err
					}
					defer tx.Put(in)
					return tx.Link(tx.Root(), fmt.Sprint(i, "-", j), in)
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "names" && testing.Short() {
				t.Skip("they are many")
			}
			path := filepath.Join(t.TempDir(), "a.db")
			s, err := Open(path, Options{Create: true, Root: rootAttr, MaxDirty: limit})
			must(t, err)
			f := create(t, s, "f", syscall.S_IFREG|0o600)
			must(t, s.Sync())
			blocker, err := sqlite3.Open(path)
			must(t, err)
			defer blocker.Close()
			must(t, blocker.Exec("BEGIN IMMEDIATE"))

			const changes = 100
			made := make(chan error, changes)
			go func() {
				for i := range changes {
					made <- change(s, f, i)
				}
				close(made)
			}()
			waiting := func() (bytes, rows int) {
				step(s, func(tx *Tx) {
					bytes, rows = tx.gather.bytes, tx.gather.size()
					if tx.inflight != nil {
						bytes, rows = bytes+tx.inflight.bytes, rows+tx.inflight.size()
					}
				})
				return bytes, rows
			}
			for last := 0; last == 0 || last != len(made); time.Sleep(500 * time.Millisecond) {
				last = len(made)
			}
			bytes, rows := waiting()
			if bytes > limit+64<<10 || rows > maxRows+10 {
				t.Errorf("%d bytes in %d rows wait for the disk", bytes, rows)
			}
			if n := len(made); n == 0 || n == changes {
				t.Errorf("%d of %d changes are made", n, changes)
			}

			must(t, blocker.Exec("ROLLBACK"))
			for err := range made {
				must(t, err)
			}
			put(s, f)
			must(t, s.Close())
			must(t, checkClean(path))
		})
	}
}
