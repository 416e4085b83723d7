package reconcile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// A session changed a byte of a large file: only that chunk is in the database.
func TestPullFileThatIsPartlyOnTheHost(t *testing.T) {
	b := newBench(t)
	content := strings.Repeat("0123456789abcdef", 20_000)
	b.write("big", content)
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		in := b.copyUp(s, ws, "big", "big", same)
		f, err := os.Open(b.path("big"))
		must(t, err)
		defer f.Close()
		must(t, s.WriteAt(in, []byte("CHANGED"), 100_000, f, sqlvfs.Now()))
	})
	b.keeps()
	want := content[:100_000] + "CHANGED" + content[100_007:]
	out, _ := b.pull(b.ws)
	if !strings.Contains(out, "FILE ws/big (320000 bytes)\n") {
		t.Errorf("printed:\n%s", out)
	}
	wantContent(t, b.path("big"), want)
	if left, _ := filepath.Glob(b.path(staging.Prefix + "*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	// The row still is what the guest wrote, now on top of the new file.
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		in := lookup(t, s, ws, "big")
		o := b.origin("big")
		o.Number = in.Origin.Number
		if *in.Origin != *o {
			t.Errorf("origin %+v, want %+v", in.Origin, o)
		}
		f, err := os.Open(b.path("big"))
		must(t, err)
		defer f.Close()
		got := make([]byte, len(want))
		_, err = s.ReadAt(in, got, 0, f)
		must(t, err)
		if string(got) != want {
			t.Error("the guest would read something else")
		}
	})
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("again:\n%s%s", out, told)
	}
}

func TestPullNeverMixesVersions(t *testing.T) {
	b := newBench(t)
	content := strings.Repeat("x", 200_000)
	b.write("big", content)
	b.write("other", "1")
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		f, err := os.Open(b.path("big"))
		must(t, err)
		defer f.Close()
		must(t, s.WriteAt(b.copyUp(s, ws, "big", "big", same), []byte("y"), 5, f, sqlvfs.Now()))
		must(t, s.WriteAt(b.copyUp(s, ws, "other", "other", same), []byte("2"), 0, nil, sqlvfs.Now()))
	})
	b.write("big", strings.Repeat("z", 200_000))
	_, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrConflicts) || told != "CONFLICT ws/big: changed by the guest and changed on the host: 65536 bytes of the guest's 200000 are in the database, the rest was in the host's version before\n" {
		t.Errorf("%v: %s", err, told)
	}
	wantContent(t, b.path("big"), strings.Repeat("z", 200_000))
	wantContent(t, b.path("other"), "2")
}

func TestPullAttributesOnly(t *testing.T) {
	b := newBench(t)
	b.write("tool", "#!/bin/sh\n")
	before := b.stat("tool")
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		b.copyUp(s, ws, "tool", "tool", func(a *sqlvfs.Attr) { a.Mode |= 0o111; a.Mtime.Sec = 7 })
	})
	out, _ := b.pull(b.ws)
	after := b.stat("tool")
	if !strings.Contains(out, "FILE ws/tool") || after.Mode&0o777 != 0o755 || after.Mtim.Sec != 7 {
		t.Errorf("mode %o, mtime %d, printed:\n%s", after.Mode, after.Mtim.Sec, out)
	}
	if after.Ino != before.Ino {
		t.Error("the content was copied")
	}
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("again:\n%s%s", out, told)
	}
}

// A file with another name outside of the workspace must not change there.
func TestPullLeavesOtherNamesAlone(t *testing.T) {
	b := newBench(t)
	b.write("tool", "#!/bin/sh\n")
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.Link(b.path("tool"), outside))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		b.copyUp(s, ws, "tool", "tool", func(a *sqlvfs.Attr) { a.Mode |= 0o111 })
	})
	b.pull(b.ws)
	st, err := os.Stat(outside)
	must(t, err)
	if st.Mode().Perm() != 0o644 || b.stat("tool").Mode&0o777 != 0o755 {
		t.Errorf("outside %v, inside %o", st.Mode(), b.stat("tool").Mode)
	}
}

