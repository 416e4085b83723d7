package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	artfs "github.com/riverlytech/art/fs"
)

// A push beside a session brings what the host has, and the guest sees it at once.
func TestPushBesideSession(t *testing.T) {
	for name, stored := range map[string]bool{"rows of what the guest wrote": false, "rows of all": true} {
		t.Run(name, func(t *testing.T) { pushBeside(t, stored) })
	}
}

func pushBeside(t *testing.T, stored bool) {
	b := newBench(t)
	for _, rel := range []string{"file", "kept", "mode", "gone", "dir/in", "dir/gone", "renamed/in", "hidden/in", "becomes"} {
		b.write(rel, "host "+rel)
	}
	if stored {
		b.push()
	}
	b.guest(func(g *guest) {
		beside := g.serves()
		for _, rel := range []string{"file", "mode", "gone", "dir/in", "dir/gone", "becomes"} {
			g.write(rel, "guest "+rel)
		}
		g.mkdir("made")
		g.write("made/in", "guest made/in")
		g.symlink("file", "link")
		g.rename("renamed", "moved")
		g.remove("hidden")
		b.pull(b.ws, beside, allow)
		g.portrait() // the kernel knows all of it
		open, err := g.find("file")
		must(t, err)

		large := strings.Repeat("0123456789abcdef", 1<<16) + "end"
		b.write("file", large)
		b.write("made/in", "host made/in")
		b.write("made/more", "host made/more")
		b.write("hidden/again", "host hidden/again")
		b.write("moved/in", "host moved/in")
		b.write("untouched/new", "host untouched/new")
		must(t, os.Chmod(b.path("mode"), 0o755))
		must(t, os.Remove(b.path("gone")))
		must(t, os.RemoveAll(b.path("dir")))
		must(t, os.Remove(b.path("link")))
		must(t, os.Symlink("kept", b.path("link")))
		must(t, os.Remove(b.path("becomes")))
		b.write("becomes/a/directory", "host becomes/a/directory")

		dry, _ := b.push(beside, dryRun)
		out, told := b.push(beside)
		if dry != out || told != "" {
			t.Errorf("dry run:\n%s\npush:\n%s%s", dry, out, told)
		}
		want := b.hostPortrait()
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Fatalf("pushed:\n%s\nthe guest differs: %s", out, differences(got, want))
		}
		data := make([]byte, 100)
		if n, err := g.overlay.Read(open.Ino, data, 0); err != nil || string(data[:n]) != "guest file" {
			t.Errorf("who has it open reads %q, %v", data[:n], err)
		}
		for _, again := range []func(){func() { out, told = b.push(beside) }, func() { out, told = b.pull(b.ws, beside) }} {
			if again(); strings.Count(out, "\n") != 2 || told != "" {
				t.Errorf("again:\n%s%s", out, told)
			}
		}

		// What the guest goes on to change is pending.
		g.append("file", ", and more")
		g.write("made/in", "guest made/in 2")
		g.remove("becomes/a/directory")
		b.pull(b.ws, beside)
		want = g.portrait()
		if got := b.hostPortrait(); !maps.Equal(got, want) {
			t.Fatalf("the host differs: %s", differences(got, want))
		}
	})
	b.checkAll()
	want := b.hostPortrait()
	b.push()
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Fatalf("after the session:\n%s%s", out, told)
	}
	b.guest(func(g *guest) {
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Fatalf("after the session, the guest differs: %s", differences(got, want))
		}
	})
	b.checkAll()
}

