package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jacobsa/fuse/fuseops"
	"github.com/jacobsa/fuse/fuseutil"
	"golang.org/x/sys/unix"
)

// tiny is a directory with one file, of which the kernel may keep nothing.
type tiny struct {
	mu      sync.Mutex
	content []byte
}

func (t *tiny) serve(r *Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errno syscall.Errno
	file := fuseops.InodeAttributes{Size: uint64(len(t.content)), Nlink: 1, Mode: 0o644, Mtime: time.Unix(1, 2)}
	switch op := r.Op.(type) {
	case *fuseops.LookUpInodeOp:
		if op.Name != "file" {
			errno = syscall.ENOENT
			break
		}
		op.Entry = fuseops.ChildInodeEntry{Child: 2, Attributes: file}
	case *fuseops.GetInodeAttributesOp:
		op.Attributes = file
		if op.Inode == 1 {
			op.Attributes = fuseops.InodeAttributes{Nlink: 2, Mode: os.ModeDir | 0o755}
		}
	case *fuseops.ReadFileOp:
		if op.Offset < int64(len(t.content)) {
			op.BytesRead = copy(op.Dst, t.content[op.Offset:])
		}
	case *fuseops.WriteFileOp:
		t.content = append(t.content[:op.Offset], op.Data...)
	case *fuseops.SetInodeAttributesOp:
		op.Attributes = file
		if op.Size != nil {
			t.content = t.content[:*op.Size]
			op.Attributes.Size = *op.Size
		}
	case *fuseops.ReadDirOp:
		if op.Offset == 0 {
			op.BytesRead = AppendDirent(op.Dst, fuseutil.Dirent{Offset: 1, Inode: 2, Name: "file", Type: fuseutil.DT_File})
		}
	case *fuseops.ForgetInodeOp, *fuseops.BatchForgetOp:
	default:
		errno = syscall.ENOSYS
	}
	r.Reply(errno)
}

// mountTiny mounts it, and serves it by one way.
func mountTiny(tb testing.TB, transport Transport) string {
	return mountAs(tb, transport, func(_ *tinyMount, open func()) { open() }).path
}

type tinyMount struct {
	path   string
	conn   *Conn
	served chan error // has what ServeRings returned
}

// mountAs has a function around Open.
func mountAs(tb testing.TB, transport Transport, around func(m *tinyMount, open func())) *tinyMount {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Skip("only root may mount here: `make test` runs it with sudo")
	}
	needRings(tb, transport)
	m := &tinyMount{path: tb.TempDir(), served: make(chan error, 2)}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.Mount("tiny", m.path, "fuse.tiny", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		tb.Fatal(err)
	}
	around(m, func() {
		m.conn, err = Open(fd, Options{Want: NoOpenSupport | NoOpendirSupport | AsyncRead | ParallelDirOps, MaxBackground: 64, Transport: transport})
	})
	if err != nil {
		tb.Fatal(err)
	}
	fsys := &tiny{}
	read := make(chan error, 1)
	go func() {
		for {
			r, err := m.conn.Read()
			if err != nil {
				read <- err
				return
			}
			fsys.serve(r)
		}
	}()
	ended := make(chan struct{})
	go func() {
		m.served <- m.conn.ServeRings(fsys.serve)
		close(ended)
	}()
	tb.Cleanup(func() {
		unix.Unmount(m.path, unix.MNT_DETACH)
		if err := <-read; err != io.EOF {
			tb.Error(err)
		}
		<-ended
		unix.Close(fd)
	})
	answerPoll(tb, filepath.Join(m.path, "file"))
	return m
}

// answerPoll has the kernel learn that this file system knows no poll, which it asks once (fuse_file_poll in
// fs/fuse/file.c). The runtime adds each file that it opens to an epoll instance without giving up its thread: here, where
// it is served too, it would wait for itself as soon as the garbage collector stops the world.
func answerPoll(tb testing.TB, file string) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		err = errors.Join(err, unix.Close(fd))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// needRings has the kernel grant FUSE over io_uring to those who ask for it, which takes root once.
func needRings(tb testing.TB, transport Transport) {
	const parameter = "/sys/module/fuse/parameters/enable_uring"
	now, err := os.ReadFile(parameter)
	if transport != Rings || err == nil && string(now) == "Y\n" {
		return
	}
	if err := os.WriteFile(parameter, []byte("Y"), 0); err != nil {
		tb.Skipf("NOT TESTED, this kernel has no FUSE over io_uring (Linux 6.14): %v", err)
	}
	tb.Cleanup(func() { os.WriteFile(parameter, now, 0) })
}

func BenchmarkFstat(b *testing.B) {
	for _, transport := range []Transport{Device, Rings} {
		b.Run(string(transport), func(b *testing.B) {
			f, err := os.OpenFile(filepath.Join(mountTiny(b, transport), "file"), os.O_RDWR, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var st unix.Stat_t
			for b.Loop() {
				if err := unix.Fstat(int(f.Fd()), &st); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAsRootContent(t *testing.T) {
	for _, transport := range []Transport{Device, Rings} {
		path := filepath.Join(mountTiny(t, transport), "file")
		big := make([]byte, 3<<20)
		for i := range big {
			big[i] = byte(i * 7 / 3)
		}
		if err := os.WriteFile(path, big, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != string(big) {
			t.Fatal(len(got), err)
		}
		names, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
	}
}
