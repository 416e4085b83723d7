package reconcile

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// grown is a database with a directory of several levels that no host has.
func grown(t *testing.T) bench {
	t.Helper()
	b := newBench(t)
	b.write("m/new/sub/file", "1")
	b.write("m/new/sub/other", "2")
	must(t, os.Link(b.path("m/new/sub/file"), b.path("m/new/link")))
	must(t, os.Symlink("sub/file", b.path("m/new/symlink")))
	must(t, os.Mkdir(b.path("m/new/hollow"), 0o700))
	b.push()
	return b
}

// A new directory is renamed into place with all that is in it.
func TestTreeIsPlacedAsAWhole(t *testing.T) {
	b := grown(t)
	dir := b.other()
	must(t, os.Mkdir(dir+"/m", 0o755))
	var before, after unix.Stat_t
	must(t, unix.Lstat(dir+"/m", &before))
	b.pull(dir)
	wantTree(t, dir, tree(t, b.ws))
	must(t, unix.Lstat(dir+"/m", &after))
	if before.Ino != after.Ino {
		t.Error("the directory that was there was replaced")
	}
}

// Where the same file system is mounted once more, its device is the same, and a rename does not lead
// there all the same (rename(2), EXDEV).
func TestTreeAcrossABindMount(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := newBench(t)
	b.write("m/new/sub/file", "1")
	must(t, os.Symlink("sub/file", b.path("m/new/symlink")))
	b.push()
	dir, mounted := b.other(), t.TempDir()
	must(t, os.Mkdir(dir+"/m", 0o755))
	must(t, unix.Mount(mounted, dir+"/m", "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(dir+"/m", unix.MNT_DETACH)) })
	b.pull(dir)
	wantTree(t, dir, tree(t, b.ws))
	if names, err := os.ReadDir(mounted); err != nil || len(names) != 1 {
		t.Errorf("there is %v, %v", names, err)
	}
}

// What a directory passes on to those that are made in it, it passes on to those that pull makes.
func TestTreeInheritsFromItsDirectory(t *testing.T) {
	b := grown(t)
	dir := b.other()
	must(t, os.Mkdir(dir+"/m", 0o755))
	must(t, unix.Chmod(dir+"/m", 0o2755))
	b.pull(dir)
	for _, at := range []string{"/m/new", "/m/new/sub", "/m/new/hollow"} {
		var st unix.Stat_t
		must(t, unix.Lstat(dir+at, &st))
		if st.Mode&unix.S_ISGID == 0 {
			t.Errorf("%s has mode %o", at, st.Mode)
		}
	}
}

// Something that was made since the plan stays, and the tree that was to be there is told of.
func TestTreeIsNotPlacedOverAnything(t *testing.T) {
	b := grown(t)
	dir := b.other()
	b.belongs(dir)
	opt := Options{Dir: dir, DB: b.db, Stdout: io.Discard, Stderr: io.Discard, ctx: t.Context()}
	s, err := openForReading(&opt, false)
	must(t, err)
	p := &puller{planner: *s}
	p.policy = p
	must(t, p.compare())
	must(t, p.stage())
	must(t, os.Mkdir(dir+"/m", 0o700))
	must(t, os.WriteFile(dir+"/m/mine", []byte("mine"), 0o600))
	must(t, p.execute())
	if p.report.Failures == 0 {
		t.Error("nothing was told")
	}
	must(t, s.close(nil))
	wantContent(t, dir+"/m/mine", "mine")
	wantAbsent(t, dir+"/m/new")
}

// What is written down of a tree is what came into place: files are looked at while they are staged
// only, and links, owners, modes and times change them.
func TestBaselinesOfATree(t *testing.T) {
	b := grown(t)
	b.write("m/new/closed/file", "3")
	must(t, os.Chmod(b.path("m/new/closed/file"), 0o404))
	must(t, os.Chmod(b.path("m/new/closed"), 0o500))
	b.push()
	dir := b.other()
	must(t, os.Mkdir(dir+"/m", 0o755))
	t.Cleanup(func() { // or else it could not be removed
		must(t, os.Chmod(b.path("m/new/closed"), 0o700))
		must(t, os.Chmod(dir+"/m/new/closed", 0o700))
	})
	b.pull(dir)
	s, err := openForReading(&Options{Dir: dir, DB: b.db, Stdout: io.Discard, Stderr: io.Discard}, true)
	must(t, err)
	defer s.close(nil)
	must(t, filepath.WalkDir(dir, func(at string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, at)
		var st unix.Stat_t
		if err := cmp.Or(err, unix.Lstat(at, &st)); err != nil {
			return err
		}
		if got := s.base[rel]; got == nil || got.Mode != st.Mode || got.Fingerprint != hostfs.Fingerprint(&st) {
			t.Errorf("%s: baseline %+v, there is %o %+v", rel, got, st.Mode, hostfs.Fingerprint(&st))
		}
		return nil
	}))
}
