package fs

import (
	"math"
	"syscall"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs/wire"
)

// do executes an operation and fills in its reply. Operations that the file system does not have
// give ENOSYS, and the kernel does not ask for them again: not for opening and closing files and
// directories, which it then does by itself, nor for creating and opening in one, which it makes of
// mknod (fuse_file_open in fs/fuse/file.c, fuse_atomic_open in fs/fuse/dir.c), nor for flushing.
func (s *Server) do(r *wire.Request) error {
	switch op := r.Op.(type) {
	case *fuseops.LookUpInodeOp:
		return reply(r, &op.Entry)(s.fs.Lookup(Ino(op.Parent), op.Name))
	case *fuseops.ForgetInodeOp:
		s.fs.Forget(Ino(op.Inode), op.N)
	case *fuseops.BatchForgetOp:
		for _, e := range op.Entries {
			s.fs.Forget(Ino(e.Inode), e.N)
		}
	case *fuseops.GetInodeAttributesOp:
		e, err := s.fs.Getattr(Ino(op.Inode))
		op.Attributes, op.AttributesExpiration, r.Blocks = attributes(e), expiration(e.AttrTTL), e.Blocks
		return err
	case *wire.StatxOp:
		return s.statx(r, op)
	case *fuseops.SetInodeAttributesOp:
		e, err := s.fs.Setattr(s.author(r, op.Inode), Ino(op.Inode), setAttr(op))
		op.Attributes, op.AttributesExpiration, r.Blocks = attributes(e), expiration(e.AttrTTL), e.Blocks
		return err
	case *fuseops.ReadSymlinkOp:
		var err error
		op.Target, err = s.fs.Readlink(Ino(op.Inode))
		return err
	case *fuseops.StatFSOp:
		st, err := s.fs.Statfs()
		op.BlockSize, op.IoSize = st.BlockSize, st.BlockSize
		op.Blocks, op.BlocksFree, op.BlocksAvailable = st.Blocks, st.BlocksFree, st.BlocksAvailable
		op.Inodes, op.InodesFree = st.Inodes, st.InodesFree
		return err
	case *fuseops.ReadFileOp, *fuseops.WriteFileOp, *fuseops.FallocateOp, *wire.SeekOp, *wire.CopyRangeOp, *fuseops.SyncFileOp, *fuseops.ReadDirOp, *fuseops.ReadDirPlusOp:
		return s.doContent(r)
	case *fuseops.ListXattrOp, *fuseops.GetXattrOp, *fuseops.SetXattrOp, *fuseops.RemoveXattrOp:
		return s.doXattr(r)
	case *wire.IoctlOp:
		return syscall.ENOTTY // as of a file system that has no ioctl(2) of its own (vfs_ioctl in fs/ioctl.c)
	default:
		return s.doName(r)
	}
	return nil
}

// statx is what the kernel asks for in place of attributes when a program wants to know when a file was made (fuse_do_statx in
// fs/fuse/dir.c).
func (s *Server) statx(r *wire.Request, op *wire.StatxOp) error {
	e, err := s.fs.Getattr(Ino(op.Inode))
	if err != nil {
		return err
	}
	op.Attributes, op.AttributesExpiration, r.Blocks = attributes(e), expiration(e.AttrTTL), e.Blocks
	born, ok, err := s.fs.Birth(Ino(op.Inode))
	if ok {
		op.Attributes.Crtime = born.Time()
	}
	return err
}

// caller is the process that asks.
func caller(r *wire.Request) Caller { return Caller{UID: r.UID, GID: r.GID, Umask: r.Umask} }

// author is the process that asks for a change: with an inode, for one of a file's content or attributes.
func (s *Server) author(r *wire.Request, ino fuseops.InodeID) Caller {
	c := caller(r)
	if s.authors != nil {
		c.By = s.authors.Author(r.PID, Ino(ino))
	}
	return c
}

