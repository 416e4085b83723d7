package reconcile

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// What the guest wrote under one of a host file's names is in conflict with what the host wrote under
// another: neither is overwritten, under any of the names.
func TestPushDecidesAboutAllNames(t *testing.T) {
	for what, story := range map[string]func(b bench){
		"written under another name": func(b bench) {
			must(t, os.Mkdir(b.path("b"), 0o755))
			must(t, os.Link(b.path("a"), b.path("b/b")))
			b.guest(func(g *guest) { g.write("b/b", "guest") })
			b.write("a", "host")
		},
		"linked by the host": func(b bench) {
			b.guest(func(g *guest) { g.write("a", "guest") })
			b.write("a", "host")
			must(t, os.Mkdir(b.path("b"), 0o755))
			must(t, os.Link(b.path("a"), b.path("b/b")))
		},
	} {
		for _, pushed := range []bool{false, true} {
			b := newBench(t)
			b.write("a", "1")
			if pushed {
				b.push()
			}
			story(b)
			var was map[string]string
			b.guest(func(g *guest) { was = g.portrait() })
			for _, change := range []func(*Options){dryRun, func(*Options) {}} {
				_, told, err := b.run(Push, b.ws, change)
				if named := conflicts(told); !errors.Is(err, ErrConflicts) || len(named) != 2 || named[0] != "a" || named[1] != "b/b" {
					t.Errorf("%s, pushed %v: %v\n%s", what, pushed, err, told)
				}
			}
			wantContent(t, b.path("a"), "host")
			b.guest(func(g *guest) {
				if is := g.portrait(); is["a"] != was["a"] || is["b/b"] != was["b/b"] {
					t.Errorf("%s, pushed %v: the guest had %v, and has %v", what, pushed, was, is)
				}
			})
			b.push(force)
			b.guest(func(g *guest) {
				g.append("a", "+")
				if g.read("a") != "host+" || g.read("b/b") != "host+" {
					t.Errorf("%s, pushed %v: forced, the guest has %v", what, pushed, g.portrait())
				}
			})
		}
	}
}

// The host's new content reaches a file that the guest has renamed, linked or made executable, and that
// change stays.
func TestPushMergesAspects(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"renamed", "linked", "executable"} {
		b.write(name, "1")
	}
	b.push()
	b.guest(func(g *guest) {
		g.rename("renamed", "elsewhere")
		g.link("linked", "other")
		g.chmod("executable", 0o755)
	})
	for _, name := range []string{"renamed", "linked", "executable"} {
		b.write(name, "host")
	}
	b.push()
	want := map[string]string{"elsewhere": "file host", "linked": "file host", "other": "file host", "executable": "executable host"}
	b.guest(func(g *guest) {
		for at, content := range want {
			if got := g.portrait()[at]; got != content {
				t.Errorf("%s: %q, not %q", at, got, content)
			}
		}
	})
	b.checkRows()
}

// A host file that got another name, or lost one, takes along what the guest wrote to it.
func TestPushOfNamesKeepsContent(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	b.write("c", "1")
	b.push()
	b.guest(func(g *guest) { g.write("a", "guest a"); g.write("c", "guest c") })
	must(t, os.Link(b.path("a"), b.path("b")))
	must(t, os.Rename(b.path("c"), b.path("d")))
	b.push()
	b.guest(func(g *guest) {
		all := g.portrait()
		if all["a"] != "file guest a" || all["b"] != "file guest a" || all["d"] != "file guest c" || all["c"] != "" {
			t.Errorf("the guest has %v", all)
		}
	})
	b.checkRows()
}

// A row that holds all of its content keeps it, and its size, when the host writes to the file that the guest
// has given another name.
func TestPullOfALinkToWhatTheHostWrote(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	b.guest(func(g *guest) { g.write("a", "of the guest") })
	b.push()
	b.pull(b.ws)
	b.guest(func(g *guest) { g.link("a", "d") })
	b.write("a", "host")
	b.pull(b.ws)
	if damage, err := fsck.Check(b.db); len(damage) > 0 || err != nil {
		t.Errorf("the database is damaged: %v %v", damage, err)
	}
	if got := b.hostPortrait(); got["a"] != "file host" || got["d"] != "file host" {
		t.Errorf("the host has %v", got)
	}
}

