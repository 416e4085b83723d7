package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

func (g *guest) xattr(rel, name string) string {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	value, err := g.overlay.Getxattr(e.Ino, name)
	if err != nil {
		return err.Error()
	}
	return string(value)
}

func (g *guest) attr(rel string) sqlvfs.Attr {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	return e.Attr
}

// areOne makes sure that some paths are all names of one file.
func (g *guest) areOne(t *testing.T, paths ...string) {
	first, err := g.find(paths[0])
	g.must(err)
	for _, at := range paths {
		e, err := g.find(at)
		g.must(err)
		if e.Ino != first.Ino || int(e.Attr.Nlink) != len(paths) {
			t.Errorf("%s is %d with %d names, and %s %d; it should have %d", at, e.Ino, e.Attr.Nlink, paths[0], first.Ino, len(paths))
		}
	}
}

// merging is a case of what a fork and its parent do, and what comes of it.
type merging struct {
	host, before, here, fork func(g *guest) // host: on the host, as if it were a guest's
	conflicts                []string
	want                     map[string]string // of what differs from what the parent has; "": it is gone
	check                    func(t *testing.T, g *guest)
	pull                     []string // what a pull then says; nil: it is not tried
}

var mergings = map[string]merging{
	"content and mode": {
		before: func(g *guest) { g.write("a", "1") },
		here:   func(g *guest) { g.chmod("a", 0o755) },
		fork:   func(g *guest) { g.write("a", "2") },
		want:   map[string]string{"a": "executable 2"},
	},
	"mode against mode": {
		before:    func(g *guest) { g.write("a", "1") },
		here:      func(g *guest) { g.chmod("a", 0o755) },
		fork:      func(g *guest) { g.chmod("a", 0o600) },
		conflicts: []string{"a"},
	},
	"attributes": {
		before: func(g *guest) { g.write("a", "1"); g.mkdir("d"); g.setXattr("d", "user.gone", "x") },
		fork: func(g *guest) {
			g.setXattr("a", "user.k", "v")
			g.chmod("d", 0o700)
			e, err := g.find("d")
			g.must(err)
			g.must(g.overlay.Removexattr(agent, e.Ino, "user.gone"))
		},
		check: func(t *testing.T, g *guest) {
			if g.xattr("a", "user.k") != "v" || g.attr("d").Mode&0o777 != 0o700 || g.xattr("d", "user.gone") == "x" {
				t.Error(g.xattr("a", "user.k"), g.attr("d").Mode, g.xattr("d", "user.gone"))
			}
		},
	},
	"a directory of the host's that each changes in": {
		host: func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1"); g.write("d/c", "1") },
		here: func(g *guest) { g.write("d/a", "2") },
		fork: func(g *guest) { g.write("d/b", "2"); g.remove("d/c") },
		want: map[string]string{"d/b": "file 2", "d/c": ""},
	},
	"a directory that was renamed, and changed here": {
		before: func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1") },
		here:   func(g *guest) { g.write("d/a", "2"); g.write("d/new", "1") },
		fork:   func(g *guest) { g.rename("d", "e"); g.write("e/b", "3") },
		want:   map[string]string{"d": "", "d/a": "", "d/b": "", "d/new": "", "e": "dir", "e/a": "file 2", "e/b": "file 3", "e/new": "file 1"},
	},
	"a directory of the host's that was renamed": {
		host: func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1") },
		here: func(g *guest) { g.write("d/a", "2") },
		fork: func(g *guest) { g.rename("d", "e") },
		want: map[string]string{"d": "", "d/a": "", "d/b": "", "e": "dir", "e/a": "file 2", "e/b": "file 1"},
	},
	"a directory that was renamed, with another in its place": {
		before: func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1") },
		here:   func(g *guest) { g.write("d/a", "2"); g.write("d/new", "1") },
		fork: func(g *guest) {
			g.rename("d", "e")
			g.mkdir("d")
			g.write("d/a", "3")
			g.rename("e/b", "d/b")
		},
		want: map[string]string{"d/a": "file 3", "d/b": "file 1", "d/new": "", "e": "dir", "e/a": "file 2", "e/new": "file 1"},
	},
	"a directory of the host's that was renamed, with another in its place": {
		host:   func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		before: func(g *guest) { g.write("d/a", "2") },
		fork:   func(g *guest) { g.rename("d", "e"); g.mkdir("d"); g.write("d/a", "3") },
		want:   map[string]string{"d/a": "file 3", "e": "dir", "e/a": "file 2"},
	},
	"a directory that was renamed, with a file in its place, and changed here": {
		host: func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		here: func(g *guest) { g.write("d/a", "2") },
		fork: func(g *guest) { g.rename("d", "e"); g.write("d", "3") },
		want: map[string]string{"d": "file 3", "d/a": "", "e": "dir", "e/a": "file 2"},
	},
	"directories that have taken each other's places": {
		host: func(g *guest) {
			for _, at := range []string{"a", "b", "c", "other"} {
				g.mkdir(at)
				g.write(at+"/"+at, "1")
			}
		},
		here: func(g *guest) {
			g.write("a/a", "2")
			g.write("b/b", "2")
			g.write("c/c", "2")
			g.write("other/other", "2")
		},
		fork: func(g *guest) {
			g.rename("c", "t")
			g.rename("b", "c")
			g.rename("a", "b")
			g.rename("t", "a")
			g.rename("other", "b/other")
			g.mkdir("other")
		},
		want: map[string]string{"a/a": "", "a/c": "file 2", "b/b": "", "b/a": "file 2", "b/other": "dir", "b/other/other": "file 2", "c/c": "", "c/b": "file 2", "other/other": ""},
	},
	"a directory that was renamed to a name that has something else here, with another in its place": {
		host:      func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.mkdir("s"); g.write("s/b", "1") },
		here:      func(g *guest) { g.write("d/a", "2"); g.write("e", "2"); g.write("s/b", "2") },
		fork:      func(g *guest) { g.rename("d", "e"); g.mkdir("d"); g.rename("s", "d/s"); g.mkdir("s") },
		conflicts: []string{"d", "e", "s"},
	},
	"a directory that was removed, and changed here": {
		before:    func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1") },
		here:      func(g *guest) { g.write("d/a", "2") },
		fork:      func(g *guest) { g.remove("d") },
		conflicts: []string{"d"},
	},
	"a directory that was removed here, and changed": {
		before:    func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		here:      func(g *guest) { g.remove("d") },
		fork:      func(g *guest) { g.write("d/a", "2") },
		conflicts: []string{"d"},
	},
	"a directory of the host's that was removed": {
		host: func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		fork: func(g *guest) { g.remove("d") },
		want: map[string]string{"d": "", "d/a": ""},
	},
	"a directory of the host's with a name of a file": {
		host:  func(g *guest) { g.mkdir("d"); g.write("d/x", "1"); g.link("d/x", "y"); g.link("d/x", "d/z") },
		fork:  func(g *guest) { g.remove("d") },
		want:  map[string]string{"d": "", "d/x": "", "d/z": ""},
		check: func(t *testing.T, g *guest) { g.areOne(t, "y") },
		pull:  []string{"DEL  ws/d/x", "DEL  ws/d/z", "DEL  ws/d"},
	},
	"a directory of the host's with a name of a file that was changed here": {
		host:      func(g *guest) { g.mkdir("d"); g.write("d/x", "1"); g.link("d/x", "y") },
		here:      func(g *guest) { g.chmod("y", 0o755) },
		fork:      func(g *guest) { g.remove("d") },
		conflicts: []string{"d"},
	},
	"a file that each has renamed": {
		before: func(g *guest) { g.write("a", "1") },
		here:   func(g *guest) { g.rename("a", "b") },
		fork:   func(g *guest) { g.rename("a", "c") },
		want:   map[string]string{"c": "file 1"},
		check:  func(t *testing.T, g *guest) { g.areOne(t, "b"); g.areOne(t, "c") },
	},
	"a directory that each has renamed, in the fork over that of here": {
		before: func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		here:   func(g *guest) { g.rename("d", "e") },
		fork:   func(g *guest) { g.rename("d", "f"); g.mkdir("e") },
		want:   map[string]string{"f": "dir", "f/a": "file 1"},
		check:  func(t *testing.T, g *guest) { g.areOne(t, "e/a"); g.areOne(t, "f/a") },
	},
	"a directory that hides the host's": {
		host: func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		fork: func(g *guest) { g.remove("d"); g.mkdir("d"); g.write("d/b", "2") },
		want: map[string]string{"d/a": "", "d/b": "file 2"},
	},
	"a directory that hides the host's, which changed here": {
		host:      func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		here:      func(g *guest) { g.write("d/a", "3") },
		fork:      func(g *guest) { g.remove("d"); g.mkdir("d"); g.write("d/b", "2") },
		conflicts: []string{"d"},
	},
	"a directory that both have renamed": {
		before:    func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("other", "1") },
		here:      func(g *guest) { g.rename("d", "e") },
		fork:      func(g *guest) { g.rename("d", "f"); g.write("f/a", "2"); g.rename("other", "f/other") },
		conflicts: []string{"f", "other"},
		check: func(t *testing.T, g *guest) {
			if n := g.attr("e/a").Nlink; n != 1 {
				t.Errorf("e/a has %d names", n)
			}
		},
	},
	"a directory of the host's that both have renamed": {
		host:      func(g *guest) { g.mkdir("d"); g.write("d/a", "1") },
		here:      func(g *guest) { g.rename("d", "e") },
		fork:      func(g *guest) { g.rename("d", "f"); g.write("f/a", "2") },
		conflicts: []string{"f"},
	},
	"a directory that both have renamed to the same": {
		before: func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1") },
		here:   func(g *guest) { g.rename("d", "e"); g.write("e/b", "2") },
		fork:   func(g *guest) { g.rename("d", "e"); g.write("e/a", "2") },
		want:   map[string]string{"e/a": "file 2"},
	},
	"a directory that was moved to where both have something": {
		before:    func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("f", "1") },
		here:      func(g *guest) { g.write("e", "2") },
		fork:      func(g *guest) { g.rename("d", "e"); g.rename("f", "e/f") },
		conflicts: []string{"d", "e", "f"},
	},
	"other types": {
		before: func(g *guest) { g.write("a", "1"); g.mkdir("d"); g.write("d/x", "1"); g.symlink("t", "l") },
		fork: func(g *guest) {
			g.remove("a")
			g.mkdir("a")
			g.write("a/y", "2")
			g.remove("d")
			g.write("d", "2")
			g.remove("l")
			g.symlink("other", "l")
		},
		want: map[string]string{"a": "dir", "a/y": "file 2", "d": "file 2", "d/x": "", "l": "-> other"},
	},
	"a part of a large file of the host's": {
		host: func(g *guest) { g.write("big", strings.Repeat("x", 3<<20)) },
		here: func(g *guest) { g.write("own", "1") },
		fork: func(g *guest) { g.patch("big", "y", 2<<20) },
		want: map[string]string{"big": "file " + strings.Repeat("x", 2<<20) + "y" + strings.Repeat("x", 1<<20-1)},
	},
	"files that become shorter, and have holes": {
		before: func(g *guest) { g.write("a", strings.Repeat("x", 1<<20)); g.write("b", "1") },
		fork: func(g *guest) {
			g.write("a", "short")
			g.patch("b", "2", 300_000)
		},
		want: map[string]string{"a": "file short", "b": "file 1" + strings.Repeat("\x00", 299_999) + "2"},
	},
	"hard links": {
		before: func(g *guest) { g.write("a", "1"); g.link("a", "b"); g.write("c", "1") },
		here:   func(g *guest) { g.link("b", "mine") },
		fork:   func(g *guest) { g.write("a", "2"); g.link("c", "d"); g.write("n", "3"); g.link("n", "m") },
		want:   map[string]string{"a": "file 2", "b": "file 2", "mine": "file 2", "d": "file 1", "n": "file 3", "m": "file 3"},
		check: func(t *testing.T, g *guest) {
			for at, n := range map[string]uint32{"a": 3, "mine": 3, "c": 2, "d": 2, "n": 2, "m": 2} {
				if g.attr(at).Nlink != n {
					t.Errorf("%s has %d names", at, g.attr(at).Nlink)
				}
			}
		},
	},
	"the same in both": {
		before: func(g *guest) { g.write("a", "1"); g.write("b", "1") },
		here:   func(g *guest) { g.write("a", "2"); g.remove("b"); g.write("c", "3") },
		fork:   func(g *guest) { g.write("a", "2"); g.remove("b"); g.write("c", "3") },
	},
	"made in both": {
		here:      func(g *guest) { g.write("a", "1"); g.mkdir("d"); g.write("d/x", "1") },
		fork:      func(g *guest) { g.write("a", "2"); g.mkdir("d"); g.write("d/y", "2") },
		conflicts: []string{"a"},
		want:      map[string]string{"d/y": "file 2"},
	},
	"deleted and changed": {
		before:    func(g *guest) { g.write("a", "1"); g.write("b", "1") },
		here:      func(g *guest) { g.write("a", "2"); g.remove("b") },
		fork:      func(g *guest) { g.remove("a"); g.write("b", "2") },
		conflicts: []string{"a", "b"},
	},
	"moved into a directory that is new, and one out of one that goes": {
		before: func(g *guest) {
			g.write("a", "1")
			g.mkdir("d")
			g.write("d/x", "1")
			g.mkdir("d/s")
			g.write("d/s/y", "1")
		},
		fork: func(g *guest) {
			g.mkdir("n")
			g.rename("a", "n/a")
			g.rename("d/s", "s")
			g.rename("d/x", "x")
			g.remove("d")
		},
		want: map[string]string{"a": "", "n": "dir", "n/a": "file 1", "d": "", "d/x": "", "d/s": "", "d/s/y": "", "s": "dir", "s/y": "file 1", "x": "file 1"},
	},
	"moved to where both have something": {
		host:      func(g *guest) { g.write("c", "1") },
		before:    func(g *guest) { g.write("a", "moved"); g.write("b", "1") },
		here:      func(g *guest) { g.write("b", "2"); g.write("d", "2") },
		fork:      func(g *guest) { g.rename("a", "b"); g.rename("c", "d") },
		conflicts: []string{"a", "b", "c", "d"},
	},
	"moved away, and something else in its place": {
		before: func(g *guest) {
			g.write("a", "1")
			g.write("b", "1")
			g.symlink("t", "l")
			g.mkdir("d")
			g.write("d/x", "1")
		},
		fork: func(g *guest) {
			g.rename("a", "c")
			g.write("a", "new")
			g.patch("b", "2", 1)
			g.link("b", "d/b")
			g.remove("b")
			g.write("b", "new")
			g.rename("l", "m")
			g.symlink("new", "l")
			g.rename("d", "e")
			g.mkdir("d")
			g.write("d/x", "new")
		},
		want: map[string]string{
			"a": "file new", "c": "file 1", "b": "file new", "e": "dir", "e/b": "file 12", "l": "-> new", "m": "-> t", "d/x": "file new", "e/x": "file 1",
		},
		check: func(t *testing.T, g *guest) {
			for _, at := range []string{"a", "b", "c", "e/b", "l", "m", "d/x", "e/x"} {
				if n := g.attr(at).Nlink; n != 1 {
					t.Errorf("%s has %d names", at, n)
				}
			}
		},
	},
	"two files that have changed places": {
		before: func(g *guest) { g.write("a", "1"); g.write("b", "2"); g.link("b", "c") },
		fork:   func(g *guest) { g.exchange("a", "b") },
		want:   map[string]string{"a": "file 2", "b": "file 1"},
		check: func(t *testing.T, g *guest) {
			if g.attr("a").Nlink != 2 || g.attr("b").Nlink != 1 || g.attr("c").Nlink != 2 {
				t.Error("other files are one")
			}
		},
	},
	"replaced, and another mode": {
		before: func(g *guest) { g.write("a", "1") },
		here:   func(g *guest) { g.chmod("a", 0o755) },
		fork:   func(g *guest) { g.rename("a", "bak"); g.write("a", "2") },
		want:   map[string]string{"a": "executable 2", "bak": "file 1"},
	},
	"a file of the host's with several names that is changed": {
		host:  func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		fork:  func(g *guest) { g.patch("a", "2", 1) },
		want:  map[string]string{"a": "file 12", "b": "file 12", "d/c": "file 12"},
		check: func(t *testing.T, g *guest) { g.areOne(t, "a", "b", "d/c") },
	},
	"a file of the host's with several names that is changed, and has a row here": {
		host:  func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		here:  func(g *guest) { g.chmod("b", 0o600); g.chmod("b", 0o644) },
		fork:  func(g *guest) { g.patch("a", "2", 1) },
		want:  map[string]string{"a": "file 12", "b": "file 12", "d/c": "file 12"},
		check: func(t *testing.T, g *guest) { g.areOne(t, "a", "b", "d/c") },
	},
	"a file of the host's with several names that is changed in both": {
		host:      func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		here:      func(g *guest) { g.patch("b", "3", 1) },
		fork:      func(g *guest) { g.patch("a", "2", 1) },
		conflicts: []string{"a"},
		check:     func(t *testing.T, g *guest) { g.areOne(t, "a", "b", "d/c") },
	},
	"a file of the host's that loses a name": {
		host:  func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		fork:  func(g *guest) { g.remove("b") },
		want:  map[string]string{"b": ""},
		check: func(t *testing.T, g *guest) { g.areOne(t, "a", "d/c") },
	},
	"a file of the host's that loses a name in each": {
		host:  func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		here:  func(g *guest) { g.remove("a") },
		fork:  func(g *guest) { g.remove("b") },
		want:  map[string]string{"b": ""},
		check: func(t *testing.T, g *guest) { g.areOne(t, "d/c") },
	},
	"a file of the host's of which a name is moved": {
		host:  func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		here:  func(g *guest) { g.chmod("d/c", 0o600); g.chmod("d/c", 0o644) },
		fork:  func(g *guest) { g.rename("b", "z") },
		want:  map[string]string{"b": "", "z": "file 1"},
		check: func(t *testing.T, g *guest) { g.areOne(t, "a", "d/c", "z") },
	},
	"a file of the host's of which a name is replaced": {
		host:  func(g *guest) { g.mkdir("d"); g.write("a", "1"); g.link("a", "b"); g.link("a", "d/c") },
		fork:  func(g *guest) { g.write("n", "2"); g.rename("n", "b") },
		want:  map[string]string{"b": "file 2"},
		check: func(t *testing.T, g *guest) { g.areOne(t, "a", "d/c") },
	},
	"a file of the host's that gets another name": {
		host:  func(g *guest) { g.write("a", "1") },
		fork:  func(g *guest) { g.link("a", "b") },
		want:  map[string]string{"b": "file 1"},
		check: func(t *testing.T, g *guest) { g.areOne(t, "a", "b") },
	},
	"a git directory that one has changed": {
		before: func(g *guest) { g.mkdir(".git"); g.write(".git/HEAD", "1"); g.write(".git/index", "1") },
		fork:   func(g *guest) { g.write(".git/HEAD", "2"); g.write(".git/index", "2") },
		want:   map[string]string{".git/HEAD": "file 2", ".git/index": "file 2"},
	},
	"a git directory that both have changed": {
		before:    func(g *guest) { g.mkdir(".git"); g.write(".git/HEAD", "1"); g.write(".git/index", "1") },
		here:      func(g *guest) { g.write(".git/index", "3") },
		fork:      func(g *guest) { g.write(".git/HEAD", "2"); g.write("a", "1") },
		conflicts: []string{".git"},
		want:      map[string]string{"a": "file 1"},
	},
}

