package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	artfs "github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/sqlvfs"
)

func (g *guest) link(from, to string) {
	g.t.Helper()
	e, err := g.find(from)
	g.must(err)
	dir, name := g.parent(to)
	_, err = g.overlay.Link(agent, e.Ino, dir, name)
	g.must(err)
}

func (g *guest) setXattr(rel, name, value string) {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	g.must(g.overlay.Setxattr(agent, e.Ino, name, []byte(value), 0))
}

// A dry run says what the run does, also where one path stays because another one cannot be done.
func TestDryRunIsTheRun(t *testing.T) {
	for _, pushed := range []bool{true, false} {
		b := newBench(t)
		b.write("f", "content of f")
		b.write("e", "content of e")
		if pushed {
			b.push()
		}
		b.guest(func(g *guest) {
			g.remove("e")
			g.rename("f", "e")
		})
		must(t, os.Remove(b.path("e")))
		out, told, err := b.run(Pull, b.ws, dryRun)
		realOut, realTold, realErr := b.run(Pull, b.ws)
		if out != realOut || told != realTold || fmt.Sprint(err) != fmt.Sprint(realErr) {
			t.Errorf("pushed %v: the dry run says\n%s%s%v\nthe run\n%s%s%v", pushed, out, told, err, realOut, realTold, realErr)
		}
	}
}

// TestOneAspectEach has one side change a file's content, and the other one what else there is to a file.
// Neither is in the other's way, and both sides have both in the end.
func TestOneAspectEach(t *testing.T) {
	type side struct {
		write, chmod, rename, link, touch func(b bench)
	}
	inGuest := func(f func(g *guest)) func(bench) { return func(b bench) { b.guest(f) } }
	guest := side{
		write:  inGuest(func(g *guest) { g.write("f", "new") }),
		chmod:  inGuest(func(g *guest) { g.chmod("f", 0o755) }),
		rename: inGuest(func(g *guest) { g.rename("f", "g") }),
		link:   inGuest(func(g *guest) { g.link("f", "g") }),
		touch: inGuest(func(g *guest) {
			e, err := g.find("f")
			g.must(err)
			_, err = g.overlay.Setattr(agent, e.Ino, artfs.SetAttr{Mtime: &sqlvfs.Timespec{Sec: 5}})
			g.must(err)
		}),
	}
	host := side{
		write: func(b bench) { b.write("f", "new") },
		chmod: func(b bench) { must(b.t, os.Chmod(b.path("f"), 0o755)) },
		link:  func(b bench) { must(b.t, os.Link(b.path("f"), b.path("g"))) },
		touch: func(b bench) { setMtime(t, b.path("f"), 1_000_000_000, 0) },
	}
	for name, does := range map[string][2]func(bench){
		"guest chmod, host writes":   {guest.chmod, host.write},
		"guest renames, host writes": {guest.rename, host.write},
		"guest links, host writes":   {guest.link, host.write},
		"guest touches, host writes": {guest.touch, host.write},
		"guest writes, host chmod":   {guest.write, host.chmod},
		"guest writes, host links":   {guest.write, host.link},
		"guest writes, host touches": {guest.write, host.touch},
	} {
		for _, pushed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, pushed %v", name, pushed), func(t *testing.T) {
				b := newBench(t)
				b.write("f", "old")
				if pushed {
					b.push()
				} else if strings.Contains(name, "host touches") {
					t.Skip("what a file was is known by its hash then")
				}
				does[0](b)
				does[1](b)
				out, told, err := b.run(Pull, b.ws)
				if err != nil || told != "" {
					t.Fatalf("%v\n%s%s", err, out, told)
				}
				at := "f"
				if strings.Contains(name, "renames") {
					at = "g"
					wantAbsent(t, b.path("f"))
				}
				wantContent(t, b.path(at), "new")
				if strings.Contains(name, "chmod") && b.stat(at).Mode&0o777 != 0o755 {
					t.Errorf("mode %o", b.stat(at).Mode)
				}
				if f, g := b.stat(at), b.hostPortrait()["g"]; strings.Contains(name, "guest links") && (g != "file new" || f.Nlink != 2) {
					t.Errorf("g is %s, %d names", g, f.Nlink)
				}
				if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
					t.Errorf("again:\n%s%s", out, told)
				}
				if out := b.diff(); out != "" && !strings.Contains(name, "host writes") {
					t.Errorf("differ:\n%s", out)
				}
			})
		}
	}
}