// Of a self-contained database the guest sees nothing of the host's: all that is new comes by the push, and is in the database.
func TestPushBesideContained(t *testing.T) {
	b := newBench(t)
	b.write("file", "host")
	b.write("dir/in", "host")
	b.guest(func(g *guest) {
		g.write("own", "guest")
		must(t, g.overlay.Flatten(t.Context(), artfs.FlattenOptions{
			Progress: func(int, int64) {},
			Failed:   func(path string, err error) { t.Errorf("%s: %v", path, err) },
		}))
	})
	b.pull(b.ws)
	b.guest(func(g *guest) {
		beside := g.serves()
		g.portrait()
		for i := range 2 {
			n := fmt.Sprint(i)
			b.write("file", "host "+n)
			b.write("new"+n, "host")
			b.write("dir/new"+n, "host")
			b.write("made/in"+n, "host")
			b.write("made/deep"+n+"/a/in", "host")
			b.write("made/deep"+n+"/b/in", "host")
			must(t, os.Symlink("in", b.path("made/link"+n)))
			b.push(beside)
			want := b.hostPortrait()
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Fatalf("the guest differs: %s", differences(got, want))
			}
		}
		for rel, want := range map[string]uint32{"made": 4, "made/deep1": 4, "made/deep1/a": 2} {
			if e, err := g.find(rel); err != nil || e.Attr.Nlink != want {
				t.Errorf("%s has %d links, want %d (%v)", rel, e.Attr.Nlink, want, err)
			}
		}
		b.write("made/later", "host")
		if _, err := g.find("made/later"); err != unix.ENOENT {
			t.Errorf("the guest sees what was not pushed: %v", err)
		}
		must(t, os.Remove(b.path("made/later")))
	})
	b.checkAll()
	if n := b.count("SELECT count(*) FROM art_origin"); n != 0 {
		t.Errorf("%d rows have an origin", n)
	}
	want := b.hostPortrait()
	must(t, os.RemoveAll(b.ws)) // the database alone
	b.pull(b.ws)
	if got := b.hostPortrait(); !maps.Equal(got, want) {
		t.Fatalf("the database differs: %s", differences(got, want))
	}
}

// A name that a pull beside a session has brought, and whose file the host has removed since, is the host's again.
func TestPushBesideFreesNames(t *testing.T) {
	b := newBench(t)
	b.write("other", "host")
	b.push()
	b.guest(func(g *guest) {
		beside := g.serves()
		g.write("file", "guest")
		b.pull(b.ws, beside)
		must(t, os.Remove(b.path("file")))
		b.push(beside)
		if _, err := g.find("file"); err != unix.ENOENT {
			t.Errorf("the guest has what the host has removed: %v", err)
		}
		b.write("file", "host")
		if got := g.read("file"); got != "host" {
			t.Errorf("the guest reads %q", got)
		}
		b.push(beside)
		if out, told := b.pull(b.ws, beside); strings.Count(out, "\n") != 2 || told != "" {
			t.Errorf("pull:\n%s%s", out, told)
		}
	})
	b.checkAll()
}

// What both have changed is a conflict, also beside a session.
func TestPushBesideConflicts(t *testing.T) {
	b := newBench(t)
	for _, rel := range []string{"both", "removed", "taken"} {
		b.write(rel, "before")
	}
	b.write("linked", "before")
	must(t, os.Link(b.path("linked"), b.path("other")))
	b.guest(func(g *guest) {
		beside := g.serves()
		g.write("both", "guest")
		g.remove("removed")
		g.write("taken", "guest")
		g.write("linked", "guest")
		for _, rel := range []string{"both", "removed", "linked"} {
			b.write(rel, "host")
		}
		must(t, os.Remove(b.path("taken")))
		_, told, err := b.run(Push, b.ws, beside)
		if !errors.Is(err, ErrConflicts) || strings.Count(told, "CONFLICT") != 4 {
			t.Fatalf("%v\n%s", err, told)
		}
		if got := g.portrait(); got["both"] != "file guest" || got["taken"] != "file guest" || got["removed"] != "" {
			t.Fatalf("%v", got)
		}
		_, told, err = b.run(Push, b.ws, beside, force)
		if !errors.Is(err, ErrConflicts) || strings.Count(told, "CONFLICT") != strings.Count(told, linked) {
			t.Fatalf("%v\n%s", err, told)
		}
		if got := g.portrait(); got["both"] != "file host" || got["taken"] != "" || got["removed"] != "file host" {
			t.Fatalf("%v", got)
		}
	})
	b.checkAll()
	b.push(force)
	b.guest(func(g *guest) {
		if got, want := g.portrait(), b.hostPortrait(); !maps.Equal(got, want) {
			t.Fatalf("the guest differs: %s", differences(got, want))
		}
	})
}