func TestMerge(t *testing.T) {
	for name, c := range mergings {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			do := func(of bench, f func(g *guest)) {
				if f != nil {
					of.guest(f)
				}
			}
			if c.host != nil { // what a guest writes becomes the host's
				do(b, c.host)
				b.pull(b.ws)
				must(t, os.Remove(b.db))
			}
			if c.pull != nil {
				b.know()
			}
			do(b, c.before)
			fork := b.fork()
			do(b, c.here)
			do(fork, c.fork)
			want, theirs := b.portrait(), fork.portrait()
			for at, is := range c.want {
				if want[at] = is; is == "" {
					delete(want, at)
				}
			}
			out, told, err := b.merge(fork)
			if (err == nil) != (len(c.conflicts) == 0) || err != nil && !errors.Is(err, ErrConflicts) {
				t.Fatalf("merge: %v\n%s%s", err, out, told)
			}
			if named := conflicts(told); fmt.Sprint(named) != fmt.Sprint(c.conflicts) {
				t.Errorf("in conflict: %q\n%s", named, told)
			}
			if is := b.portrait(); !maps.Equal(is, want) {
				t.Errorf("it is\n%.1000v\nand should be\n%.1000v\n%s%s", is, want, out, told)
			}
			if c.check != nil {
				b.guest(func(g *guest) { c.check(t, g) })
			}
			if out, told, err := b.merge(fork, ourMerge); err != nil || out != "" || told != "" {
				t.Errorf("leaving the rest: %v\n%s%s", err, out, told)
			}
			if out, told, err := b.merge(fork); err != nil || out != "" || told != "" {
				t.Errorf("again: %v\n%s%s", err, out, told)
			}
			if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
				t.Errorf("it is damaged: %v %v", found, err)
			}
			if is := fork.portrait(); !maps.Equal(is, theirs) {
				t.Errorf("the fork is %.1000v", is)
			}
			if c.pull != nil {
				if out, _ := b.pull(b.ws); !strings.HasSuffix(strings.TrimSpace(out), strings.Join(c.pull, "\n")) {
					t.Errorf("a pull says %s", out)
				}
			}
		})
	}
}

