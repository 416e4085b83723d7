package reconcile

import (
	"errors"
	"os"
	"testing"
)

func paths(list ...string) func(*Options) { return func(o *Options) { o.Paths = list } }

// With paths, push stores these, what is below them, and the directories that they are in.
func TestPushOfPaths(t *testing.T) {
	b := newBench(t)
	for _, at := range []string{"a", "d/x", "d/y", "e/z"} {
		b.write(at, "1")
	}
	b.push(paths("d/x", b.path("e")))
	rows := func() int64 { return b.count(`SELECT count(*) FROM fs_dentry`) }
	if n := rows(); n != 5 { // ws, d, d/x, e, e/z
		t.Errorf("%d rows", n)
	}
	for _, at := range []string{"a", "d/x", "d/y"} {
		b.write(at, "2")
	}
	must(t, os.Remove(b.path("e/z")))
	if out, _ := b.push(paths("d"), dryRun); out != "Workspace name: ws\nFiles will be stored under: /ws/\nFILE /ws/d/x (1 bytes, ino 4)\nFILE /ws/d/y (1 bytes, new)\n" {
		t.Errorf("printed %s", out)
	}
	b.push(paths("d"))
	if n := rows(); n != 6 {
		t.Errorf("%d rows", n)
	}
	b.push(paths("e/z"))
	if n := rows(); n != 5 { // a directory that was emptied stays
		t.Errorf("%d rows", n)
	}
	if _, _, err := b.run(Push, b.ws, paths("nowhere")); !errors.As(err, new(PathError)) {
		t.Errorf("an unknown path: %v", err)
	}
	b.push()
	b.checkRows()
	if n := rows(); n != 6 {
		t.Errorf("%d rows", n)
	}
}

// A push that was told to leave something out does not make the database one to carry away.
func TestPushOfAPartIsNotWhole(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	b.write("b", "2")
	for _, test := range []struct {
		whole  int64
		change func(*Options)
	}{
		{0, func(o *Options) { o.Exclude = []string{"b"} }},
		{0, func(o *Options) { o.NoIgnored = true }},
		{1, func(*Options) {}},
	} {
		b.push(test.change)
		if n := b.count("SELECT whole FROM art_workspace"); n != test.whole {
			t.Errorf("whole is %d, want %d", n, test.whole)
		}
	}
}
