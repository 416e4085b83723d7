package sqlvfs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

func sessions(t *testing.T, path string) []Session {
	t.Helper()
	s, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	defer s.Close()
	list, err := s.Sessions()
	must(t, err)
	return list
}

func describe(e Session) string {
	number := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	return fmt.Sprintf("%d %q %v: %s, %s made, %s changed, %s deleted", e.PID, e.Command, e.Ended != nil, number(e.ExitCode), number(e.Made), number(e.Changed), number(e.Deleted))
}

func TestSessionsAreLogged(t *testing.T) {
	path := t.TempDir() + "/a.db"
	s := openTest(t, path)
	must(t, s.BeginSession(1, []string{"first", "", "a b", "\xff\n"}))
	if s.Changed() {
		t.Error("the log alone is a change")
	}
	if got := describe(sessions(t, path)[0]); got != `1 ["first" "" "a b" "\xff\n"] false: ?, ? made, ? changed, ? deleted` {
		t.Error("while it runs: ", got)
	}
	must(t, s.WriteAt(create(t, s, "one", syscall.S_IFREG|0o644), []byte("x"), 0, nil, Now()))
	create(t, s, "two", syscall.S_IFREG|0o644)
	create(t, s, "dir", syscall.S_IFDIR|0o755)
	code := 7
	must(t, s.EndSession(&code, "art kill sent\xff SIGTERM"))
	must(t, s.Close())

	s = openTest(t, path)
	must(t, s.BeginSession(2, nil))
	one := lookup(t, s, "one")
	must(t, s.WriteAt(one, []byte("y"), 0, nil, Now()))
	put(s, one)
	two := lookup(t, s, "two")
	step(s, func(tx *Tx) {
		must(t, tx.SetWhiteout(tx.Root(), "host"))
		must(t, tx.Unlink(tx.Root(), "two"))
		two.Attr.Nlink = 0
		tx.Dirty(two)
		tx.Put(two)
	})
	must(t, s.EndSession(nil, strings.Repeat("long", 1000)))
	must(t, s.Close())

	s = openTest(t, path)
	must(t, s.BeginSession(3, []string{strings.Repeat("x", 3000), strings.Repeat("y", 3000), "z"}))
	must(t, s.Close()) // as if it had been killed
	s = openTest(t, path)
	must(t, s.LoseSession(2, "it has an end"))
	must(t, s.LoseSession(3, "art-fuse ended"))
	must(t, s.BeginSession(4, []string{"true"}))
	zero := 0
	must(t, s.EndSession(&zero, ""))
	must(t, s.Close())

	var got []string
	for _, e := range sessions(t, path) {
		got = append(got, describe(e))
	}
	var whys []string
	for _, e := range sessions(t, path) {
		whys = append(whys, e.Why)
	}
	if !slices.Equal(whys, []string{"", "art-fuse ended", strings.Repeat("long", 128), "art kill sent? SIGTERM"}) {
		t.Errorf("they ended by %q", whys)
	}
	want := []string{
		`4 ["true"] true: 0, 0 made, 0 changed, 0 deleted`,
		fmt.Sprintf("3 [%q %q \"...\"] false: ?, ? made, ? changed, ? deleted", strings.Repeat("x", 3000), strings.Repeat("y", maxCommand-3002)),
		`2 [] true: ?, 0 made, 1 changed, 2 deleted`,
		`1 ["first" "" "a b" "\xff\n"] true: 7, 2 made, 0 changed, 0 deleted`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log is\n%s", strings.Join(got, "\n"))
	}
	if got := findings(t, path); got != "" {
		t.Error(got)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + suffix); err == nil {
			t.Errorf("%s is left", suffix)
		}
	}
}

func TestLogOfSessionsIsBounded(t *testing.T) {
	path := t.TempDir() + "/a.db"
	must(t, openTest(t, path).Close())
	alter(t, path, `INSERT INTO art_session (id, pid, started, started_nsec, command, ended) VALUES
		(-5, 1, 1, 1, 'text', 'x'), (2, 'x', 'y', -1, zeroblob(1000000), 9223372036854775807), (3, 1, 1, 1, '', 1.5)`)
	list := sessions(t, path)
	if len(list) != 3 || len(list[1].Command) > 8192 || list[2].Command[0] != "text" || list[2].Ended != nil {
		t.Errorf("the log is %+v", list)
	}
	alter(t, path, `WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM n WHERE i<1500)
		INSERT INTO art_session (id, pid, started, started_nsec, command) SELECT i, 1, 1, 1, '' FROM n`)
	alter(t, path, `INSERT INTO fs_config (key, value) VALUES ('art_end:2', 'gone'), ('art_end:501', 'gone'), ('art_end:502', zeroblob(100000)), ('art_end:x', 'gone')`)
	if n := len(sessions(t, path)); n != maxSessions {
		t.Errorf("%d are read", n)
	}
	s := openTest(t, path)
	must(t, s.BeginSession(1, nil))
	must(t, s.Close())
	if list := sessions(t, path); len(list) != maxSessions || list[0].ID != 1501 || list[maxSessions-1].ID != 502 {
		t.Errorf("%d are left", len(list))
	}
	if list := sessions(t, path); len(list[maxSessions-1].Why) != maxWhy {
		t.Errorf("of why it ended, %d bytes are read", len(list[maxSessions-1].Why))
	}
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	if n, err := database.QueryInt(c, "SELECT count(*) FROM fs_config WHERE key GLOB 'art_end:*'"); n != 1 || err != nil {
		t.Errorf("why sessions ended is there %d times, %v", n, err)
	}
}

// What can only be read keeps its log.
func TestLogOfOlderLayouts(t *testing.T) {
	for layout := 1; layout < 4; layout++ {
		if list := sessions(t, fixture(t, layout)); len(list) != 0 {
			t.Errorf("layout %d: %v", layout, list)
		}
	}
	if list := sessions(t, fixture(t, 4)); len(list) != 1 || describe(list[0]) != `4711 ["true"] true: 0, 7 made, 1 changed, 1 deleted` {
		t.Errorf("layout 4: %v", list)
	}
}