// What both have changed is the fork's where the user says so.
func TestMergeForced(t *testing.T) {
	for name, c := range mergings {
		if len(c.conflicts) == 0 || c.host != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if c.before != nil {
				b.guest(c.before)
			}
			fork := b.fork()
			b.guest(c.here)
			b.guest(func(g *guest) { g.write("here", "1") })
			fork.guest(c.fork)
			out, told, err := b.merge(fork, forceMerge)
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, told)
			}
			is := b.portrait()
			if is["here"] != "file 1" {
				t.Errorf("it is %v", is)
			}
			for at, theirs := range fork.portrait() {
				if is[at] != theirs {
					t.Errorf("%s is %q, and the fork's %q", at, is[at], theirs)
				}
			}
			if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
				t.Errorf("it is damaged: %v %v", found, err)
			}
		})
	}
}

// A merge that is killed has happened, or it has not.
func TestMergeKilled(t *testing.T) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	longest, before, after := time.Duration(0), 0, 0
	for round := range min(*kills, 200) + 1 {
		at := filepath.Join(dir, fmt.Sprint(round))
		b := bench{t, filepath.Join(at, "ws"), filepath.Join(at, "ws.db")}
		b.project()
		b.guest(func(g *guest) { g.write("d4/f4", "before"); g.write("e", "before") })
		fork := b.fork()
		b.guest(func(g *guest) { g.write("mine", "here"); g.write("e", "here") })
		fork.day()
		fork.guest(func(g *guest) { g.write("large", strings.Repeat("l", 4<<20)) })
		was := b.portrait()
		start := time.Now()
		after1 := time.Minute
		if round > 0 {
			after1 = time.Duration(random.Int64N(int64(longest)))
		}
		t.Setenv(asFork, fork.db)
		b.killed("merge", after1)
		if round == 0 {
			longest = time.Since(start)
		}
		is := b.portrait()
		again, _, err := b.merge(fork)
		must(t, err)
		want := b.portrait()
		switch {
		case maps.Equal(is, was) && again != "":
			before++
		case maps.Equal(is, want) && again == "":
			after++
		default:
			t.Fatalf("round %d: it is neither what it was nor what it becomes: %.1000v", round, is)
		}
		if want["mine"] != "file here" || want["renamed/f5"] != "file changed" {
			t.Fatalf("round %d: it becomes %.1000v", round, want)
		}
		for _, db := range []string{b.db, fork.db} {
			if found, err := fsck.Check(db); err != nil || len(found) > 0 {
				t.Fatalf("%s is damaged: %v %v", db, found, err)
			}
		}
		must(t, os.RemoveAll(at))
	}
	t.Logf("killed before: %d, after: %d", before, after)
}

