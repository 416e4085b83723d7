package history

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// ofCommands makes a database in which two commands have changed files, and a third has done nothing.
func ofCommands(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.BeginSession(1, []string{"agent"}))
	start := func(pid int, parent int64, argv ...string) int64 {
		return s.AddProcess(sqlvfs.Process{PID: pid, Parent: parent, Argv: argv, Dir: "/home/agent/ws", Started: sqlvfs.Now()})
	}
	write := func(by int64, name, content string) {
		must(s.Update(func(tx *sqlvfs.Tx) error {
			tx.By(by, false)
			c, found, _, err := tx.Child(tx.Root(), name)
			if err != nil {
				return err
			}
			var in *sqlvfs.Inode
			if found {
				in, err = tx.Get(c.Ino)
			} else if in, err = tx.New(sqlvfs.Attr{Mode: 0o100644, Nlink: 1}); err == nil {
				err = tx.Link(tx.Root(), name, in)
			}
			if err != nil {
				return err
			}
			defer tx.Put(in)
			return tx.WriteAt(in, []byte(content), 0, sqlvfs.Now())
		}))
	}
	agent := start(10, 0, "agent")
	npm := start(11, agent, "npm", "install\x1b[31m")
	write(npm, "a", "one\n")
	write(npm, "b", "<script>\n")
	ended, two := sqlvfs.Now(), 2
	s.EndProcess(npm, ended, &two)
	if _, err := s.Checkpoint(sqlvfs.ByUser, "the first turn"); err != nil {
		t.Fatal(err)
	}
	for at := sqlvfs.Now(); sqlvfs.Now() == at; { // what begins within one tick of the clock is of the turn
		time.Sleep(time.Millisecond)
	}
	sed := start(11, agent, "sed", "-i", "s/x/y/", "a")
	write(sed, "a", "one\ntwo\n")
	s.EndProcess(sed, sqlvfs.Now(), new(int))
	must(s.AddFlows([]sqlvfs.Flow{{Number: 1, Began: ended, Ended: &ended, PID: 11, Name: "evil.example", Port: 443, Protocol: "tcp", Denied: true, Why: "no rule allows it", Times: 3}}))
	must(s.EndSession(new(int), ""))
	must(s.Close())
	return path
}

func timelineOf(t *testing.T, o TimelineOptions) string {
	t.Helper()
	var out bytes.Buffer
	o.Dir, o.Stdout, o.Stderr = t.TempDir(), &out, t.Output()
	if err := Timeline(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTimelineOfCommands(t *testing.T) {
	db := ofCommands(t)
	var list []ran
	for line := range strings.Lines(timelineOf(t, TimelineOptions{DB: db, JSON: true, All: true})) {
		var c ran
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if len(list) != 3 {
		t.Fatalf("%d commands", len(list))
	}
	agent, npm, sed := list[0], list[1], list[2]
	if len(agent.Files) != 0 || npm.Parent == nil || *npm.Parent != agent.Process || *npm.ExitCode != 2 || npm.Label == nil || *npm.Label != "the first turn" {
		t.Errorf("%+v %+v", agent, npm)
	}
	if len(npm.Files) != 2 || npm.Files[0].Path != "~/a" || strings.Join(npm.Files[0].Changes, " ") != "made written" || npm.Files[0].After != 0 {
		t.Errorf("%+v", npm.Files)
	}
	if len(npm.Network) != 1 || !npm.Network[0].Denied || len(sed.Network) != 0 {
		t.Errorf("%+v %+v", npm.Network, sed.Network)
	}
	if len(sed.Files) != 1 || strings.Join(sed.Files[0].Changes, " ") != "written" || sed.Files[0].After != 1 || sed.Label != nil {
		t.Errorf("%+v", sed)
	}

	text := timelineOf(t, TimelineOptions{DB: db, Terminal: true})
	for _, part := range []string{"session 1  ", "npm $'install\\033[31m'  (the first turn)", "  exit 2  ", "made, written ~/b", "denied evil.example:443 (3 times): no rule allows it", "1 other command changed nothing: --all"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
	if text := timelineOf(t, TimelineOptions{DB: db, Command: "sed *"}); strings.Contains(text, "npm") || !strings.Contains(text, "written ~/a") {
		t.Errorf("%s", text)
	}
	if text := timelineOf(t, TimelineOptions{DB: db, Session: 2}); text != "" {
		t.Errorf("%s", text)
	}
	page := timelineOf(t, TimelineOptions{DB: db, HTML: true})
	for _, part := range []string{"default-src &#39;none&#39;", "<script", "\x1b", "http:", "https:"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %q", part)
		}
	}
	if strings.Count(page, "<tr>") != 2 || !strings.Contains(page, "made, written ~/b") {
		t.Errorf("%s", page)
	}
}

func TestBlameSaysWhichCommand(t *testing.T) {
	var out bytes.Buffer
	if err := Blame(context.Background(), BlameOptions{DB: ofCommands(t), Dir: t.TempDir(), Path: "~/a", Stdout: &out, JSON: true}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var l lines
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l.By[0])
	}
	if strings.Join(got, " ") != "npm sed" {
		t.Errorf("%s", out.String())
	}
}

// In older databases the moments of a file's making and of its writing are by two clocks.
func TestWhoWritesIsLaterThanWhoMakes(t *testing.T) {
	made := sqlvfs.Change{Process: 1, What: sqlvfs.Made | sqlvfs.Named, Last: sqlvfs.Timespec{Sec: 1, Nsec: 3_000_000}}
	written := sqlvfs.Change{Process: 2, What: sqlvfs.Written, Last: sqlvfs.Timespec{Sec: 1}}
	both := sqlvfs.Change{Process: 3, What: sqlvfs.Made | sqlvfs.Written, Last: sqlvfs.Timespec{Sec: 1, Nsec: 1}}
	for i, list := range [][2]*sqlvfs.Change{{&written, &made}, {&both, &made}, {&both, &written}} {
		if !later(list[0], list[1]) || later(list[1], list[0]) {
			t.Errorf("%d: %+v", i, list)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"npm", "npm", true}, {"npm", "npm install", false}, {"npm*", "npm install", true}, {"*install", "npm install", true},
		{"*in*ll", "npm install", true}, {"a*b*c", "abc", true}, {"a*b*c", "acb", false}, {"ab*ba", "aba", false}, {"*", "", true}, {"**", "x", true},
	} {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("%q of %q: %v", c.pattern, c.text, got)
		}
	}
}
