package history

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// The command that makes the first change of a session is of the first turn; and where a turn's checkpoint is there no more, its commands are of
// no other turn.
func TestTurnsOfCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	inSession := func(does func(s *sqlvfs.Store)) {
		s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}, Checkpoint: sqlvfs.AtSession})
		must(err)
		must(s.BeginSession(1, []string{"agent"}))
		does(s)
		must(s.EndSession(new(int), ""))
		must(s.Close())
	}
	turn := func(s *sqlvfs.Store, name string) {
		p := s.AddProcess(sqlvfs.Process{PID: 10, Argv: []string{"touch", name}, Started: sqlvfs.Now()})
		must(s.Update(func(tx *sqlvfs.Tx) error {
			tx.By(p, false)
			in, err := tx.New(sqlvfs.Attr{Mode: 0o100644, Nlink: 1, Atime: sqlvfs.Now(), Ctime: sqlvfs.Now()})
			if err == nil {
				err = tx.Link(tx.Root(), name, in)
				tx.Put(in)
			}
			return err
		}))
		_, err := s.Checkpoint(sqlvfs.ByGuest, "turn "+name)
		must(err)
		for at := sqlvfs.Now(); sqlvfs.Now() == at; { // what begins within one tick of the clock is of the turn
			time.Sleep(time.Millisecond)
		}
	}
	is := func(want string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(timelineOf(t, TimelineOptions{DB: path, JSON: true})) {
			var c ran
			must(json.Unmarshal([]byte(line), &c))
			label := "-"
			if c.Label != nil {
				label = *c.Label
			}
			got = append(got, fmt.Sprintf("%s: %s", c.Command[1], label))
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%s\nwant %s", all, want)
		}
	}
	inSession(func(s *sqlvfs.Store) { turn(s, "a") })
	inSession(func(s *sqlvfs.Store) { turn(s, "b"); turn(s, "c"); turn(s, "d") })
	is("a: turn a, b: turn b, c: turn c, d: turn d")
	s, err := sqlvfs.Open(path, sqlvfs.Options{})
	must(err)
	_, err = s.Thin(sqlvfs.Keep{Checkpoints: 1})
	must(err)
	must(s.Close())
	is("a: -, b: -, c: -, d: turn d")
}