// asFork is the fork that the test binary merges.
const asFork = "ART_SYNC_TEST_FORK"

func mergeAs(db string) error {
	point, ctx := os.Getenv(atPoint), context.Background()
	if left, err := strconv.Atoi(point); err == nil {
		ctx = &suicidal{ctx, left}
	}
	told := dies{point == "told"}
	o := history.MergeOptions{
		Options: history.Options{Prog: "art", DB: db, Session: noSession, Stdout: os.Stderr}, Fork: os.Getenv(asFork),
		Other: func(string) func(context.Context) (*os.File, error) {
			if point == "open" {
				die()
			}
			return noSession
		}, Report: report.Options{Stdout: told, Stderr: os.Stderr},
	}
	return history.Merge(ctx, o)
}

// dies is where output goes, with whose first line the process may end.
type dies struct{ does bool }

func (d dies) Write(p []byte) (int, error) {
	if d.does {
		die()
	}
	return len(p), nil
}

// For want of room nothing is changed, and no history is given up; with room, the merge goes on.
func TestMergeOnFullDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=24m")
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	must(t, os.Mkdir(b.ws, 0o755))
	b.guest(func(g *guest) { g.write("a", "1") })
	fork := b.fork()
	fork.guest(func(g *guest) { g.write("a", "2"); g.write("large", strings.Repeat("l", 6<<20)) })
	b.guest(func(g *guest) { g.write("mine", "1") })
	was := b.portrait()
	fill := filepath.Join(dir, "fill")
	f, err := os.Create(fill)
	must(t, err)
	for chunk := bytes.Repeat([]byte("f"), 64<<10); err == nil; {
		var st unix.Statfs_t
		must(t, unix.Statfs(dir, &st))
		if st.Bavail*uint64(st.Bsize) < 3<<20 {
			break
		}
		_, err = f.Write(chunk)
	}
	must(t, f.Close())
	if _, told, err := b.merge(fork); !errors.Is(err, unix.ENOSPC) && !strings.Contains(fmt.Sprint(err), "full") {
		t.Fatalf("merge on a full disk: %v %s", err, told)
	}
	if is := b.portrait(); !maps.Equal(is, was) {
		t.Errorf("it is %.1000v", is)
	}
	must(t, os.Remove(fill))
	if _, told, err := b.merge(fork); err != nil {
		t.Fatalf("with room: %v %s", err, told)
	}
	if is := b.portrait(); is["a"] != "file 2" || len(is["large"]) != 6<<20+len("file ") || is["mine"] != "file 1" {
		t.Errorf("it is %.1000v", is)
	}
}

