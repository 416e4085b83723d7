package sqlvfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A file that has lost most of its content becomes smaller: while nothing happens, or at the end of the
// session.
func TestFileShrinks(t *testing.T) {
	for _, when := range []string{"idle", "end"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			s := openTest(t, path)
			kept := bytes.Repeat([]byte("content"), 100_000)
			must(t, s.WriteAt(create(t, s, "kept", syscall.S_IFREG|0o600), kept, 0, nil, Now()))
			const large = 20 << 20
			for i := range 10 {
				in := create(t, s, fmt.Sprint(i), syscall.S_IFREG|0o600)
				must(t, s.WriteAt(in, make([]byte, large/10), 0, nil, Now()))
				put(s, in)
			}
			must(t, s.Close())
			size := func() int64 {
				st, err := os.Stat(path)
				must(t, err)
				return st.Size()
			}
			if size() < large {
				t.Fatalf("the file has %d bytes", size())
			}

			s = openTest(t, path)
			for i := range 10 {
				in := lookup(t, s, fmt.Sprint(i))
				step(s, func(tx *Tx) {
					must(t, tx.Unlink(tx.Root(), fmt.Sprint(i)))
					in.Attr.Nlink--
					tx.Dirty(in)
					tx.Put(in)
				})
			}
			if when == "idle" {
				for start := time.Now(); size() > large/4; time.Sleep(20 * time.Millisecond) {
					if time.Since(start) > 30*maintainAfter {
						t.Fatalf("the file still has %d bytes", size())
					}
				}
				if !bytes.Equal(content(t, s, lookup(t, s, "kept")), kept) {
					t.Error("content differs")
				}
			}
			must(t, s.Close())
			if size() > large/4 {
				t.Errorf("the file still has %d bytes", size())
			}
			must(t, checkClean(path))
			s = openTest(t, path)
			defer s.Close()
			if !bytes.Equal(content(t, s, lookup(t, s, "kept")), kept) {
				t.Error("content differs")
			}
		})
	}
}
