package fs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel opens files without asking, so the host may put another in the place of one between its
// opening and its reading, or move the directory that it is in.

func TestReplacedHostFileIsAnotherInode(t *testing.T) {
	s := newSession(t)
	s.plant("f", []byte("one"))
	ino := s.stat("ws/f").Ino
	open, err := s.open("ws/f", unix.O_RDONLY, 0)
	s.must(err)
	s.replace("f", []byte("second"))
	// It was opened just before, and nothing of it was read: what is there now is read, all of it.
	if got, err := readAll(open, 10); err != nil || string(got) != "second" {
		t.Errorf("open file: %q, %v", got, err)
	}
	if e, err := open.stat(); err != nil || e.Attr.Size != 6 {
		t.Errorf("open file: size %d, %v", e.Attr.Size, err)
	}
	if e := s.stat("ws/f"); e.Ino == ino {
		t.Error("the new file has the old one's number")
	}
	s.reads("ws/f", []byte("second"))
	open.Release()
}

// A file of which some was read stays what it was, or fails; it never becomes a mixture.
func TestReplacedHostFileThatIsBeingRead(t *testing.T) {
	for name, forgotten := range map[string]bool{"still open": false, "closed meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.plant("f", noise[:300_000])
			open, err := s.open("ws/f", unix.O_RDONLY, 0)
			s.must(err)
			defer open.Release()
			_, err = open.ReadAt(make([]byte, 1000), 0)
			s.must(err)
			s.replace("f", noise[1:300_000])
			if forgotten {
				for i := range maxOpened {
					name := fmt.Sprint("other", i)
					s.plant(name, noise[:10])
					f, err := s.open("ws/"+name, unix.O_RDONLY, 0)
					s.must(err)
					_, err = f.ReadAt(make([]byte, 1), 0)
					s.must(err)
					f.Release()
				}
			}
			got, err := readAll(open, 1<<17)
			switch {
			case forgotten && err != syscall.ESTALE:
				t.Errorf("%d bytes, %v", len(got), err)
			case !forgotten && (err != nil || !bytes.Equal(got, noise[:300_000])):
				t.Errorf("%s, %v", difference(got, noise[:300_000]), err)
			}
			s.reads("ws/f", noise[1:300_000])
		})
	}
}

// The kernel knows a file by its inode, and goes on with that when the host has moved a directory above
// and the directory is found again elsewhere.
func TestFileBelowADirectoryThatTheHostMoves(t *testing.T) {
	s := newSession(t)
	s.plant("a/b/f", []byte("content"))
	s.plant("d/other", nil)
	open, err := s.open("ws/a/b/f", unix.O_RDWR, 0)
	s.must(err)
	s.must(os.Rename(filepath.Join(s.base, "a"), filepath.Join(s.base, "d/a")))
	s.stat("ws/d/a")
	if got, err := readAll(open, 100); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	s.must(os.Truncate(filepath.Join(s.base, "d/a/b/f"), 3))
	if e, err := open.stat(); err != nil || e.Attr.Size != 3 {
		t.Errorf("size %d, %v", e.Attr.Size, err)
	}
	s.must(open.WriteAt([]byte("C"), 0))
	s.reads("ws/d/a/b/f", []byte("Con"))
	open.Release()
}

// replace puts another file in the place of one of the base.
func (s *session) replace(path string, data []byte) {
	s.t.Helper()
	s.plant(path+"~", data)
	s.must(os.Rename(filepath.Join(s.base, path+"~"), filepath.Join(s.base, path)))
}
