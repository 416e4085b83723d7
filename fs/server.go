package fs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"

	"github.com/riverlytech/art/sqlvfs"
)

// Server serves a FileSystem to the kernel. It is the library's fuse.Server with a loop of its own:
// operations run on the goroutine that read them, because waking another one up costs more than
// most operations take; only those that wait for a disk as a matter of course are handed to others,
// and whoever waits unexpectedly is succeeded (see leadership).
type Server struct {
	fs   FileSystem
	dev  int // descriptor of the connection
	logf func(string, ...any)

	begun    chan struct{} // closed when dev is the device
	inflight inflight
	counts   counts
	syncTook atomic.Int64 // nanoseconds of the last sync

	leadership
	last   any // operation that has a number; the leader's
	poller poller
}

var _ fuse.Server = (*Server)(nil)

func newServer(fsys FileSystem, dev int, logf func(string, ...any)) *Server {
	return &Server{
		fs: fsys, dev: dev, logf: logf, begun: make(chan struct{}),
		leadership: newLeadership(), poller: poller{fd: dev, score: fullScore},
	}
}

// mountConfig is how the connection must be set up for the server.
//
// The kernel's write-back cache is off: with it on, the kernel believes its own idea of a file's size
// and times over ours for as long as the inode lives (fuse_get_cache_mask in fs/fuse/inode.c), and
// changes that the host makes to the base would never show.
//
// Opening and closing is the kernel's own business (see do): so O_TRUNC comes as a change of size.
func mountConfig() *fuse.MountConfig {
	return &fuse.MountConfig{
		DisableWritebackCaching: true,
		EnableSymlinkCaching:    true,
		EnableNoOpenSupport:     true,
		EnableNoOpendirSupport:  true,
		EnableParallelDirOps:    true,
		EnableAsyncReads:        true,
		EnableReaddirplus:       true,
		EnableAutoReaddirplus:   true,
	}
}

// ServeOps implements fuse.Server. The descriptor is ours until it returns: nothing may be written to
// it afterwards.
func (s *Server) ServeOps(c *fuse.Connection) {
	<-s.begun
	disconnect := s.fs.Connect(kernelCache(s.dev))
	defer disconnect()
	go s.watchLeader(c)
	s.lead(c)
	<-s.ended
	s.inflight.Wait()
}

// lead reads requests and serves them until the connection is gone or another goroutine leads.
func (s *Server) lead(c *fuse.Connection) {
	for {
		s.inflight.await()
		s.poller.wait()
		ctx, op, err := c.ReadOp()
		var read *fs.PathError
		switch {
		case err == nil:
			s.counts.add(op)
			if numbered(op) {
				s.last = op
			}
		case errors.Is(err, io.EOF) || errors.As(err, &read):
			// Unmounted, or aborted: the connection is gone.
			close(s.ended)
			return
		default:
			if !rejectUnparsed(s.dev, s.last, &s.inflight) {
				s.logf("a request cannot be answered: %v", err)
			}
			continue
		}
		t := s.leadership.begin(op)
		s.take(ctx, c, op)
		if !s.leadership.end(t) {
			s.inflight.end(op)
			return
		}
	}
}

// take serves a request, or has it served.
func (s *Server) take(ctx context.Context, c *fuse.Connection, op any) {
	if read, ok := op.(*fuseops.ReadFileOp); ok {
		if read.BytesRead, ok = s.fs.TryRead(Ino(read.Inode), read.Dst[:read.Size], read.Offset); ok {
			c.Reply(ctx, nil)
			return
		}
	}
	if s.mayWait(op) {
		s.handOff(op, func() { s.serve(ctx, c, op) })
		return
	}
	s.serve(ctx, c, op)
}

// brief is how long a sync may take for the next one to be served by the leader.
const brief = 2 * time.Millisecond

// mayWait tells whether an operation waits for a disk as a matter of course. A sync does not where the
// disk is fast, and holds nobody up while no request waits: then to wake another goroutine would take a
// good part of its time.
func (s *Server) mayWait(op any) bool {
	switch op.(type) {
	case *fuseops.ReadFileOp:
		return true
	case *fuseops.SyncFileOp, *fuseops.SyncFSOp:
		return s.syncTook.Load() >= int64(brief) || s.poller.ready()
	}
	return false
}

func (s *Server) serve(ctx context.Context, c *fuse.Connection, op any) {
	err := s.do(ctx, op)
	if err != nil {
		errno := sqlvfs.Errno(err)
		if errno == syscall.EIO && !errors.Is(err, sqlvfs.ErrBaseChanged) { // of which the overlay tells
			s.logf("%T: %v", op, err)
		}
		err = errno
	}
	// An error here says that the connection is gone, which the next read finds out as well.
	c.Reply(ctx, err)
}

// handOff has another goroutine answer an operation.
func (s *Server) handOff(op any, answer func()) {
	s.inflight.begin(op)
	go func() {
		defer s.inflight.end(op)
		answer()
	}()
}

// caller finds out who asked. The library passes on the uid only; the rest of the request's header
// is behind its context.
func caller(ctx context.Context) Caller {
	var mfs *fuse.MountedFileSystem
	uid, gid, _, err := mfs.GetFuseContext(ctx)
	if err != nil {
		panic(err) // the context is not from ReadOp
	}
	return Caller{uid, gid}
}