// What a fork was up to the last merge must be known.
func TestMergeAfterThinning(t *testing.T) {
	b := newBench(t)
	b.guest(func(g *guest) { g.write("a", "1") })
	fork := b.fork()
	fork.guest(func(g *guest) { g.write("a", "2") })
	if _, _, err := b.merge(fork); err != nil {
		t.Fatal(err)
	}
	fork.guest(func(g *guest) { g.write("a", "3") })
	var out bytes.Buffer
	must(t, history.Checkpoint(context.Background(), "", fork.historyOptions(&out)))
	fork.guest(func(g *guest) { g.write("b", "1") })
	must(t, history.Thin(sqlvfs.Keep{Checkpoints: 1}, false, fork.historyOptions(&out)))
	if _, _, err := b.merge(fork); err != nil {
		t.Fatalf("what was merged is not known any more: %v", err)
	}
	if is := b.portrait(); is["a"] != "file 3" || is["b"] != "file 1" {
		t.Errorf("it is %v", is)
	}
}

// A fork that somebody has written by hand is refused, and nothing is changed.
func TestMergeHostile(t *testing.T) {
	for name, statement := range map[string]string{
		"a directory below itself":  "INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'loop', (SELECT ino FROM fs_dentry WHERE name='inner'), (SELECT ino FROM fs_dentry WHERE name='outer')",
		"a name that leads nowhere": "DELETE FROM fs_inode WHERE ino=(SELECT ino FROM fs_dentry WHERE name='file')",
		"a file too large":          "UPDATE fs_inode SET size=9223372036854775807 WHERE ino=(SELECT ino FROM fs_dentry WHERE name='file')",
		"no target":                 "DELETE FROM fs_symlink",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.guest(func(g *guest) { g.write("a", "1") })
			fork := b.fork()
			fork.guest(func(g *guest) {
				g.mkdir("outer")
				g.mkdir("outer/inner")
				g.write("outer/file", "1")
				g.symlink("t", "outer/link")
			})
			fork.sql(statement)
			was := b.portrait()
			if out, told, err := b.merge(fork); err == nil || errors.Is(err, ErrConflicts) {
				t.Errorf("%v\n%s%s", err, out, told)
			}
			if is := b.portrait(); !maps.Equal(is, was) {
				t.Errorf("it is %v", is)
			}
		})
	}
	t.Run("names that cannot be", func(t *testing.T) {
		b := newBench(t)
		b.guest(func(g *guest) { g.write("a", "1") })
		fork := b.fork()
		fork.guest(func(g *guest) { g.write("b", "1") })
		fork.sql("INSERT INTO art_whiteout (parent_ino, name) SELECT parent_ino, '../x' FROM fs_dentry WHERE name='b'")
		fork.sql("INSERT INTO fs_dentry (name, parent_ino, ino) SELECT 'c/d', parent_ino, ino FROM fs_dentry WHERE name='b'")
		if out, told, err := b.merge(fork); err != nil {
			t.Errorf("%v\n%s%s", err, out, told)
		}
		if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
			t.Errorf("it is damaged: %v %v", found, err)
		}
	})
}