// What the host makes under a name that a pull has removed is another file than the guest's renamed one.
func TestNewFileUnderTheNameOfARenamedOne(t *testing.T) {
	b := newBench(t)
	b.write("b", "1")
	b.write("d", "the guest moves it")
	b.guest(func(g *guest) { g.rename("d", "b") })
	must(t, os.Remove(b.path("b")))
	if _, _, err := b.run(Push, b.ws); !errors.Is(err, ErrConflicts) {
		t.Errorf("b is no conflict: %v", err)
	}
	if _, _, err := b.run(Pull, b.ws); !errors.Is(err, ErrConflicts) {
		t.Errorf("b is no conflict: %v", err)
	}
	b.write("d", "new")
	if _, _, err := b.run(Push, b.ws); !errors.Is(err, ErrConflicts) {
		t.Errorf("b is no conflict: %v", err)
	}
	b.guest(func(g *guest) {
		if got := g.portrait(); got["b"] != "file the guest moves it" || got["d"] != "file new" {
			t.Errorf("the guest has %v", got)
		}
	})
}

// A link to a host file that the host has removed meanwhile has no content left: pull says so, as its dry run.
func TestPullOfALinkToWhatIsGone(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	b.guest(func(g *guest) { g.link("a", "b") })
	must(t, os.Remove(b.path("a")))
	for _, change := range []func(*Options){dryRun, func(*Options) {}} {
		if out, told, err := b.run(Pull, b.ws, change); !errors.Is(err, ErrConflicts) {
			t.Errorf("%s%s%v", out, told, err)
		}
	}
}

// What the guest wrote to a host file with several names stays when it removes the name that it wrote under.
func TestPushOfANameThatWasRemoved(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	must(t, os.Link(b.path("a"), b.path("b")))
	b.guest(func(g *guest) { g.write("a", "guest"); g.remove("a") })
	b.pull(b.ws)
	b.push()
	b.guest(func(g *guest) {
		if got := g.portrait(); got["b"] != "file guest" {
			t.Errorf("the guest has %v", got)
		}
	})
}

// A push gives a file that the guest has written to all of the names that it has on the host, and what the guest wrote is no
// conflict under any of them, in a pull after that.
func TestPullAfterAPushOfOtherNames(t *testing.T) {
	for what, agree := range map[string]bool{"after a pull": true, "at once": false} {
		b := newBench(t)
		b.write("a", "1")
		b.write("dir/in", "")
		must(t, os.Link(b.path("a"), b.path("b")))
		must(t, os.Link(b.path("a"), b.path("dir/c")))
		if agree {
			b.guest(func(g *guest) {
				beside := g.serves()
				g.write("b", "guest")
				b.pull(b.ws, beside)
				g.append("b", ", and more")
			})
		} else {
			b.guest(func(g *guest) { g.append("b", ", and more") })
		}
		for range 2 {
			b.push()
		}
		b.pull(b.ws)
		want := b.hostPortrait()
		if !strings.HasSuffix(want["a"], ", and more") || want["b"] != want["a"] || want["dir/c"] != want["a"] {
			t.Errorf("%s: the host has %v", what, want)
		}
		if st := b.stat("a"); st.Nlink != 3 {
			t.Errorf("%s: a has %d links", what, st.Nlink)
		}
		b.guest(func(g *guest) {
			if is := g.portrait(); !maps.Equal(is, want) {
				t.Errorf("%s: the guest has %v, the host %v", what, is, want)
			}
		})
		if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
			t.Errorf("%s: again:\n%s%s", what, out, told)
		}
		b.checkAll()
	}
}

// The host has renamed a file that the guest has written to: a push gives the guest's the name, and a pull brings it there.
func TestPullAfterAPushOfANewName(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	b.guest(func(g *guest) { g.append("a", ", guest") })
	must(t, os.Rename(b.path("a"), b.path("b")))
	b.push()
	b.pull(b.ws)
	want := map[string]string{"b": "file 1, guest"}
	if is := b.hostPortrait(); !maps.Equal(is, want) {
		t.Errorf("the host has %v", is)
	}
	b.guest(func(g *guest) {
		if is := g.portrait(); !maps.Equal(is, want) {
			t.Errorf("the guest has %v", is)
		}
	})
}

// What the host writes to a file after the guest has removed it stays, also if it had other names then.
func TestPullKeepsWhatTheGuestDidNotSee(t *testing.T) {
	b := newBench(t)
	b.write("a", "1")
	must(t, os.Link(b.path("a"), b.path("b")))
	b.guest(func(g *guest) { g.remove("a"); g.remove("b") })
	must(t, os.Remove(b.path("b")))
	b.write("a", "host's new words")
	if _, told, err := b.run(Pull, b.ws); !errors.Is(err, ErrConflicts) {
		t.Errorf("%v\n%s", err, told)
	}
	wantContent(t, b.path("a"), "host's new words")
	b = newBench(t)
	b.write("a", "1")
	must(t, os.Link(b.path("a"), b.path("b")))
	b.guest(func(g *guest) { g.remove("a") })
	b.write("a", "host's new words")
	if _, told, err := b.run(Pull, b.ws); err != nil && !errors.Is(err, ErrConflicts) {
		t.Errorf("%v\n%s", err, told)
	}
	wantContent(t, b.path("b"), "host's new words")
}

