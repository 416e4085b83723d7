package fs

import (
	"fmt"
	"testing"
)

// The kernel has the beginning of a directory from its cache, and asks another open directory for
// the rest, after entries have come, gone and been copied up.
func TestDirectoryIsReadOnFromAnotherOpening(t *testing.T) {
	const staying = 40
	s := newSession(t)
	for i := range staying {
		s.plant(fmt.Sprintf("d/base-%d", i), nil)
	}
	for i := range staying {
		s.write(fmt.Sprintf("ws/d/delta-%d", i), nil, 0)
	}
	dir, err := s.lstat("ws/d")
	s.must(err)
	for beginning := range 2 * staying {
		s.write("ws/d/goes", nil, 0)
		seen := map[string]int{}
		offset := uint64(0)
		read := func(n int) {
			s.must(s.overlay.ReadDir(dir.Ino, offset, false, func(e DirEntry) bool {
				if n == 0 {
					return false
				}
				n--
				seen[e.Name]++
				offset = e.Offset
				return true
			}))
		}
		read(beginning)
		s.must(s.unlink("ws/d/goes"))
		s.write("ws/d/comes", nil, 0)
		mode := uint32(0o600)
		s.must(s.setattr(fmt.Sprintf("ws/d/base-%d", beginning%staying), SetAttr{Mode: &mode}))
		read(-1)
		s.must(s.unlink("ws/d/comes"))
		for i := range staying {
			for _, name := range []string{fmt.Sprintf("base-%d", i), fmt.Sprintf("delta-%d", i)} {
				if seen[name] != 1 {
					t.Fatalf("%s was listed %d times, where the second reading began at entry %d", name, seen[name], beginning)
				}
			}
		}
	}
}

// Offsets that collide are told apart.
func TestOffsetsAreDistinct(t *testing.T) {
	list := []dirent{{name: "b"}, {name: "a"}, {name: "b"}, {name: "c"}, {name: "b"}}
	place(list)
	for i := 1; i < len(list); i++ {
		if list[i].offset <= list[i-1].offset {
			t.Errorf("%+v", list)
		}
	}
}