// A conflict about a file holds for all of its names.
func TestConflictHoldsForAllNames(t *testing.T) {
	b := newBench(t)
	b.write("a", "old")
	must(t, os.Link(b.path("a"), b.path("b")))
	b.push()
	b.guest(func(g *guest) { g.write("b", "of the guest") })
	must(t, os.Remove(b.path("a")))
	b.write("a", "of the host")
	out, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrConflicts) || !strings.Contains(told, "CONFLICT ws/a: ") || !strings.Contains(told, "CONFLICT ws/b: ") {
		t.Errorf("%v\n%s%s", err, out, told)
	}
	wantContent(t, b.path("a"), "of the host")
	wantContent(t, b.path("b"), "old")
	b.pull(b.ws, force)
	wantContent(t, b.path("a"), "of the guest")
	if first, second := b.stat("a"), b.stat("b"); objectOf(&first) != objectOf(&second) {
		t.Error("the names are torn apart")
	}
}

// What diff shows is what pull does: modes and extended attributes too, and what is left alone is marked.
func TestDiffShowsWhatPullDoes(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"key", "tagged", "both", "gone"} {
		b.write(name, "old")
	}
	must(t, unix.Mkdir(b.path("d"), 0o755))
	b.push()
	b.guest(func(g *guest) {
		g.chmod("key", 0o666)
		g.chmod("d", 0o700)
		g.write("both", "of the guest")
		g.remove("gone")
		g.mkdir(".git")
		g.mkdir(".git/hooks")
		g.write(".git/hooks/pre-commit", "evil")
		g.setXattr("tagged", "user.art", "1")
	})
	b.write("both", "of the host")
	b.write("gone", "of the host")
	want := `A .git/
A .git/hooks/pre-commit (held: git runs it)
M both (conflict: changed by the guest and changed on the host)
T d/
D gone (conflict: deleted by the guest and changed on the host)
T key
T tagged
`
	if got := b.diff(); got != want {
		t.Errorf("printed:\n%swant:\n%s", got, want)
	}
	json := b.diff(asForm(JSON))
	for _, want := range []string{
		`"path":"both","kind":"file","old_mode":"100644","new_mode":"100644","old_size":11,"new_size":12,"conflict":true`,
		`"new_size":4,"held":true,"why":"git runs it"`,
	} {
		if !strings.Contains(json, want) {
			t.Errorf("no %s in\n%s", want, json)
		}
	}
	_, told, _ := b.run(Pull, b.ws)
	for _, want := range []string{"CONFLICT ws/both: changed by", "CONFLICT ws/gone: deleted by", "HELD ws/.git/hooks/pre-commit: git runs it"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %s in\n%s", want, told)
		}
	}
	if b.stat("key").Mode&0o777 != 0o666 || b.stat("d").Mode&0o777 != 0o700 {
		t.Errorf("modes %o and %o", b.stat("key").Mode, b.stat("d").Mode)
	}
}

// A file of two names, of which the host removes or replaces one and the guest the other, is lost to neither.
func TestLastName(t *testing.T) {
	remove, replace := func(b bench) { must(t, os.Remove(b.path("c"))) }, func(b bench) { must(t, os.Rename(b.path("b"), b.path("c"))) }
	for name, host := range map[string]func(bench){"removed": remove, "replaced": replace} {
		for what, inGuest := range map[string]func(*guest){
			"removed":            func(g *guest) { g.remove("a") },
			"replaced":           func(g *guest) { g.remove("a"); g.write("a", "new") },
			"removed, chmod":     func(g *guest) { g.chmod("c", 0o755); g.remove("a") },
			"replaced, chmod":    func(g *guest) { g.chmod("c", 0o755); g.remove("a"); g.write("a", "new") },
			"replaced by a link": func(g *guest) { g.remove("a"); g.link("b", "a") },
		} {
			for _, first := range []string{"", "push", "pull", "push pull"} {
				b := newBench(t)
				b.write("a", "precious")
				b.write("b", "another")
				must(t, os.Link(b.path("a"), b.path("c")))
				if strings.HasPrefix(first, "push") {
					b.push()
				}
				b.guest(inGuest)
				host(b)
				order := []func(context.Context, Options) error{Push, Pull, Push, Pull}
				if strings.HasSuffix(first, "pull") {
					order = order[1:]
				}
				told := ""
				for _, do := range order {
					_, said, err := b.run(do, b.ws)
					if err != nil && !errors.Is(err, ErrConflicts) {
						t.Fatal(err)
					}
					told += said
				}
				var inside map[string]string
				b.guest(func(g *guest) { inside = g.portrait() })
				if outside := b.hostPortrait(); !strings.Contains(fmt.Sprint(outside, inside), "precious") || !strings.Contains(told, "CONFLICT") {
					t.Errorf("%s on the host, %s in the guest, first %q: the host has %v, the guest %v\n%s", name, what, first, outside, inside, told)
				}
				if _, told, err := b.run(Pull, b.ws, force); err != nil {
					t.Errorf("--force: %v %s", err, told)
				}
			}
		}
	}
}