// Where the guest has a file and the host a directory, the file stays, also if what the host has in the directory
// is another name of what the guest has elsewhere.
func TestPushLinksNothingBelowAConflict(t *testing.T) {
	b := newBench(t)
	b.write("c", "c")
	b.push()
	b.guest(func(g *guest) {
		g.write("d", "guest")
		g.rename("c", "b")
	})
	must(t, os.Mkdir(b.path("d"), 0o755))
	must(t, os.Link(b.path("c"), b.path("d/b")))
	for _, change := range []func(*Options){dryRun, func(*Options) {}} {
		out, told, err := b.run(Push, b.ws, change)
		if named := conflicts(told); !errors.Is(err, ErrConflicts) || len(named) != 1 || named[0] != "d" || strings.Contains(out, "/d") {
			t.Errorf("%v\n%s%s", err, out, told)
		}
	}
	b.guest(func(g *guest) {
		if is := g.portrait(); is["d"] != "file guest" || is["b"] != "file c" {
			t.Errorf("the guest has %v", is)
		}
	})
	b.push(force)
	b.guest(func(g *guest) {
		if is := g.portrait(); is["d/b"] != "file c" {
			t.Errorf("forced, the guest has %v", is)
		}
	})
}

// A mode that the host has changed of a file with several names comes to each of them, in a dry run too.
func TestPushTellsModesOfAllNames(t *testing.T) {
	b := newBench(t)
	b.write("a", "host")
	b.push()
	b.guest(func(g *guest) { g.link("a", "b") })
	b.pull(b.ws)
	b.push()
	b.guest(func(g *guest) { g.link("a", "d") })
	must(t, os.Chmod(b.path("b"), 0o755))
	dry, _ := b.push(dryRun)
	out, _ := b.push()
	if dry != out || !strings.Contains(out, "FILE /ws/a ") || !strings.Contains(out, "FILE /ws/b ") {
		t.Errorf("a dry run told\n%sand push\n%s", dry, out)
	}
	b.guest(func(g *guest) {
		if is := g.portrait(); is["a"] != "executable host" || is["b"] != is["a"] || is["d"] != is["a"] {
			t.Errorf("the guest has %v", is)
		}
	})
}

// What push has just stored in a file is no change of the guest's, when another name of it goes.
func TestPushDeletesANameOfWhatItStores(t *testing.T) {
	b := newBench(t)
	b.write("a", "a")
	b.write("b", "b")
	b.guest(func(g *guest) { g.link("b", "c"); g.write("c", "guest") })
	b.pull(b.ws)
	b.push()
	b.guest(func(g *guest) { g.rename("c", "e") })
	b.write("b", "host")
	must(t, os.Rename(b.path("b"), b.path("d")))
	dry, dryTold, _ := b.run(Push, b.ws, dryRun)
	out, told, err := b.run(Push, b.ws)
	if dry != out || dryTold != told || !strings.Contains(out, "DEL  /ws/b\n") || err != nil {
		t.Errorf("%v: a dry run told\n%s%sand push\n%s%s", err, dry, dryTold, out, told)
	}
}

// Each side has removed another name of a file, and the host has written to the one that is left there: what it
// wrote is stored, and the guest's name stays.
func TestPushKeepsTheLastNameOfWhatItStores(t *testing.T) {
	b := newBench(t)
	b.write("c", "both")
	must(t, os.Link(b.path("c"), b.path("b")))
	b.push()
	b.guest(func(g *guest) {
		g.chmod("b", 0o755)
		g.remove("c")
	})
	hostEditor{b}.append("c", "host")
	must(t, os.Remove(b.path("b")))
	for range 2 {
		if _, told, err := b.run(Push, b.ws); !errors.Is(err, ErrConflicts) || !slices.Equal(conflicts(told), []string{"b"}) {
			t.Errorf("%v\n%s", err, told)
		}
		b.run(Pull, b.ws)
		b.guest(func(g *guest) {
			if is := g.portrait(); is["b"] != "executable bothhost" {
				t.Errorf("the guest has %v", is)
			}
		})
	}
}

