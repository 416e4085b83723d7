package sqlvfs

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

func holds(t *testing.T, s *Store) []Hold {
	t.Helper()
	return ask(t, s, (*Tx).Holds)
}

func TestHoldsAreRemembered(t *testing.T) {
	path := t.TempDir() + "/a.db"
	s := openTest(t, path)
	want := []Hold{{"a", "why"}, {"b/", "why not"}}
	must(t, s.AddHolds(want))
	must(t, s.AddHolds([]Hold{{"a", "another reason"}}))
	if s.Changed() {
		t.Error("that alone is a change")
	}
	if got := holds(t, s); !slices.Equal(got, want) {
		t.Errorf("not committed yet: %q", got)
	}
	must(t, s.Sync())
	if got := holds(t, s); !slices.Equal(got, want) {
		t.Errorf("committed: %q", got)
	}
	must(t, s.Close())

	s, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	if got := holds(t, s); !slices.Equal(got, want) {
		t.Errorf("read: %q", got)
	}
	if err := s.AddHolds([]Hold{{"c", "x"}}); err != ErrReadOnly {
		t.Error(err)
	}
	must(t, s.Close())

	// They are known before what comes after them, and a repair keeps them.
	s = openTest(t, path)
	must(t, s.AddHolds([]Hold{{"a", "x"}, {"c", "y"}}))
	create(t, s, "file", syscall.S_IFREG|0o644)
	must(t, s.Close())
	alter(t, path, "UPDATE fs_inode SET nlink=77 WHERE ino=2")
	if _, err := fsck.Repair(path, func(fsck.Finding) {}); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	if got := holds(t, s); !slices.Equal(got, append(want, Hold{"c", "y"})) {
		t.Errorf("afterwards: %q", got)
	}
	// What does not fit is refused, and is no reason to forget the rest.
	if err := s.AddHolds([]Hold{{"d", "x"}, {strings.Repeat("x", maxHoldText+1), "y"}}); err == nil {
		t.Error("a pattern of any length is remembered")
	}
	var many []Hold
	for i := range maxHolds {
		many = append(many, Hold{fmt.Sprint("m", i), "x"})
	}
	if err := s.AddHolds(many); err == nil || len(holds(t, s)) != maxHolds {
		t.Errorf("%d are remembered, %v", len(holds(t, s)), err)
	}
	must(t, s.Close())
}

// What others wrote is bounded, and what makes no sense is left out.
func TestHoldsOfOthers(t *testing.T) {
	path := t.TempDir() + "/a.db"
	s := openTest(t, path)
	must(t, s.AddHolds([]Hold{{"!", "first"}}))
	must(t, s.Close())
	alter(t, path, `INSERT INTO fs_config VALUES ('art_hold:', 'x'), ('art_hold', 'x'), ('art_hold;', 'x'), (x'6172745f686f6c643a62', 'blob'),
		('art_hold:"' || hex(zeroblob(300)), 'long'), ('art_hold:#', hex(zeroblob(300))), ('art_hold:$', 7);
		WITH n(i) AS (SELECT 1 UNION SELECT i+1 FROM n WHERE i < 1000) INSERT INTO fs_config SELECT 'art_hold:x' || i, 'y' FROM n`)
	s = openTest(t, path)
	list := holds(t, s)
	if len(list) > maxHolds || list[0] != (Hold{"!", "first"}) || list[1] != (Hold{"$", "7"}) || !strings.HasPrefix(list[2].Pattern, "x") {
		t.Errorf("%d: %q", len(list), list[:3])
	}
	must(t, s.Close())
}