// What the host changed of a file beside its content holds for the name that the guest has given it, too.
func TestLinkOfWhatTheHostChmods(t *testing.T) {
	for _, pushed := range []bool{false, true} {
		for _, name := range []string{"a", "c"} {
			b := newBench(t)
			b.write("b", "1")
			if pushed {
				b.push()
			}
			b.guest(func(g *guest) { g.link("b", name) })
			must(t, os.Chmod(b.path("b"), 0o755))
			for range 2 {
				b.pull(b.ws)
				b.push()
			}
			var inside map[string]string
			b.guest(func(g *guest) { inside = g.portrait() })
			for _, at := range []string{"b", name} {
				if got := b.hostPortrait()[at]; got != "executable 1" || inside[at] != got {
					t.Errorf("pushed %v, %s: the host has %s, the guest %s", pushed, at, got, inside[at])
				}
			}
		}
	}
}

// A dry run knows which of the host's files a row stands for once the run would have stored it.
func TestDryRunOfWhatBothMoved(t *testing.T) {
	b := newBench(t)
	b.write("b", "1")
	b.push()
	b.guest(func(g *guest) { g.write("d", "moved by both") })
	b.push()
	b.pull(b.ws)
	b.push()
	b.guest(func(g *guest) { g.append("b", "2"); g.rename("d", "b") })
	must(t, os.Rename(b.path("d"), b.path("b")))
	b.write("d", "new")
	if _, _, err := b.run(Pull, b.ws); err != nil && !errors.Is(err, ErrConflicts) {
		t.Error(err)
	}
	tried, _, _ := b.run(Push, b.ws, dryRun)
	if did, _, err := b.run(Push, b.ws); inodeNumbers.ReplaceAllString(tried, ")") != inodeNumbers.ReplaceAllString(did, ")") {
		t.Errorf("tried:\n%sdone:\n%s%v", tried, did, err)
	}
}

// What is decided about a name does not depend on whether another name of its file was stored before it.
func TestDryRunOfAFileOfTwoNames(t *testing.T) {
	b := newBench(t)
	b.write("b", "another")
	b.write("c", "1")
	must(t, os.Link(b.path("c"), b.path("d")))
	b.push()
	b.guest(func(g *guest) { g.remove("d") })
	must(t, os.Rename(b.path("b"), b.path("d")))
	b.write("c", "2 of the host")
	tried, toldTried, _ := b.run(Push, b.ws, dryRun)
	did, told, err := b.run(Push, b.ws)
	if inodeNumbers.ReplaceAllString(tried, ")") != inodeNumbers.ReplaceAllString(did, ")") || toldTried != told {
		t.Errorf("tried:\n%s%sdone:\n%s%s%v", tried, toldTried, did, told, err)
	}
}

// What the guest has removed is no name of the file that the host moves there.
func TestDryRunOverWhatTheGuestRemoved(t *testing.T) {
	b := newBench(t)
	b.write("a", "a")
	b.write("b", "b")
	b.guest(func(g *guest) { g.rename("b", "a"); g.write("b", "guest") })
	b.write("c", "c")
	both := func() {
		b.run(Push, b.ws)
		b.run(Pull, b.ws)
		b.run(Push, b.ws)
	}
	both()
	b.guest(func(g *guest) { g.remove("b") })
	b.write("b", "host")
	b.write("a", "host")
	both()
	must(t, os.Rename(b.path("a"), b.path("b")))
	b.write("a", "new")
	tried, toldTried, _ := b.run(Push, b.ws, dryRun)
	did, told, err := b.run(Push, b.ws)
	if inodeNumbers.ReplaceAllString(tried, ")") != inodeNumbers.ReplaceAllString(did, ")") || toldTried != told || !errors.Is(err, ErrConflicts) {
		t.Errorf("tried:\n%s%sdone:\n%s%s%v", tried, toldTried, did, told, err)
	}
}
