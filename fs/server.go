package fs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jacobsa/fuse/fuseops"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs/wire"
	"github.com/riverlytech/art/sqlvfs"
)

// Server serves a FileSystem to the kernel. Operations run on the thread that got them, because waking another one up
// costs more than most operations take. Rings have a thread for each request, which only long reads are taken from (see
// answerRing). Of /dev/fuse one goroutine reads: it hands what waits for a disk as a matter of course to others, and where
// it waits unexpectedly another one reads on (see watchdog).
type Server struct {
	fs      FileSystem
	conn    *wire.Conn
	authors Authors // nil: nobody asks whose changes are
	logf    func(string, ...any)

	inflight inflight
	counts   counts
	syncTook atomic.Int64  // nanoseconds of the last sync
	ended    chan struct{} // closed when the connection is gone
	done     chan struct{} // closed when nothing is served any more
	failed   error         // why, if not because of an unmount; not before done
	lost     atomic.Bool   // the connection has to end: nothing is served any more

	watchdog watchdog
	poller   poller // of who reads /dev/fuse
}

// wireOptions are what the kernel is asked to do for a file system.
//
// HandleKillprivV2: we clear set-user-ID bits and capabilities when a file changes. Without it the kernel asks for
// security.capability before every write, once there are extended attributes at all (file_remove_privs in fs/inode.c).
//
// Not among them is write-back caching: with it, the kernel prefers its own size and times of a file to ours for as long
// as the inode lives (fuse_get_cache_mask in fs/fuse/inode.c), and changes that the host makes to the base would never show.
//
// NoOpenSupport and NoOpendirSupport: the kernel opens and closes by itself (see do), and sends O_TRUNC as a change of size.
// Linux 5.1 has both.
func wireOptions(volatile, acl bool) wire.Options {
	opt := wire.Options{
		Need: wire.NoOpenSupport | wire.NoOpendirSupport,
		Want: wire.CacheSymlinks | wire.ParallelDirOps | wire.AsyncRead | wire.DoReaddirplus | wire.ReaddirplusAuto | wire.HandleKillprivV2 |
			wire.DontMask | wire.SetxattrExt,
		// The kernel's own default is 12.
		MaxBackground: 64,
	}
	if volatile {
		// The kernel asks for a file's time of change, if what it knows has expired, before it uses content that it has of it.
		opt.Want |= wire.AutoInvalData
	}
	if acl {
		opt.Want |= wire.PosixACL
	}
	return opt
}

// Serve serves a file system on an open and mounted /dev/fuse, which it owns from now on. It
// returns when the kernel has been answered for the first time. authors, unless it is nil, knows whose changes are. logf receives what the kernel is
// not told. In the environment, ART_WIRE forces one of the ways for requests: "device" or "io_uring".
func Serve(fd int, fsys FileSystem, authors Authors, logf func(string, ...any)) (*Mounted, error) {
	// A thread waits in each read.
	err := unix.SetNonblock(fd, false)
	var transport wire.Transport
	if err == nil {
		transport, err = wire.ParseTransport(os.Getenv("ART_WIRE"))
	}
	var conn *wire.Conn
	if err == nil {
		opt := wireOptions(fsys.Volatile(), fsys.HasACL())
		if opt.Transport = transport; transport == wire.Any && fsys.MayHang() {
			// When more requests of a processor hang at once than it has threads for, what is queued behind them waits, too:
			// a thread that is added then gets what comes later, until another one commits (package wire).
			opt.Transport = wire.Device
		}
		conn, err = wire.Open(fd, opt)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("serve: %w", err)
	}
	if conn.Rings() {
		// A thread that waits in io_uring_enter may keep its place with Go's scheduler for a moment. With twice as many
		// places those of other requests need not wait for it.
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2*runtime.NumCPU()))
	}
	s := newServer(fsys, conn, fd, authors, logf)
	disconnect := fsys.Connect(kernelCache{conn})
	go func() {
		s.failed = s.serve()
		disconnect()
		if s.failed == nil {
			conn.Close()
		} // else a thread still reads from it
		close(s.done)
	}()
	return &Mounted{s}, nil
}

func newServer(fsys FileSystem, conn *wire.Conn, dev int, authors Authors, logf func(string, ...any)) *Server {
	return &Server{
		fs: fsys, conn: conn, authors: authors, logf: logf, ended: make(chan struct{}), done: make(chan struct{}),
		watchdog: watchdog{wake: make(chan struct{}, 1)}, poller: poller{fd: dev, score: fullScore},
	}
}

// Mounted is a file system that is being served.
type Mounted struct{ server *Server }

