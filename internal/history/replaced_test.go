package history

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// What a script is run by is what the script does, and what that starts is not.
func TestReplacedCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	must(err)
	must(s.BeginSession(1, []string{"agent"}))
	start := func(pid int, parent int64, line string) int64 {
		return s.AddProcess(sqlvfs.Process{PID: pid, Parent: parent, Argv: strings.Fields(line), Started: sqlvfs.Now()})
	}
	sh := start(1, 0, "sh -c x")
	npm := start(2, sh, "npm install")
	env := start(2, npm, "env node /usr/bin/npm install")
	node := start(2, env, "node /usr/bin/npm install")
	child := start(3, node, "tar x")
	again := start(2, sh, "git status") // the number once more
	for _, p := range []int64{node, child, again} {
		must(s.Update(func(tx *sqlvfs.Tx) error {
			tx.By(p, false)
			in, err := tx.New(sqlvfs.Attr{Mode: 0o100644, Nlink: 1})
			if err == nil {
				err = tx.Link(tx.Root(), string(rune('a'+p)), in)
				tx.Put(in)
			}
			return err
		}))
	}
	must(s.EndSession(new(int), ""))
	must(s.Close())
	var got []int64
	for line := range strings.Lines(timelineOf(t, TimelineOptions{DB: path, JSON: true, Command: "npm *"})) {
		var c ran
		must(json.Unmarshal([]byte(line), &c))
		if (c.Process == npm) != (c.Replaces == nil) || c.Replaces != nil && *c.Replaces != *c.Parent || (c.Process == node) != (len(c.Files) > 0) {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Process)
	}
	if len(got) != 3 || got[0] != npm || got[1] != env || got[2] != node {
		t.Errorf("of npm are %v", got)
	}
}