// The guest swapped two files, and made a new one in the place of a third that it moved.
func TestPullRenamedFiles(t *testing.T) {
	b := newBench(t)
	b.write("a", "content of a")
	b.write("b", "content of b")
	b.write("c", "content of c")
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		b.copyUp(s, ws, "a", "b", same)
		b.copyUp(s, ws, "b", "a", same)
		b.copyUp(s, ws, "moved", "c", same)
		in := newRow(t, s, ws, "c", sqlvfs.Attr{Mode: 0o100600, Nlink: 1})
		must(t, s.WriteAt(in, []byte("new"), 0, nil, sqlvfs.Now()))
	})
	b.keeps()
	b.pull(b.ws)
	for name, want := range map[string]string{"a": "content of b", "b": "content of a", "moved": "content of c", "c": "new"} {
		wantContent(t, b.path(name), want)
	}
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		for _, name := range []string{"a", "b", "moved"} {
			in := lookup(t, s, ws, name)
			if st := b.stat(name); in.Origin.Path != name || in.Origin.Fingerprint != hostfs.Fingerprint(&st) {
				t.Errorf("origin of %s: %+v", name, in.Origin)
			}
		}
	})
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("again:\n%s%s", out, told)
	}
}

// What a row still depends on is not replaced when its own copy fails.
func TestPullKeepsWhatIsNeeded(t *testing.T) {
	b := newBench(t)
	b.write("c", "content of c")
	b.write("full/x", "in the way")
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		b.copyUp(s, ws, "full", "c", same)
		in := newRow(t, s, ws, "c", sqlvfs.Attr{Mode: 0o100600, Nlink: 1})
		must(t, s.WriteAt(in, []byte("new"), 0, nil, sqlvfs.Now()))
	})
	_, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrConflicts) || !strings.Contains(told, "CONFLICT ws/full: made by the guest and made on the host") || !strings.Contains(told, "CONFLICT ws/c: it stays as it is") {
		t.Errorf("%v: %s", err, told)
	}
	wantContent(t, b.path("c"), "content of c")
	wantContent(t, b.path("full/x"), "in the way")
}

// The guest renamed a directory, changed one file in it, deleted another, and made a new directory
// with the old name.
func TestPullRenamedDirectory(t *testing.T) {
	b := newBench(t)
	b.write("d/kept", "kept")
	b.write("d/changed", "old")
	b.write("d/gone", "gone")
	b.write("d/sub/deep", "deep")
	must(t, os.Symlink("kept", b.path("d/link")))
	must(t, os.Link(b.path("d/kept"), b.path("d/sub/same")))
	must(t, os.Chmod(b.path("d/sub"), 0o750))
	must(t, os.Chtimes(b.path("d/sub"), longAgo, longAgo))
	must(t, os.Chtimes(b.path("d/kept"), longAgo, longAgo))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		moved := b.copyUp(s, ws, "moved", "d", func(a *sqlvfs.Attr) { a.Mtime.Sec = 99 })
		must(t, s.WriteAt(b.copyUp(s, moved, "changed", "d/changed", same), []byte("new"), 0, nil, sqlvfs.Now()))
		step(t, s, func(tx *sqlvfs.Tx) {
			b.hide(tx, moved, "gone", "d/gone")
			fresh, err := tx.New(sqlvfs.Attr{Mode: 0o40755, Nlink: 2})
			must(t, err)
			must(t, tx.Link(ws, "d", fresh))
			file, err := tx.New(sqlvfs.Attr{Mode: 0o100644, Nlink: 1})
			must(t, err)
			must(t, tx.Link(fresh, "kept", file))
			ws.Attr.Nlink += 2
			tx.Dirty(ws)
		})
	})
	dry, _ := b.pull(b.ws, dryRun)
	out, told := b.pull(b.ws)
	if dry != out || told != "" {
		t.Errorf("dry run announced:\n%spull printed:\n%s%s", dry, out, told)
	}
	for name, want := range map[string]string{
		"moved/kept": "kept", "moved/changed": "new", "moved/sub/deep": "deep", "moved/link": "kept", "d/kept": "",
	} {
		wantContent(t, b.path(name), want)
	}
	for _, name := range []string{"moved/gone", "d/gone", "d/changed", "d/sub", "d/link"} {
		wantAbsent(t, b.path(name))
	}
	kept, linked := b.stat("moved/kept"), b.stat("moved/sub/same")
	if objectOf(&kept) != objectOf(&linked) {
		t.Error("the hard link is lost")
	}
	if !hostfs.Timespec(kept.Mtim).Time().Equal(longAgo) {
		t.Errorf("mtime %v", kept.Mtim)
	}
	sub, moved := b.stat("moved/sub"), b.stat("moved")
	if sub.Mode&0o777 != 0o750 || !hostfs.Timespec(sub.Mtim).Time().Equal(longAgo) || moved.Mtim.Sec != 99 {
		t.Errorf("sub: mode %o, mtime %v; moved: mtime %v", sub.Mode, sub.Mtim, moved.Mtim)
	}
	// The old name is not needed any more.
	must(t, os.RemoveAll(b.path("d")))
	must(t, os.Mkdir(b.path("d"), 0o755))
	b.write("d/kept", "")
	dir := b.other()
	must(t, os.CopyFS(dir, os.DirFS(b.ws).(fs.ReadDirFS)))
	_, told, err := b.run(Pull, b.ws)
	if err != nil || told != "" {
		t.Errorf("again: %v %s", err, told)
	}
	wantContent(t, b.path("moved/sub/deep"), "deep")
}

