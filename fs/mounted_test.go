package fs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/sqlvfs"
)

// mounted is an overlay behind a real mount. The server is a process of its own: one that waits for
// itself in a page fault cannot be stopped for garbage collection, and so never answers.
type mounted struct {
	directory
	base, db string

	asks    io.WriteCloser
	answers *bufio.Reader

	deaf   bool // watch nothing
	nodes  int  // that the kernel may hold; 0: as many as usual
	server *exec.Cmd
	log    bytes.Buffer // what the server had to say
}

var _ system = (*mounted)(nil)

// helpers are what the test program does as a child of itself, chosen by the variable helperKey.
var helpers = map[string]func(args []string) error{
	"serve": serveMount,
	"map":   mapFile,
	"setxattr": func(args []string) error {
		return unix.Setxattr(args[0], args[1], []byte(args[2]), 0)
	},
}

const (
	helperKey = "ART_FS_TEST_HELPER"
	deafKey   = "ART_FS_TEST_DEAF"  // if set, nothing is watched
	nodesKey  = "ART_FS_TEST_NODES" // if set, how many the kernel may hold
)

// TestMain clears the umask: what the tests make on a host directory must get the modes asked for,
// as it does in an overlay, whose kernel has applied the umask already.
func TestMain(m *testing.M) {
	syscall.Umask(0)
	if help, ok := helpers[os.Getenv(helperKey)]; ok {
		if err := help(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// asRoot leaves a test to internal/packaging/passes, which runs those named AsRoot as root when
// `make test` is run by an ordinary user.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may do this: `make test` runs it with sudo")
	}
}

func helper(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperKey+"="+name)
	return cmd
}

// serveMount serves an overlay until it is unmounted.
func serveMount(args []string) error {
	BoundMemory()
	base, db, dir := args[0], args[1], args[2]
	store, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: rootAttr()})
	if err != nil {
		return err
	}
	host, err := OpenHost(base, db)
	if err != nil {
		return err
	}
	watches := WatchShare()
	if os.Getenv(deafKey) != "" {
		watches = 0
	}
	logf := func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
	overlay, err := NewOverlay(OverlayOptions{Store: store, Base: host, Name: workspace, Watches: watches, Logf: logf})
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(os.Getenv(nodesKey)); err == nil {
		overlay.ages.limit = n
	}
	fd, err := fusemount.Mount(dir, fusemount.Options{Source: "art"})
	if err != nil {
		return fmt.Errorf("mount: %w (this test needs /dev/fuse, readable and writable, and root or fusermount3 of the package fuse3)", err)
	}
	mfs, err := Serve(fd, overlay, nil, logf)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go answerBacks(store, overlay)
	if err := mfs.Join(context.Background()); err != nil {
		return err
	}
	return store.Close()
}

func newMounted(t testing.TB) *mounted { return newMountedLike(t, &mounted{}) }

// newMountedLike is newMounted with what is set in m already.
func newMountedLike(t testing.TB, m *mounted) *mounted {
	m.directory, m.base, m.db = directory(t.TempDir()), t.TempDir(), filepath.Join(t.TempDir(), "a.db")
	m.begin(t)
	t.Cleanup(func() {
		if err := m.unmount(); err != nil {
			t.Error(err)
		}
		sound(t, m.db)
	})
	return m
}

func (m *mounted) begin(t rapid.TB) {
	t.Helper()
	m.log.Reset()
	m.server = helper("serve", m.base, m.db, m.at(""))
	m.server.Stderr = &m.log
	if m.deaf {
		m.server.Env = append(m.server.Env, deafKey+"=yes")
	}
	if m.nodes > 0 {
		m.server.Env = append(m.server.Env, fmt.Sprintf("%s=%d", nodesKey, m.nodes))
	}
	out, err := m.server.StdoutPipe()
	if err == nil {
		m.asks, err = m.server.StdinPipe()
	}
	if err == nil {
		err = m.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.answers = bufio.NewReader(out)
	if line, _ := m.answers.ReadString('\n'); line != "ready\n" {
		m.server.Wait()
		t.Fatalf("server: %s", m.log.String())
	}
}

// unmount ends the session. It is an error if anything still uses the mount, or if the server had
// anything to say.
func (m *mounted) unmount() error {
	if m.server == nil {
		return nil
	}
	err := m.detach()
	for begin := time.Now(); err != nil && time.Since(begin) < time.Minute; err = m.detach() {
		time.Sleep(10 * time.Millisecond) // the kernel releases what was just closed in its own time
	}
	if err != nil {
		m.server.Process.Kill()
		m.detach()
	}
	werr := m.server.Wait()
	m.server = nil
	switch {
	case err != nil:
		return fmt.Errorf("unmount: %w", err)
	case werr != nil:
		return fmt.Errorf("server: %w: %s", werr, m.log.String())
	case m.log.Len() > 0:
		return fmt.Errorf("server: %s", m.log.String())
	}
	return nil
}

func (m *mounted) detach() error { return fusemount.Unmount(m.at(""), false) }

func (m *mounted) remount(t rapid.TB) {
	t.Helper()
	if err := m.unmount(); err != nil {
		t.Error(err)
	}
	sound(t, m.db)
	m.begin(t)
}

func (m *mounted) end() { m.unmount() }

// forget has the kernel drop its caches of the mount, which changing the mount's options does
// (shrink_dcache_sb in fs/super.c). Only root may; for others the kernel forgets when it pleases.
func (m *mounted) forget() {
	unix.Mount("", m.at(""), "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "")
}

func (m *mounted) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plant makes a file in the base.
func (m *mounted) plant(t *testing.T, path string, data []byte) {
	t.Helper()
	path = filepath.Join(m.base, path)
	m.must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	m.must(t, os.WriteFile(path, data, 0o644))
}

func (m *mounted) reads(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(m.at(path))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %s", path, difference(got, want))
	}
}

func (m *mounted) names(t *testing.T, path string) string {
	t.Helper()
	ents, err := os.ReadDir(m.at(path))
	m.must(t, err)
	var names []string
	for _, e := range ents {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// serveWith mounts an overlay without a base, with what stands between it and the kernel.
func serveWith(t *testing.T, between func(FileSystem) FileSystem) (dir string, mounted *Mounted) {
	t.Helper()
	store, err := sqlvfs.Open(filepath.Join(t.TempDir(), "a.db"), sqlvfs.Options{Create: true, Root: rootAttr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	overlay, err := NewOverlay(OverlayOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return serveThis(t, between(overlay))
}

// serveThis mounts a file system.
func serveThis(t *testing.T, fsys FileSystem) (dir string, mounted *Mounted) {
	t.Helper()
	dir = t.TempDir()
	fd, err := fusemount.Mount(dir, fusemount.Options{Source: "art"})
	if err != nil {
		t.Fatal(err)
	}
	if mounted, err = Serve(fd, fsys, nil, t.Errorf); err != nil {
		t.Fatal(err)
	}
	answerPoll(t, dir)
	return dir, mounted
}

// answerPoll has the kernel learn that the server of a mount knows no poll, which it asks once (fuse_file_poll in
// fs/fuse/file.c). The runtime adds each file that it opens to an epoll instance without giving up its thread: in the
// process that serves the mount it would wait for itself as soon as the garbage collector stops the world.
func answerPoll(t *testing.T, dir string) {
	t.Helper()
	file := dir + "/polled"
	fd, err := unix.Open(file, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		err = errors.Join(err, unix.Close(fd), unix.Unlink(file))
	}
	if err != nil {
		t.Fatal(err)
	}
}
