package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/sqlvfs"
)

// BenchmarkOperation is the time of single operations that the kernel may not answer from its
// caches, on inodes that are loaded: what serving costs by itself. The metric "x-go-fuse" says how
// many times as long that is as with an in-memory file system behind the library go-fuse, with
// which it runs by turns, so that a busy machine slows both alike.
func BenchmarkOperation(b *testing.B) {
	ours, theirs := serveFor(b, "art"), serveFor(b, "go-fuse")
	for _, op := range []struct {
		name string
		do   func(f *os.File, i int) error
	}{
		{"fstat", func(f *os.File, _ int) error { var st unix.Stat_t; return unix.Fstat(int(f.Fd()), &st) }},
		{"stat", func(f *os.File, _ int) error { var st unix.Stat_t; return unix.Stat(f.Name(), &st) }},
		{"create+write", func(f *os.File, i int) error {
			return os.WriteFile(fmt.Sprintf("%s-%d", f.Name(), i), make([]byte, 1024), 0o644)
		}},
	} {
		for _, threads := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/threads=%d", op.name, threads), func(b *testing.B) {
				const batch = 500 // operations of each thread
				var our, their []time.Duration
				round := 0
				for b.Loop() {
					round++
					our = append(our, timeBatch(b, ours, threads, batch, round, op.do))
					their = append(their, timeBatch(b, theirs, threads, batch, round, op.do))
				}
				n := float64(batch * threads)
				b.ReportMetric(0, "ns/op") // of both together: it says nothing
				b.ReportMetric(float64(median(our).Nanoseconds())/n/1000, "µs")
				b.ReportMetric(float64(median(their).Nanoseconds())/n/1000, "µs-go-fuse")
				b.ReportMetric(float64(median(our))/float64(median(their)), "x-go-fuse")
			})
		}
	}
}

// timeBatch lets each thread do n operations on a file of its own. The files made on the way are
// deleted, untimed.
func timeBatch(b *testing.B, dir string, threads, n, round int, do func(*os.File, int) error) time.Duration {
	b.Helper()
	files := make([]*os.File, threads)
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-%d", round, i)))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	errs := make([]error, threads)
	var all sync.WaitGroup
	begin := time.Now()
	for i, f := range files {
		all.Go(func() {
			for j := 0; j < n && errs[i] == nil; j++ {
				errs[i] = do(f, j)
			}
		})
	}
	all.Wait()
	taken := time.Since(begin)
	for i, f := range files {
		if errs[i] != nil {
			b.Fatal(errs[i])
		}
		os.Remove(f.Name())
		for j := range n {
			os.Remove(fmt.Sprintf("%s-%d", f.Name(), j))
		}
	}
	return taken
}

// serverVariable names the kind of file system that a test program is to serve. The server is a
// process of its own, as art-fuse is.
const serverVariable = "ART_BENCH_SERVER"

// serveFor mounts a file system of a kind until the benchmark ends, and returns where.
func serveFor(b *testing.B, kind string) string {
	b.Helper()
	dir := b.TempDir()
	cmd := exec.Command("/proc/self/exe", dir, filepath.Join(b.TempDir(), "a.db"))
	cmd.Env = append(os.Environ(), serverVariable+"="+kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := unmount(dir); err != nil {
			b.Error(err)
			cmd.Process.Kill()
		}
		cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		b.Fatalf("the server of %s is not ready", kind)
	}
	return dir
}

// serveMain is the test program as a server: ARGS are the directory and the database.
func serveMain(kind string, args []string) error {
	if kind == "go-fuse" {
		return serveGoFUSE(args[0])
	}
	now := sqlvfs.Now()
	store, err := sqlvfs.Open(args[1], sqlvfs.Options{Create: true, Root: sqlvfs.Attr{
		Mode: syscall.S_IFDIR | 0o755, Nlink: 2, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Atime: now, Mtime: now, Ctime: now,
	}})
	if err != nil {
		return err
	}
	logf := func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: store, Logf: logf})
	if err != nil {
		return err
	}
	fd, err := fusemount.Mount(args[0], fusemount.Options{Source: "art"})
	if err != nil {
		return err
	}
	mfs, err := fs.Serve(fd, uncached{overlay}, logf)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if err := mfs.Join(context.Background()); err != nil {
		return err
	}
	return store.Close()
}

// uncached lets the kernel keep no entry and no attribute.
type uncached struct{ fs.FileSystem }

func (u uncached) Lookup(parent fs.Ino, name string) (fs.Entry, error) {
	return expired(u.FileSystem.Lookup(parent, name))
}

func (u uncached) Getattr(ino fs.Ino) (fs.Entry, error) {
	return expired(u.FileSystem.Getattr(ino))
}

func (u uncached) Setattr(c fs.Caller, ino fs.Ino, set fs.SetAttr) (fs.Entry, error) {
	return expired(u.FileSystem.Setattr(c, ino, set))
}

func (u uncached) Mknod(c fs.Caller, parent fs.Ino, name string, mode, rdev uint32) (fs.Entry, error) {
	return expired(u.FileSystem.Mknod(c, parent, name, mode, rdev))
}

func expired(e fs.Entry, err error) (fs.Entry, error) {
	e.TTL, e.AttrTTL = 0, 0
	return e, err
}

// serveGoFUSE serves a directory of files in memory with go-fuse's own means.
func serveGoFUSE(dir string) error {
	none := time.Duration(0)
	server, err := gofs.Mount(dir, &memoryDir{}, &gofs.Options{
		EntryTimeout: &none, AttrTimeout: &none,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		MountOptions: fuse.MountOptions{Options: []string{"default_permissions"}},
	})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	server.Wait()
	return nil
}

type memoryDir struct{ gofs.Inode }

var _ gofs.NodeCreater = (*memoryDir)(nil)

func (d *memoryDir) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*gofs.Inode, gofs.FileHandle, uint32, syscall.Errno) {
	file := &gofs.MemRegularFile{Attr: fuse.Attr{Mode: mode}}
	child := d.NewPersistentInode(ctx, file, gofs.StableAttr{Mode: syscall.S_IFREG})
	d.AddChild(name, child, true)
	out.Attr.Mode = syscall.S_IFREG | mode
	return child, nil, 0, 0
}
