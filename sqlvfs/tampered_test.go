package sqlvfs

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/fsck"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

var tampered = flag.Int("tampered", 60, "how many histories to tamper with")

// Whatever somebody does to the tables of history: a check comes to its end, going back is refused or leads to a sound tree, and what the
// tree was before is what it is, or can be brought back.
func TestTamperedHistory(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	original := filepath.Join(memoryDir(t), "a.db")
	made := withHistory(t, original, seed)
	found, refused, went := 0, 0, 0
	for i := range *tampered {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		path := filepath.Join(memoryDir(t), "a.db")
		must(t, os.WriteFile(path, []byte(bytesOf(t, original)), 0o600))
		var done []string
		for range 1 + rnd.IntN(3) {
			done = append(done, tamper(t, path, rnd))
		}
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("history %d of seed %d, after %s: %s", i, seed, strings.Join(done, "; "), fmt.Sprintf(format, args...))
		}
		list, err := fsck.Check(path)
		if err != nil {
			fail("check: %v", err)
		}
		for _, f := range list {
			if !strings.Contains(f.Text, "checkpoint") {
				fail("check finds in the present: %s", f.Text)
			}
		}
		found += min(len(list), 1)
		s, err := Open(path, Options{})
		if err != nil {
			fail("open: %v", err)
		}
		before, err := readTree(s)
		must(t, err)
		to := fmt.Sprint(1 + rnd.Int64N(made))
		where := To(to)
		if list := paths(before); len(list) > 0 && rnd.IntN(2) == 0 {
			where = Part(to, []string{list[rnd.IntN(len(list))]})
		}
		_, err = s.GoBack(where, nil)
		after, rerr := readTree(s)
		switch {
		case rerr != nil:
			fail("after going back to %s (%v): %v", to, err, rerr)
		case err != nil && after.String() != before.String():
			fail("going back to %s is refused (%v), and the tree has changed", to, err)
		case err != nil:
			refused++
		default:
			went++
			if after.String() == before.String() {
				break
			}
			if _, err := s.GoBack(Redo, nil); err != nil {
				fail("redo: %v", err)
			}
			if again, err := readTree(s); err != nil || again.String() != before.String() {
				fail("the tree that was is lost (%v):\n%s\n%s", err, again, before)
			}
		}
		must(t, s.Close())
		list, err = fsck.Check(path)
		if err != nil {
			fail("check: %v", err)
		}
		for _, f := range list {
			if !strings.Contains(f.Text, "checkpoint") {
				fail("after going back to %s, check finds: %s", to, f.Text)
			}
		}
		must(t, os.RemoveAll(filepath.Dir(path)))
	}
	t.Logf("check has found %d, going back was refused %d times and done %d times", found, refused, went)
	if found == 0 || refused == 0 || went == 0 {
		t.Error("one of these never happened")
	}
}

// withHistory makes a database with a history, and returns the number of its newest checkpoint.
func withHistory(t *testing.T, path string, seed uint64) int64 {
	s := openTest(t, path)
	root, err := readTree(s)
	must(t, err)
	a := &actor{s: s, rnd: rand.New(rand.NewPCG(seed, 1<<32)), root: root}
	newest := int64(0)
	for range 12 {
		for range 15 {
			must(t, a.step())
		}
		c, err := s.Checkpoint(ByUser, "")
		must(t, err)
		newest = c.ID
	}
	for range 15 {
		must(t, a.step())
	}
	for _, in := range a.open {
		put(s, in)
	}
	must(t, s.Close())
	must(t, checkClean(path))
	return newest
}

// tamper changes something in the tables of history, and says what.
func tamper(t *testing.T, path string, rnd *rand.Rand) string {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	k := database.AllKept[rnd.IntN(len(database.AllKept))]
	table, columns := k.Old, append(append([]string{"checkpoint", "there"}, k.Key...), k.Values...)
	if rnd.IntN(5) == 0 {
		table, columns = "art_checkpoint", []string{"id", "made", "kind", "label", "max_ino", "restored", "redo"}
	}
	column := columns[rnd.IntN(len(columns))]
	values := []string{"NULL", "0", "1", "-1", "2", "3", "4", "9223372036854775807", "1<<52", "16877", "33188", "'x'", "''", "'a/b'", "x'00ff'", "zeroblob(70000)", "1.5",
		column + "+1", column + "-1", "(SELECT " + column + " FROM " + table + " ORDER BY random() LIMIT 1)"}
	where := " WHERE " + columns[0] + "%3=" + fmt.Sprint(rnd.IntN(3))
	q := "UPDATE OR IGNORE " + table + " SET " + column + "=" + values[rnd.IntN(len(values))] + where
	if rnd.IntN(4) == 0 {
		q = "DELETE FROM " + table + where
	}
	if err := c.Exec(q); err != nil && !errors.Is(err, sqlite3.CONSTRAINT) && !errors.Is(err, sqlite3.MISMATCH) {
		must(t, err)
	}
	return q
}
