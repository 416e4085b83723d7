package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/sqlvfs"
)

// Single operations cost what a request costs: the kernel may keep nothing, so each asks the server. art's runs in a process of its
// own with its file system as it is, but for the times for which the kernel may keep entries, and attributes of files: these are 0.
// libfuse's example passthrough_ll, over a directory in memory and with the same times, is what a server in C takes; there, the kernel
// leaves permissions to the server, while for art it checks those of directories itself, and so may keep their attributes.

// operationCount is how many operations are one repetition.
const operationCount = 10_000

type operation struct {
	name string
	do   func(file string, fd, i int) error // the i-th time
}

func (o operation) title() string { return o.name + ", caches off" }

// operations are of one request (fstat, lookup), or of two: before it makes or removes a name, the kernel looks it up.
var operations = []operation{
	{"fstat", func(_ string, fd, _ int) error { var st unix.Stat_t; return unix.Fstat(fd, &st) }},
	{"lookup", func(file string, _, _ int) error {
		fd, err := unix.Open(file, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{"create", func(file string, _, i int) error { return unix.Mknod(fmt.Sprint(file, i), unix.S_IFREG|0o644, 0) }},
	{"unlink", func(file string, _, i int) error { return unix.Unlink(fmt.Sprint(file, i)) }},
}

// measureOperations measures each operation once on each system that serves without caches.
func (r *runner) measureOperations(ctx context.Context, i int, chosen func(title string) bool) (errs []error) {
	if !slices.ContainsFunc(operations, func(op operation) bool { return chosen(op.title()) }) {
		return nil
	}
	for j := range r.systems {
		s := r.systems[(i+j)%len(r.systems)]
		if s.uncached == nil || ctx.Err() != nil {
			continue
		}
		if err := r.operationsOn(s, chosen); err != nil {
			errs = append(errs, fmt.Errorf("on %s: %w", s.name, err))
		}
	}
	return errs
}

func (r *runner) operationsOn(s *system, chosen func(title string) bool) (err error) {
	dir := filepath.Join(r.scratch, "mount")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	// In memory: what a disk takes is no part of an operation.
	memory, err := os.MkdirTemp("/dev/shm", "art-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(memory)
	server := s.uncached(dir, memory)
	end, err := startServer(server, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(), os.Remove(dir)) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	name := filepath.Join(dir, "file")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := checkWire(server.Process.Pid, s.wire); err != nil {
		return err
	}
	for _, op := range operations {
		begin := time.Now()
		for i := range operationCount {
			if err := op.do(name, int(f.Fd()), i); err != nil {
				return fmt.Errorf("%s: %w", op.name, err)
			}
		}
		if title := op.title(); chosen(title) {
			r.report.Samples = append(r.report.Samples, sample{Part: operationPart, Workload: title, System: s.name, Wall: time.Since(begin) / operationCount})
		}
	}
	return nil
}

// startServer starts a server, and returns when it has mounted its file system; end unmounts that.
func startServer(server *exec.Cmd, dir string) (end func() error, err error) {
	var said told
	server.Stderr = &said
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", server.Path, err)
	}
	end = func() error {
		err := unmount(dir)
		if werr := server.Wait(); err == nil && werr != nil {
			err = fmt.Errorf("%s: %w: %s", server.Path, werr, &said)
		}
		return err
	}
	for begin := time.Now(); !mountPoint(dir); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			server.Process.Kill()
			end()
			return nil, fmt.Errorf("%s does not mount: %s", server.Path, &said)
		}
	}
	return end, nil
}

const serverName = "serve-uncached"

// artUncached is this program as a server; see serveMain.
func artUncached(wire string) func(dir, memory string) *exec.Cmd {
	return func(dir, memory string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", serverName, dir, filepath.Join(memory, databaseName))
		cmd.Env = append(os.Environ(), artVariable+wire)
		return cmd
	}
}

// libfuseVariable says where there is a passthrough_ll of libfuse 3.18 or later, which distributions do not have in a package.
const libfuseVariable = "LIBFUSE_PASSTHROUGH"

func libfuseSystem(name, wire string) *system {
	program := os.Getenv(libfuseVariable)
	return &system{
		name: name, wire: wire,
		missing: func() string {
			if program == "" {
				return libfuseVariable + " does not say where its passthrough_ll is (docs/speed.md)"
			}
			if out, err := exec.Command(program, "--help").Output(); err != nil || !strings.Contains(string(out), "io_uring") {
				return program + " does not run, or knows no io_uring"
			}
			return missingRings(wire)
		},
		uncached: func(dir, memory string) *exec.Cmd {
			options := "cache=never,timeout=0,source=" + memory
			if wire == ringWire {
				return exec.Command(program, "-f", "-o", options+",io_uring", dir)
			}
			return exec.Command(program, "-f", "-s", "-o", options, dir) // one thread is faster here
		},
	}
}

// serveMain serves a new file system of art's: ARGS are the directory and the database.
func serveMain(args []string) error {
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
	mfs, err := fs.Serve(fd, uncached{overlay}, nil, logf)
	if err != nil {
		return err
	}
	if err := mfs.Join(context.Background()); err != nil {
		return err
	}
	return store.Close()
}

// uncached lets the kernel keep no entry, and no attribute of files.
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
	e.TTL = 0
	if e.Attr.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		e.AttrTTL = 0
	}
	return e, err
}