// What the guest does while a push decides is never lost.
func TestPushBesideIsOvertaken(t *testing.T) {
	b := newBench(t)
	for i := range 5 {
		b.write(fmt.Sprint("dir/", i), "before")
	}
	b.guest(func(g *guest) {
		for i := range 5 {
			g.write(fmt.Sprint("dir/", i), "guest")
		}
		b.pull(b.ws, g.serves())
		for i := range 4 {
			b.write(fmt.Sprint("dir/", i), "host")
		}
		must(t, os.Remove(b.path("dir/4")))
		var mu sync.Mutex
		times := 0 // GUARDED_BY(mu)
		_, told, err := b.run(Push, b.ws, g.beforeAmend(func() {
			mu.Lock()
			defer mu.Unlock()
			switch times++; times {
			case 1:
				g.write("dir/0", "guest again")
				g.remove("dir/1")
				g.write("dir/new", "guest")
			case 2:
				g.rename("dir", "renamed")
				g.append("renamed/4", " again")
			}
		}))
		mu.Lock()
		defer mu.Unlock()
		if !errors.Is(err, ErrConflicts) || times != 3 {
			t.Fatalf("%d attempts: %v\n%s", times, err, told)
		}
		got := g.portrait()
		want := map[string]string{"renamed": "dir", "renamed/0": "file guest again", "renamed/4": "file guest again", "renamed/new": "file guest"}
		for at, is := range want {
			if got[at] != is {
				t.Errorf("%s is %q, want %q", at, got[at], is)
			}
		}
	})
	b.checkAll()
}

// A file of any size is never in memory as a whole.
func TestPushBesideLarge(t *testing.T) {
	b := newBench(t)
	b.write("large", "small")
	b.write("sparse", "small")
	b.guest(func(g *guest) {
		g.chmod("large", 0o600)
		g.write("large", "guest")
		g.write("sparse", "guest")
		beside := g.serves()
		b.pull(b.ws, beside)
		want := strings.Repeat("the quick brown fox jumps over the lazy dog", 1<<20)
		b.write("large", want)
		must(t, os.Truncate(b.path("sparse"), 1<<30))
		for i := range 2000 {
			b.write(fmt.Sprint("many/", i), "host")
		}
		b.push(beside)
		if got := g.read("large"); got != want {
			t.Errorf("large has %d bytes, want %d", len(got), len(want))
		}
		e, err := g.find("sparse")
		must(t, err)
		if e.Attr.Size != 1<<30 {
			t.Errorf("sparse has %d bytes", e.Attr.Size)
		}
		must(t, g.store.Sync())
	})
	b.checkAll()
	if n := b.count("SELECT count(*) FROM art_orphan"); n != 0 {
		t.Errorf("%d orphans are left", n)
	}
	var st unix.Stat_t
	must(t, unix.Stat(b.db, &st))
	if st.Size > 100<<20 {
		t.Errorf("the database has %d bytes", st.Size)
	}
}

// --keep-both resolves conflicts beside a session too, unless the guest goes on to change what is in conflict.
func TestKeepBothBeside(t *testing.T) {
	for _, again := range []bool{false, true} {
		b := newBench(t)
		b.write("dir/both", "before")
		b.write("dir/removed", "before")
		b.write("dir/taken", "before")
		b.guest(func(g *guest) {
			g.write("dir/both", "guest")
			g.remove("dir/removed")
			g.write("dir/taken", "guest")
			g.write("pending", "guest")
			b.write("dir/both", "host")
			b.write("dir/removed", "host")
			must(t, os.Remove(b.path("dir/taken")))
			var amends atomic.Int32
			_, told, err := b.run(Pull, b.ws, keepBoth, g.beforeAmend(func() {
				if amends.Add(1) == 2 && again {
					g.write("dir/both", "guest again")
				}
			}))
			if (err != nil) != again || strings.Contains(told, "CONFLICT") != again {
				t.Fatalf("again %v: %v\n%s", again, err, told)
			}
			want := map[string]string{
				"dir": "dir", "dir/both": "file host", "dir/both.art": "file guest", "dir/removed": "file host", "dir/taken": "file guest", "pending": "file guest",
			}
			if got := b.hostPortrait(); !maps.Equal(got, want) {
				t.Errorf("the host differs: %s", differences(got, want))
			}
			if again {
				want["dir/both"] = "file guest again"
				delete(want, "dir/removed")
			}
			if got := g.portrait(); !maps.Equal(got, want) {
				t.Errorf("again %v: the guest differs: %s", again, differences(got, want))
			}
			if out, told, err := b.run(Pull, b.ws, g.serves()); !again && (err != nil || strings.Count(out, "\n") != 2 || told != "") {
				t.Errorf("again: %v\n%s%s", err, out, told)
			}
		})
		b.checkAll()
	}
}
