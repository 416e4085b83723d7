// Package mounted gives tests an overlay behind a real mount, over a base, that can be unmounted,
// checked and mounted again.
package mounted

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// Workspace is the directory of the mount that lies over the base.
const Workspace = "ws"

// serverKey is the variable that makes a test program the server of a mount. The server is a process
// of its own: one that waits for itself in a page fault cannot be stopped for garbage collection,
// and so never answers.
const serverKey = "ART_EXERCISE_SERVER"

// Main is what TestMain of a test that mounts calls first. It does not return in a server.
func Main() {
	if os.Getenv(serverKey) == "" {
		return
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(base, db, dir string) error {
	now := sqlvfs.Now()
	store, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{
		Mode: syscall.S_IFDIR | 0o755, Nlink: 3, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Atime: now, Mtime: now, Ctime: now,
	}})
	if err != nil {
		return err
	}
	host, err := fs.OpenHost(base, db)
	if err != nil {
		return err
	}
	logf := func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: store, Base: host, Name: Workspace, Watches: fs.WatchShare(), Logf: logf})
	if err != nil {
		return err
	}
	fd, err := fusemount.Mount(dir, fusemount.Options{Source: "art"})
	if err != nil {
		return fmt.Errorf("mount: %w (this test needs /dev/fuse, readable and writable, and root or fusermount3 of the package fuse3)", err)
	}
	mfs, err := fs.Serve(fd, overlay, nil, logf)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if err := mfs.Join(context.Background()); err != nil {
		return err
	}
	return store.Close()
}

// Overlay is an overlay of a base and a database, mounted on Dir.
type Overlay struct {
	Base, Dir string

	db     string
	server *exec.Cmd
	log    bytes.Buffer // what the server had to say
}

// New mounts an empty database over a base until the test ends, when the database is checked.
func New(t *testing.T, base string) *Overlay {
	t.Helper()
	o := &Overlay{Base: base, Dir: t.TempDir(), db: filepath.Join(t.TempDir(), "a.db")}
	o.mount(t)
	t.Cleanup(func() { o.unmount(t) })
	return o
}

// Remount unmounts, checks the database and mounts it again.
func (o *Overlay) Remount(t *testing.T) {
	t.Helper()
	o.unmount(t)
	if t.Failed() {
		t.FailNow()
	}
	o.mount(t)
}

func (o *Overlay) mount(t *testing.T) {
	t.Helper()
	o.log.Reset()
	o.server = exec.Command(os.Args[0], o.Base, o.db, o.Dir)
	o.server.Env = append(os.Environ(), serverKey+"=1")
	o.server.Stderr = &o.log
	out, err := o.server.StdoutPipe()
	if err == nil {
		err = o.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		o.server.Wait()
		o.server = nil
		t.Fatalf("server: %s", &o.log)
	}
}

// unmount ends the server, which must have nothing to say, and checks what it leaves.
func (o *Overlay) unmount(t *testing.T) {
	t.Helper()
	if o.server == nil {
		return
	}
	err := o.detach()
	for begin := time.Now(); err != nil && time.Since(begin) < time.Minute; err = o.detach() {
		time.Sleep(10 * time.Millisecond) // the kernel releases what was just closed in its own time
	}
	if err != nil {
		t.Errorf("unmount: %v", err)
		o.server.Process.Kill()
		o.detach()
	}
	if err := o.server.Wait(); err != nil || o.log.Len() > 0 {
		t.Errorf("server: %v: %s", err, &o.log)
	}
	o.server = nil
	found, err := fsck.Check(o.db)
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		t.Errorf("check: inode %d: %s", f.Ino, f.Text)
	}
}

func (o *Overlay) detach() error {
	return fusemount.Unmount(o.Dir, false)
}