// Once a file of the guest's has nothing to do with the host's any more, it has as many links as names.
func TestPullCountsTheNamesThatAreLeft(t *testing.T) {
	b := newBench(t)
	b.write("a", "host")
	b.push()
	b.guest(func(g *guest) { g.write("a", "guest") })
	must(t, os.Link(b.path("a"), b.path("b")))
	must(t, os.Truncate(b.path("b"), 0))
	b.guest(func(g *guest) {
		g.write("b", "guest, later")
		g.rename("b", "a")
	})
	out, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrConflicts) || !slices.Equal(conflicts(told), []string{"a"}) || !strings.Contains(out, "DEL  ws/b\n") {
		t.Errorf("%v\n%s%s", err, out, told)
	}
	if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
		t.Errorf("the database is damaged: %v %v", found, err)
	}
}

// The host has renamed a file that the guest has made executable, and put something else in its place: it stays one
// file. Of another file in that place, the name says more than the file does, as where an editor keeps the old one.
func TestPushKeepsWhatTheHostHasRenamed(t *testing.T) {
	for what, put := range map[string]func(at string) error{
		"a directory": func(at string) error { return os.Mkdir(at, 0o755) },
		"a link":      func(at string) error { return os.Symlink("d", at) },
		"a file":      func(at string) error { return os.WriteFile(at, []byte("another"), 0o644) },
	} {
		b := newBench(t)
		b.write("b", "host")
		b.guest(func(g *guest) { g.chmod("b", 0o755) })
		must(t, os.Rename(b.path("b"), b.path("d")))
		must(t, put(b.path("b")))
		b.push()
		if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
			t.Errorf("%s: the database is damaged: %v %v", what, found, err)
		}
		b.pull(b.ws)
		wantContent(t, b.path("d"), "host")
		b.guest(func(g *guest) {
			if is, host := g.portrait(), b.hostPortrait(); what != "a file" && is["d"] != "executable host" || !maps.Equal(is, host) {
				t.Errorf("%s: the guest has %v, the host %v", what, is, host)
			}
		})
	}
}

// The guest has linked a file to where the host has renamed it, and the host has made another one in its old place.
func TestPullLinksNothingOverWhatBothHave(t *testing.T) {
	b := newBench(t)
	b.write("a", "one")
	b.push()
	b.guest(func(g *guest) { g.link("a", "c") })
	must(t, os.Rename(b.path("a"), b.path("c")))
	b.write("a", "another")
	for range 2 {
		b.pull(b.ws)
		b.push()
	}
	wantContent(t, b.path("a"), "another")
	wantContent(t, b.path("c"), "one")
	b.guest(func(g *guest) {
		if is, host := g.portrait(), b.hostPortrait(); !maps.Equal(is, host) {
			t.Errorf("the guest has %v, the host %v", is, host)
		}
	})
}

// The host has changed the mode of a file that the guest has replaced by another name of one that it has written to.
func TestPullKeepsOneModeOfAllNames(t *testing.T) {
	b := newBench(t)
	b.write("a", "one")
	b.write("d", "two")
	must(t, os.Link(b.path("a"), b.path("b")))
	b.push()
	b.guest(func(g *guest) {
		g.rename("a", "d")
		g.write("b", "guest")
	})
	must(t, os.Chmod(b.path("d"), 0o755))
	for range 2 {
		b.pull(b.ws)
		b.push()
	}
	b.guest(func(g *guest) {
		if is, host := g.portrait(), b.hostPortrait(); !maps.Equal(is, host) || host["b"] != "file guest" || host["d"] != host["b"] {
			t.Errorf("the guest has %v, the host %v", is, host)
		}
	})
}

// Where the guest has put one of a file's names in the place of another file, and the host has given that other one a name of the first, both
// files go on: what comes by that name is not written into the guest's under its own.
func TestPushKeepsAFileThatLosesAName(t *testing.T) {
	b := newBench(t)
	b.write("c", "one")
	must(t, os.Link(b.path("c"), b.path("d")))
	b.write("a", "two")
	b.push()
	b.guest(func(g *guest) { g.rename("c", "a") })
	must(t, os.Rename(b.path("a"), b.path("d")))
	for _, f := range []func(context.Context, Options) error{Push, Pull, Push, Pull} {
		if _, _, err := b.run(f, b.ws); err != nil && !errors.Is(err, ErrConflicts) {
			t.Fatal(err)
		}
	}
	b.guest(func(g *guest) {
		if g.read("a") != "one" || g.read("d") != "two" {
			t.Errorf("the guest has %v", g.portrait())
		}
	})
	wantContent(t, b.path("d"), "two")
}