// A push makes the database complete: it holds what was on the host only.
func TestPushCompletesWhatASessionBegan(t *testing.T) {
	b := newBench(t)
	b.write("big", strings.Repeat("x", 100_000))
	b.write("gone", "1")
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		b.copyUp(s, ws, "big", "big", same)
		step(t, s, func(tx *sqlvfs.Tx) {
			b.hide(tx, ws, "gone", "gone")
		})
	})
	number := b.count("SELECT base_ino FROM fs_origin o JOIN fs_dentry d ON d.ino=o.delta_ino WHERE d.name='big'")
	b.push()
	b.checkRows()
	if n := b.count("SELECT base_ino FROM fs_origin o JOIN fs_dentry d ON d.ino=o.delta_ino WHERE d.name='big'"); n != number {
		t.Errorf("inode number %d, was %d", n, number)
	}
	must(t, os.Rename(b.ws, b.ws+".away"))
	must(t, os.Mkdir(b.ws, 0o755))
	b.pull(b.ws)
	wantContent(t, b.path("big"), strings.Repeat("x", 100_000))
	wantAbsent(t, b.path("gone"))
}

// The guest changed a host file that has two names, under one of them: in the guest, both changed.
func TestHostHardLinksStayTogether(t *testing.T) {
	b := newBench(t)
	b.write("d/a", "old content")
	b.write("d/sub/unrelated", "1")
	must(t, os.Link(b.path("d/a"), b.path("d/sub/b")))
	must(t, os.Link(b.path("d/a"), b.path("gone")))
	must(t, os.Link(b.path("d/a"), b.path("replaced")))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		d := b.copyUp(s, ws, "d", "d", same)
		a := b.copyUp(s, d, "a", "d/a", func(a *sqlvfs.Attr) { a.Nlink = 2 })
		must(t, s.WriteAt(a, []byte("NEW"), 0, strings.NewReader("old content"), sqlvfs.Now()))
		step(t, s, func(tx *sqlvfs.Tx) {
			b.hide(tx, ws, "gone", "gone")
			b.seen(tx, "replaced")
			other, err := tx.New(sqlvfs.Attr{Mode: 0o100644, Nlink: 1})
			must(t, err)
			must(t, tx.Link(ws, "replaced", other))
		})
	})
	dry, _ := b.pull(b.ws, dryRun)
	out, _ := b.pull(b.ws)
	if dry != out || !strings.Contains(out, "FILE ws/d/sub/b (11 bytes)") {
		t.Errorf("dry run announced:\n%spull printed:\n%s", dry, out)
	}
	first, other := b.stat("d/a"), b.stat("d/sub/b")
	if objectOf(&first) != objectOf(&other) || first.Nlink != 2 {
		t.Error("the names are torn apart")
	}
	for name, want := range map[string]string{"d/a": "NEW content", "d/sub/b": "NEW content", "replaced": ""} {
		wantContent(t, b.path(name), want)
	}
	wantAbsent(t, b.path("gone"))
	if out, told := b.pull(b.ws); strings.Count(out, "\n") != 2 || told != "" {
		t.Errorf("again:\n%s%s", out, told)
	}
}

