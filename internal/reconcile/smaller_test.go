package reconcile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	artfs "github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// smaller is a file system that holds less than others do.
type smaller struct {
	artfs.FileSystem
	folds, noModes, noSymlinks, noLinks bool
	nameMax                             int
}

// smallerKinds are those that are tried.
var smallerKinds = map[string]smaller{
	"plain":       {nameMax: sqlvfs.NameMax},
	"folds case":  {nameMax: sqlvfs.NameMax, folds: true},
	"short names": {nameMax: 60},
	"no modes":    {nameMax: sqlvfs.NameMax, noModes: true},
	"no symlinks": {nameMax: sqlvfs.NameMax, noSymlinks: true},
	"no links":    {nameMax: sqlvfs.NameMax, noLinks: true},
}

// name returns the name of an entry as it was made.
func (s smaller) name(parent artfs.Ino, name string) (string, error) {
	if len(name) > s.nameMax {
		return "", unix.ENAMETOOLONG
	}
	if !s.folds {
		return name, nil
	}
	err := s.ReadDir(parent, 0, false, func(e artfs.DirEntry) bool {
		if strings.EqualFold(e.Name, name) {
			name = e.Name
		}
		return true
	})
	return name, err
}

func (s smaller) Lookup(parent artfs.Ino, name string) (artfs.Entry, error) {
	name, err := s.name(parent, name)
	if err != nil {
		return artfs.Entry{}, err
	}
	e, err := s.FileSystem.Lookup(parent, name)
	e.TTL = 0 // the kernel keeps names apart
	return e, err
}

func (s smaller) Mknod(c artfs.Caller, parent artfs.Ino, name string, mode, rdev uint32) (artfs.Entry, error) {
	name, err := s.name(parent, name)
	if err != nil {
		return artfs.Entry{}, err
	}
	return s.FileSystem.Mknod(c, parent, name, mode, rdev)
}

func (s smaller) Mkdir(c artfs.Caller, parent artfs.Ino, name string, mode uint32) (artfs.Entry, error) {
	name, err := s.name(parent, name)
	if err != nil {
		return artfs.Entry{}, err
	}
	return s.FileSystem.Mkdir(c, parent, name, mode)
}

func (s smaller) Unlink(c artfs.Caller, parent artfs.Ino, name string) error {
	name, err := s.name(parent, name)
	if err != nil {
		return err
	}
	return s.FileSystem.Unlink(c, parent, name)
}

func (s smaller) Rename(c artfs.Caller, oldParent artfs.Ino, oldName string, newParent artfs.Ino, newName string, flags uint32) error {
	oldName, err := s.name(oldParent, oldName)
	if err != nil {
		return err
	}
	if newName, err = s.name(newParent, newName); err != nil {
		return err
	}
	return s.FileSystem.Rename(c, oldParent, oldName, newParent, newName, flags)
}

func (s smaller) Symlink(c artfs.Caller, parent artfs.Ino, name, target string) (artfs.Entry, error) {
	if s.noSymlinks {
		return artfs.Entry{}, unix.EPERM
	}
	return s.FileSystem.Symlink(c, parent, name, target)
}

func (s smaller) Link(c artfs.Caller, ino, parent artfs.Ino, name string) (artfs.Entry, error) {
	if s.noLinks {
		return artfs.Entry{}, unix.EPERM
	}
	return s.FileSystem.Link(c, ino, parent, name)
}

func (s smaller) Setattr(c artfs.Caller, ino artfs.Ino, set artfs.SetAttr) (artfs.Entry, error) {
	if s.noModes && set.Mode != nil {
		return artfs.Entry{}, unix.EPERM
	}
	return s.FileSystem.Setattr(c, ino, set)
}

// The test binary serves one of these when this variable is set: to an empty directory, with a
// database for what is made.
const asServer = "ART_SYNC_TEST_SMALLER"

func serveSmaller(dir, db string) error {
	store, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{
		Mode: unix.S_IFDIR | 0o755, Nlink: 2, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
	}})
	if err != nil {
		return err
	}
	logf := func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
	overlay, err := artfs.NewOverlay(artfs.OverlayOptions{Store: store, Logf: logf})
	if err != nil {
		return err
	}
	fd, err := fusemount.Mount(dir, fusemount.Options{Source: "art"})
	if err != nil {
		return fmt.Errorf("mount: %w (this test needs /dev/fuse, readable and writable, and root or fusermount3 of the package fuse3)", err)
	}
	s := smallerKinds[os.Getenv(asServer)]
	s.FileSystem = overlay
	mfs, err := artfs.Serve(fd, s, nil, logf)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if err := mfs.Join(context.Background()); err != nil {
		return err
	}
	return store.Close()
}

