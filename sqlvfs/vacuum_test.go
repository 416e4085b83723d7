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

// Half of a tree that is deleted stays as history until that is thinned; then the disk has it back.
func TestThinnedHistoryGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	const files, each = 20, 2 << 20
	for i := range files {
		in := create(t, s, fmt.Sprint(i), syscall.S_IFREG|0o600)
		must(t, s.WriteAt(in, random(each), 0, nil, Now()))
		put(s, in)
	}
	_, err := s.Checkpoint(ByUser, "whole")
	must(t, err)
	for i := range files / 2 {
		in := lookup(t, s, fmt.Sprint(i))
		step(s, func(tx *Tx) {
			must(t, tx.Unlink(tx.Root(), fmt.Sprint(i)))
			in.Attr.Nlink--
			tx.Dirty(in)
			tx.Put(in)
		})
	}
	_, err = s.Checkpoint(ByUser, "half")
	must(t, err)
	size := func() int64 {
		must(t, s.Close())
		st, err := os.Stat(path)
		must(t, err)
		return st.Size()
	}
	if n := size(); n < files*each {
		t.Fatalf("with the history of all of it the file has %d bytes", n)
	}
	s = openTest(t, path)
	if n, err := s.Thin(Keep{Checkpoints: 1}); n != 1 || err != nil {
		t.Errorf("%d checkpoints were dropped: %v", n, err)
	}
	if n := size(); n > files*each*6/10 {
		t.Errorf("half of the files are gone, and the file still has %d bytes", n)
	}
	must(t, checkClean(path))
}