// doName makes, moves and removes names.
func (s *Server) doName(r *wire.Request) error {
	switch op := r.Op.(type) {
	case *fuseops.MkNodeOp:
		return reply(r, &op.Entry)(s.fs.Mknod(s.author(r, 0), Ino(op.Parent), op.Name, fuse.ConvertGoMode(op.Mode), op.Rdev))
	case *wire.TmpfileOp:
		return reply(r, &op.Entry)(s.fs.Tmpfile(s.author(r, 0), Ino(op.Parent), op.Mode))
	case *fuseops.MkDirOp:
		return reply(r, &op.Entry)(s.fs.Mkdir(s.author(r, 0), Ino(op.Parent), op.Name, permissions(op.Mode)))
	case *fuseops.CreateSymlinkOp:
		return reply(r, &op.Entry)(s.fs.Symlink(s.author(r, 0), Ino(op.Parent), op.Name, op.Target))
	case *fuseops.CreateLinkOp:
		return reply(r, &op.Entry)(s.fs.Link(s.author(r, 0), Ino(op.Target), Ino(op.Parent), op.Name))
	case *fuseops.UnlinkOp:
		return s.fs.Unlink(s.author(r, 0), Ino(op.Parent), op.Name)
	case *fuseops.RmDirOp:
		return s.fs.Rmdir(s.author(r, 0), Ino(op.Parent), op.Name)
	case *fuseops.RenameOp:
		return s.fs.Rename(s.author(r, 0), Ino(op.OldParent), op.OldName, Ino(op.NewParent), op.NewName, 0)
	case *wire.Rename2Op:
		return s.fs.Rename(s.author(r, 0), Ino(op.OldParent), op.OldName, Ino(op.NewParent), op.NewName, op.Flags)
	}
	return syscall.ENOSYS
}

// doContent reads and writes.
func (s *Server) doContent(r *wire.Request) error {
	switch op := r.Op.(type) {
	case *fuseops.ReadFileOp:
		var err error
		op.BytesRead, err = s.fs.Read(Ino(op.Inode), op.Dst[:op.Size], op.Offset)
		return err
	case *fuseops.WriteFileOp:
		if r.End {
			return s.fs.Append(s.author(r, op.Inode), Ino(op.Inode), op.Data, op.Offset)
		}
		return s.fs.Write(s.author(r, op.Inode), Ino(op.Inode), op.Data, op.Offset)
	case *fuseops.FallocateOp:
		if op.Offset > math.MaxInt64 || op.Length > math.MaxInt64-op.Offset {
			return syscall.EFBIG
		}
		return s.fs.Allocate(s.author(r, op.Inode), Ino(op.Inode), op.Mode, int64(op.Offset), int64(op.Length))
	case *wire.CopyRangeOp:
		var err error
		op.Copied, err = s.fs.CopyRange(s.author(r, op.To), Ino(op.From), op.FromOffset, Ino(op.To), op.ToOffset, op.Length)
		return err
	case *wire.SeekOp:
		if op.Whence != unix.SEEK_DATA && op.Whence != unix.SEEK_HOLE {
			return syscall.EINVAL
		}
		var err error
		op.Found, err = s.fs.Seek(Ino(op.Inode), op.Offset, op.Whence == unix.SEEK_HOLE)
		return err
	case *fuseops.SyncFileOp:
		begin := time.Now()
		err := s.fs.Sync()
		s.syncTook.Store(int64(time.Since(begin)))
		return err
	case *fuseops.ReadDirOp:
		return s.readDir(op, false)
	case *fuseops.ReadDirPlusOp:
		return s.readDir(&op.ReadDirOp, true)
	}
	return syscall.ENOSYS
}

// doXattr is about extended attributes.
func (s *Server) doXattr(r *wire.Request) error {
	switch op := r.Op.(type) {
	case *fuseops.ListXattrOp:
		names, err := s.fs.Listxattr(caller(r), Ino(op.Inode))
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
		return s.fs.Setxattr(s.author(r, 0), Ino(op.Inode), op.Name, op.Value, op.Flags)
	case *fuseops.RemoveXattrOp:
		return s.fs.Removexattr(s.author(r, 0), Ino(op.Inode), op.Name)
	}
	return syscall.ENOSYS
}