// TestConflictStays makes sure that what a merge has left in conflict is named by the next one as long as it differs, whatever has become of
// the directories that it is in.
func TestConflictStays(t *testing.T) {
	both := func(g *guest) { g.mkdir("d"); g.write("d/a", "1"); g.write("d/b", "1") }
	for name, c := range map[string]struct {
		host, before, here, fork, hereThen, forkThen func(g *guest)
		first, then                                  []string
	}{
		"the directory was removed here": {
			before: both, here: func(g *guest) { g.write("d/a", "2") }, fork: func(g *guest) { g.write("d/a", "3") },
			first: []string{"d/a"}, hereThen: func(g *guest) { g.remove("d") }, then: []string{"d"},
		},
		"the directory was made again here": {
			before: both, here: func(g *guest) { g.write("d/a", "2") }, fork: func(g *guest) { g.write("d/a", "3") },
			first: []string{"d/a"}, hereThen: func(g *guest) { g.remove("d"); g.mkdir("d"); g.write("d/a", "4") }, then: []string{"d/a"},
		},
		"a directory of the host's was made again here": {
			host: both, here: func(g *guest) { g.write("d/a", "2") }, fork: func(g *guest) { g.write("d/a", "3") },
			first: []string{"d/a"}, hereThen: func(g *guest) { g.remove("d"); g.mkdir("d"); g.write("d/a", "4") }, then: []string{"d"},
		},
		"the directory was renamed in the fork": {
			before: both, here: func(g *guest) { g.write("d/a", "2") }, fork: func(g *guest) { g.write("d/a", "3") },
			first: []string{"d/a"}, forkThen: func(g *guest) { g.rename("d", "e") }, then: []string{"e/a"},
		},
		"a removed directory was made again here": {
			before: both, here: func(g *guest) { g.remove("d") }, fork: func(g *guest) { g.write("d/a", "3") },
			first: []string{"d"}, hereThen: func(g *guest) { g.mkdir("d"); g.write("d/a", "4") }, then: []string{"d/a"},
		},
		"the mode of a directory alone": {
			before: both, here: func(g *guest) { g.chmod("d", 0o700) }, fork: func(g *guest) { g.chmod("d", 0o750) },
			first: []string{"d"}, hereThen: func(g *guest) { g.write("d/a", "2") }, forkThen: func(g *guest) { g.write("d/b", "3") }, then: []string{"d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			do := func(of bench, f func(g *guest)) {
				if f != nil {
					of.guest(f)
				}
			}
			if c.host != nil {
				do(b, c.host)
				b.pull(b.ws)
				must(t, os.Remove(b.db))
			}
			do(b, c.before)
			fork := b.fork()
			merge := func(want []string) {
				t.Helper()
				out, told, err := b.merge(fork)
				if named := conflicts(told); !errors.Is(err, ErrConflicts) || fmt.Sprint(named) != fmt.Sprint(want) {
					t.Errorf("in conflict: %q, and not %q: %v\n%s%s", named, want, err, out, told)
				}
			}
			do(b, c.here)
			do(fork, c.fork)
			merge(c.first)
			do(b, c.hereThen)
			do(fork, c.forkThen)
			for range 2 {
				merge(c.then)
			}
			if _, told, err := b.merge(fork, ourMerge); err != nil || told != "" {
				t.Errorf("left as it is here: %v\n%s", err, told)
			}
			if _, told, err := b.merge(fork); err != nil || told != "" {
				t.Errorf("and again: %v\n%s", err, told)
			}
		})
	}
}