// What a session has copied up counts names and subdirectories of the host; a push must not count
// them twice.
func TestPushCountsLinksOnce(t *testing.T) {
	b := newBench(t)
	b.write("d/sub/x", "1")
	b.write("d/sub2/y", "2")
	must(t, os.Link(b.path("d/sub/x"), b.path("d/x2")))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		d := b.copyUp(s, ws, "d", "d", func(a *sqlvfs.Attr) { a.Mode = 0o40700 })
		sub := b.copyUp(s, d, "sub", "d/sub", same)
		b.copyUp(s, sub, "x", "d/sub/x", same)
		step(t, s, func(tx *sqlvfs.Tx) {
			d.Attr.Nlink = 4
			tx.Dirty(d)
			x, _, _, err := tx.Child(sub, "x")
			must(t, err)
			in, err := tx.Get(x.Ino)
			must(t, err)
			in.Attr.Nlink = 2
			tx.Dirty(in)
			ws.Attr.Nlink = 3
			tx.Dirty(ws)
		})
	})
	b.push()
	b.checkRows()
}

// A directory that the guest has renamed and the host has removed was changed by both.
func TestRenamedDirectoryThatTheHostRemoves(t *testing.T) {
	b := newBench(t)
	b.write("d/x", "of the host")
	b.guest(func(g *guest) {
		g.rename("d", "e")
		g.write("e/y", "of the guest")
	})
	must(t, os.RemoveAll(b.path("d")))
	_, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrConflicts) || told != "CONFLICT ws/e: the host has removed ws/d, which holds the rest of its entries\n" {
		t.Errorf("%v, told %q", err, told)
	}
	wantContent(t, b.path("e/y"), "of the guest")
}

// Wherever a database says that content comes from: what no guest sees is no source of it.
func TestPullBringsNothingHidden(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	b := newBench(t)
	b.write(".art/config/.env", "TOKEN=secret")
	b.write(".art/config/sandbox.json", `{"hide": ["d/k*"]}`)
	b.write("d/key", "secret")
	must(t, os.Link(b.path("d/key"), b.path("another")))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		for name, from := range map[string]string{"x": ".art/config/.env", "y": "d/key", "z": "another"} {
			b.copyUp(s, ws, name, from, same)
		}
		must(t, s.Update(func(tx *sqlvfs.Tx) error {
			return errors.Join(tx.SetWhiteout(ws, "d"), tx.SetWhiteout(ws, "another"))
		}))
	})
	out, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrConflicts) {
		t.Error(err)
	}
	for _, name := range []string{"x", "y", "z"} {
		if _, err := os.Lstat(b.path(name)); err == nil {
			t.Errorf("%s was brought:\n%s", name, out)
		}
	}
	for _, at := range []string{".art/config/.env", "d/key", "another"} {
		if !strings.Contains(told, "HELD ws/"+at+": it is hidden from guests, and stays\n") {
			t.Errorf("not named: %s:\n%s", at, told)
		}
		if _, err := os.Lstat(b.path(at)); err != nil {
			t.Error(err)
		}
	}
}