// mountSmaller returns a workspace on such a file system.
func mountSmaller(t *testing.T, kind string) string {
	t.Helper()
	dir := t.TempDir()
	server := exec.Command(os.Args[0], dir, filepath.Join(t.TempDir(), "disk.db"))
	server.Env = append(os.Environ(), asServer+"="+kind)
	var log strings.Builder
	server.Stderr = &log
	out, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	t.Cleanup(func() {
		must(t, fusemount.Unmount(dir, true))
		if err := server.Wait(); err != nil || log.Len() > 0 {
			t.Errorf("server: %v: %s", err, &log)
		}
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("server: %s", &log)
	}
	ws := filepath.Join(dir, "ws")
	must(t, os.Mkdir(ws, 0o755))
	return ws
}

// fill is what a test puts into the workspace that is pushed.
type fill func(b bench)

func twoFiles(b bench)  { b.write("a/Readme", "1"); b.write("a/README", "2") }
func twoDirs(b bench)   { b.write("src/x", "1"); b.write("Src/y", "2") }
func aSymlink(b bench)  { must(b.t, os.Symlink("b", b.path("symlink"))) }
func aHardLink(b bench) { must(b.t, os.Link(b.path("b"), b.path("link"))) }
func longName(b bench)  { b.write("a/"+strings.Repeat("n", 100), "1") }
func longDeep(b bench)  { b.write("new/"+strings.Repeat("n", 100), "1") }

// pushed returns the database of a workspace that holds all this.
func pushed(t *testing.T, fills ...fill) bench {
	t.Helper()
	b := newBench(t)
	b.write("a/plain", "1")
	b.write("b", "2")
	for _, f := range fills {
		f(b)
	}
	b.push()
	return b
}

// A host file system that cannot hold what is pulled is told of before anything is changed.
func TestSmallerHost(t *testing.T) {
	for kind, refused := range map[string][]struct {
		what string
		fill fill
		want string
	}{
		"plain": {},
		"folds case": {
			{"two files", twoFiles, "ws/a/Readme: it and ws/a/README are one name"},
			{"two directories", twoDirs, "ws/src: it and ws/Src are one name"},
		},
		"short names": {
			{"a long name", longName, "file name too long"},
			{"a long name in a new directory", longDeep, "file name too long"},
		},
		"no modes":    {{"a file", func(bench) {}, staging.ErrNoModes.Error()}},
		"no symlinks": {{"a link", aSymlink, staging.ErrNoSymlinks.Error()}},
		"no links":    {{"a link", aHardLink, staging.ErrNoHardLinks.Error()}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := mountSmaller(t, kind)
			must(t, os.Mkdir(dir+"/a", 0o755))
			before := tree(t, dir)
			for _, c := range refused {
				out, told, err := pushed(t, c.fill).run(Pull, dir, force)
				var hinted cli.Hinted
				if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "nothing was changed") {
					t.Errorf("%s: %v, want %q\n%s", c.what, err, c.want, told)
				}
				if strings.Contains(out, "FILE") {
					t.Errorf("%s: printed\n%s", c.what, out)
				}
				wantTree(t, dir, before)
			}
			if kind == "no modes" {
				return
			}
			// What it can hold is brought.
			var fills []fill
			if kind == "plain" {
				fills = []fill{twoFiles, twoDirs, aSymlink, aHardLink, longName, longDeep}
			}
			b := pushed(t, fills...)
			b.pull(dir, force)
			if got, want := tree(t, dir), tree(t, b.ws); got != want {
				t.Errorf("there is\n%swant\n%s", got, want)
			}
		})
	}
}

// A file of the host is not taken for one of the guest whose name differs in case.
func TestHostNameOfAnotherCase(t *testing.T) {
	dir := mountSmaller(t, "folds case")
	must(t, os.WriteFile(dir+"/B", []byte("of the host"), 0o600))
	b := pushed(t)
	if _, told, err := b.run(Pull, dir); !errors.Is(err, ErrConflicts) || !strings.Contains(told, "CONFLICT ws/b") {
		t.Errorf("%v, told %q", err, told)
	}
	if _, _, err := b.run(Pull, dir, force); err == nil || !strings.Contains(err.Error(), "ws/b: it and ws/B are one name") {
		t.Error(err)
	}
	wantContent(t, dir+"/B", "of the host")
}