// by is the caller as far as most operations need it: without the group.
func by(c fuseops.OpContext) Caller { return Caller{UID: c.Uid} }

// do executes an operation and fills in its reply. Operations that the file system does not have
// give ENOSYS, and the kernel does not ask for them again: not for opening and closing files and
// directories, which it then does by itself, nor for creating and opening in one, which it makes of
// mknod (fuse_file_open in fs/fuse/file.c, fuse_atomic_open in fs/fuse/dir.c), nor for flushing.
func (s *Server) do(ctx context.Context, op any) error {
	switch op := op.(type) {
	case *fuseops.LookUpInodeOp:
		return reply(&op.Entry)(s.fs.Lookup(Ino(op.Parent), op.Name))
	case *fuseops.ForgetInodeOp:
		s.fs.Forget(Ino(op.Inode), op.N)
	case *fuseops.BatchForgetOp:
		for _, e := range op.Entries {
			s.fs.Forget(Ino(e.Inode), e.N)
		}
	case *fuseops.MkNodeOp:
		return reply(&op.Entry)(s.fs.Mknod(caller(ctx), Ino(op.Parent), op.Name, fuse.ConvertGoMode(op.Mode), op.Rdev))
	case *fuseops.MkDirOp:
		return reply(&op.Entry)(s.fs.Mkdir(caller(ctx), Ino(op.Parent), op.Name, permissions(op.Mode)))
	case *fuseops.CreateSymlinkOp:
		return reply(&op.Entry)(s.fs.Symlink(caller(ctx), Ino(op.Parent), op.Name, op.Target))
	case *fuseops.CreateLinkOp:
		return reply(&op.Entry)(s.fs.Link(Ino(op.Target), Ino(op.Parent), op.Name))
	case *fuseops.UnlinkOp:
		return s.fs.Unlink(Ino(op.Parent), op.Name)
	case *fuseops.RmDirOp:
		return s.fs.Rmdir(Ino(op.Parent), op.Name)
	case *fuseops.RenameOp:
		return s.fs.Rename(Ino(op.OldParent), op.OldName, Ino(op.NewParent), op.NewName)
	case *fuseops.SyncFileOp, *fuseops.SyncFSOp:
		begin := time.Now()
		err := s.fs.Sync()
		s.syncTook.Store(int64(time.Since(begin)))
		return err
	case *fuseops.StatFSOp:
		st, err := s.fs.Statfs()
		op.BlockSize, op.IoSize = st.BlockSize, st.BlockSize
		op.Blocks, op.BlocksFree, op.BlocksAvailable = st.Blocks, st.BlocksFree, st.BlocksAvailable
		op.Inodes, op.InodesFree = st.Inodes, st.InodesFree
		return err
	default:
		return s.doInode(op)
	}
	return nil
}

// doInode is do for operations on one inode.
func (s *Server) doInode(op any) (err error) {
	switch op := op.(type) {
	case *fuseops.GetInodeAttributesOp:
		e, err := s.fs.Getattr(Ino(op.Inode))
		op.Attributes, op.AttributesExpiration = attributes(e), expiration(e.AttrTTL)
		return err
	case *fuseops.SetInodeAttributesOp:
		e, err := s.fs.Setattr(by(op.OpContext), Ino(op.Inode), setAttr(op))
		op.Attributes, op.AttributesExpiration = attributes(e), expiration(e.AttrTTL)
		return err
	case *fuseops.ReadSymlinkOp:
		op.Target, err = s.fs.Readlink(Ino(op.Inode))
	case *fuseops.ReadFileOp:
		op.BytesRead, err = s.fs.Read(Ino(op.Inode), op.Dst[:op.Size], op.Offset)
	case *fuseops.WriteFileOp:
		return s.fs.Write(by(op.OpContext), Ino(op.Inode), op.Data, op.Offset)
	case *fuseops.FallocateOp:
		if op.Offset > math.MaxInt64 || op.Length > math.MaxInt64-op.Offset {
			return syscall.EFBIG
		}
		return s.fs.Allocate(by(op.OpContext), Ino(op.Inode), op.Mode, int64(op.Offset), int64(op.Length))
	case *fuseops.ReadDirOp:
		return s.readDir(op, false)
	case *fuseops.ReadDirPlusOp:
		return s.readDir(&op.ReadDirOp, true)
	case *fuseops.ListXattrOp:
		names, err := s.fs.Listxattr(by(op.OpContext), Ino(op.Inode))
		if err == nil {
			op.BytesRead, err = fill(op.Dst, nameList(names))
		}
		return err
	case *fuseops.GetXattrOp:
		value, err := s.fs.Getxattr(Ino(op.Inode), op.Name)
		if err == nil {
			op.BytesRead, err = fill(op.Dst, value)
		}
		return err
	case *fuseops.SetXattrOp:
		return s.fs.Setxattr(Ino(op.Inode), op.Name, op.Value, op.Flags)
	case *fuseops.RemoveXattrOp:
		return s.fs.Removexattr(Ino(op.Inode), op.Name)
	default:
		return syscall.ENOSYS
	}
	return err
}