// Join waits until the file system is unmounted, and all requests are answered. After an error the process has to end, and
// the connection with it: requests of the guest wait for answers that do not come.
func (m *Mounted) Join(ctx context.Context) error {
	select {
	case <-m.server.done:
		return m.server.failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Operations says how many operations of each kind the kernel has asked for so far, as "Kind=N",
// separated by spaces.
func (m *Mounted) Operations() string { return m.server.counts.String() }

// WastedPolls says for how long the server has waited awake for requests when none came: processor
// time that others could have had.
func (m *Mounted) WastedPolls() time.Duration {
	return time.Duration(m.server.poller.wasted.Load())
}

// serve returns at the end of the connection, when all requests are answered, or with the error after which they never will.
func (s *Server) serve() error {
	go s.watchdog.run(s.ended, s.succeed)
	go s.lead()
	switch err := s.conn.ServeRings(s.answerRing); {
	case errors.Is(err, wire.ErrLost):
		s.lost.Store(true)
		return err
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		s.logf("FUSE over io_uring has failed, /dev/fuse takes over: %v", err)
	}
	<-s.ended
	s.inflight.Wait()
	return nil
}

// succeed has another goroutine read /dev/fuse. The one that did ends with its operation.
func (s *Server) succeed(t *turn) {
	s.inflight.begin(t.op)
	if s.watchdog.end(t) {
		go s.lead()
	} else {
		s.inflight.end(t.op) // it has just ended
	}
}

// lead reads requests and serves them until the connection is gone or somebody else leads.
func (s *Server) lead() {
	for {
		s.inflight.await()
		if !s.conn.Rings() {
			s.poller.wait()
		}
		r, err := s.conn.Read()
		if err != nil { // unmounted, or aborted
			close(s.ended)
			return
		}
		t := s.watchdog.begin(r.Op)
		s.take(r)
		if !s.watchdog.end(t) {
			s.inflight.end(t.op)
			return
		}
	}
}

// take serves a request by /dev/fuse, or has it served.
func (s *Server) take(r *wire.Request) {
	if read, ok := r.Op.(*fuseops.ReadFileOp); ok && s.tryRead(r, read) {
		return
	}
	if s.mayWait(r.Op) {
		s.handOff(r)
		return
	}
	s.answer(r)
}

// tryRead answers a request to read for which nothing has to be waited.
func (s *Server) tryRead(r *wire.Request, op *fuseops.ReadFileOp) (ok bool) {
	if op.BytesRead, ok = s.fs.TryRead(Ino(op.Inode), op.Dst[:op.Size], op.Offset); ok {
		s.counts.add(op)
		r.Reply(0)
	}
	return ok
}

// brief is how long a sync may take for the next one to be served by the leader.
const brief = 2 * time.Millisecond

// mayWait tells whether an operation waits for a disk as a matter of course. A sync does not where the
// disk is fast, and holds nobody up while no request waits: then to wake another goroutine would take a
// good part of its time.
func (s *Server) mayWait(op any) bool {
	switch op.(type) {
	case *fuseops.ReadFileOp, *wire.CopyRangeOp:
		return true
	case *fuseops.SyncFileOp:
		return s.syncTook.Load() >= int64(brief) || s.poller.ready()
	}
	return false
}

// answer serves a request.
func (s *Server) answer(r *wire.Request) {
	if s.lost.Load() {
		r.Reply(syscall.ENOTCONN) // as the kernel does afterwards
		return
	}
	s.counts.add(r.Op)
	var errno syscall.Errno
	if err := s.do(r); err != nil {
		errno = sqlvfs.Errno(err)
		if errno == syscall.EIO && !errors.Is(err, sqlvfs.ErrBaseChanged) { // of which the overlay tells
			s.logf("%T: %v", r.Op, err)
		}
	}
	// An error here says that the connection is gone, which the next read finds out as well.
	r.Reply(errno)
}

// answerRing serves a request of a ring. The program that reads a long file goes on with what it has while the kernel reads
// ahead, which takes longer than to wake another thread: so that is not done on the program's own processor, unless all of it is in
// memory.
func (s *Server) answerRing(r *wire.Request) {
	read, ok := r.Op.(*fuseops.ReadFileOp)
	if !ok || read.Size < sqlvfs.LongRead {
		s.answer(r)
		return
	}
	if !s.lost.Load() && s.tryRead(r, read) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.answer(r)
	}()
	<-done
}

// handOff has another goroutine answer a request.
func (s *Server) handOff(r *wire.Request) {
	op := r.Op
	s.inflight.begin(op)
	go func() {
		defer s.inflight.end(op)
		s.answer(r)
	}()
}
