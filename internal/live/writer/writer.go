// Package writer is art-fuse's side of package live: it serves pushes and pulls that go on beside the session.
package writer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
)

// How long a client may keep the writer, or all operations, waiting: to open a database takes milliseconds, to move files
// for which all is prepared as long as the host's disk takes. Later its changes are made all the same, as far as they are
// still of what is there.
const (
	frozenFor = 2 * time.Second
	heldFor   = 10 * time.Second
)

// Writer is what writes a database.
type Writer struct {
	store    *sqlvfs.Store
	overlays []*fs.Overlay
	turn     chan struct{} // holds a token while no client has its turn
	around   func(func() error) error

	mu    sync.Mutex // while a request is served
	ended bool       // GUARDED_BY(mu)
}

// New returns what writes for others the database of a store, which overlays show.
func New(store *sqlvfs.Store, overlays ...*fs.Overlay) *Writer {
	w := &Writer{store: store, overlays: overlays, turn: make(chan struct{}, 1), around: func(back func() error) error { return back() }}
	w.turn <- struct{}{}
	return w
}

// AroundBack has a function have the tree go back. It is to be called before Serve.
func (w *Writer) AroundBack(around func(back func() error) error) { w.around = around }

var (
	errBusy     = cli.WithHint(errors.New("something else is being done with this session's tree"), "wait until it is done")
	errLate     = errors.New("it took too long to open the database")
	errSequence = errors.New("a request that has no place here")
	errEnded    = fmt.Errorf("the session has ended: %w", unix.ESHUTDOWN) // live.Client knows it by its number
)

// waitFor is how long a client waits for one before it that may only be about to end.
const waitFor = 5 * time.Second

// begin has a client have its turn.
func (w *Writer) begin() bool {
	select {
	case <-w.turn:
		return true
	case <-time.After(waitFor):
		return false
	}
}

// served is a client.
type served struct {
	*Writer
	sock   *os.File
	intake *sqlvfs.Intake
}

// Serve serves a client until it ends, and closes its socket. The client finds what programs have written through mappings of files,
// which are given by their inode numbers.
func (w *Writer) Serve(sock *os.File, mapped []uint64) {
	defer sock.Close()
	c := &served{w, sock, w.store.NewIntake()}
	fs.HandOver(w.overlays, mapped)
	first := true
	for {
		a, fd, err := control.ReceiveRequest(sock)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				answer(sock, err)
			}
			return
		}
		if first && !w.begin() {
			if fd >= 0 {
				unix.Close(fd)
			}
			answer(sock, errBusy)
			return
		}
		if first {
			defer func() {
				c.leave()
				w.turn <- struct{}{}
			}()
		}
		first = false
		if err := c.do(a, fd); err != nil {
			return
		}
	}
}

// End returns when no request is being served, and none will be. The store may be closed then.
func (w *Writer) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// do does what is asked for. The error says that there is no use in going on.
func (c *served) do(a control.Request, fd int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		if fd >= 0 {
			unix.Close(fd)
		}
		return cmp.Or(answer(c.sock, errEnded), io.EOF)
	}
	switch a.Verb {
	case control.Freeze:
		c.intake.Drop() // of what another commit has led to
		return c.freeze(c.sock)
	case control.Amend:
		return answer(c.sock, c.amend(fd))
	case control.Keep:
		return answer(c.sock, c.keep(fd))
	case control.Hold:
		return c.hold(c.sock)
	case control.Checkpoint:
		return answerWith(c.sock)(c.store.Checkpoint(sqlvfs.ByUser, a.What))
	case control.Undo:
		return answerWith(c.sock)(c.goBack(sqlvfs.Undo))
	case control.Redo:
		return answerWith(c.sock)(c.goBack(sqlvfs.Redo))
	case control.Rewind:
		return answerWith(c.sock)(c.rewind(a.What, fd))
	case control.Fork:
		return answerWith(c.sock)(c.forks(fd, c.fork))
	case control.Merge:
		return answerWith(c.sock)(c.merge(fd))
	case control.Forget:
		return answerWith(c.sock)(c.forks(fd, c.forget))
	case control.Opening:
		return answer(c.sock, errLate)
	}
	return answer(c.sock, errSequence)
}

// goBack has the tree go back.
func (c *served) goBack(to sqlvfs.Destination) (is sqlvfs.Checkpoint, err error) {
	c.intake.Drop()
	err = c.around(func() error {
		is, err = fs.GoBack(c.store, c.overlays, to)
		return err
	})
	return is, err
}

// merge has the tree become what the fork that a descriptor is of has made of it.
func (c *served) merge(fd int) (is sqlvfs.Checkpoint, err error) {
	c.intake.Drop()
	m, err := c.store.OpenMerged(os.NewFile(uintptr(fd), "merge"))
	if err != nil {
		return is, err
	}
	defer m.Close()
	err = c.around(func() error {
		is, err = fs.TakeMerged(c.store, c.overlays, m)
		return err
	})
	return is, err
}

// rewind has the tree go back to a checkpoint, or what is at the paths that a descriptor is of.
func (c *served) rewind(name string, fd int) (sqlvfs.Checkpoint, error) {
	if fd < 0 {
		return c.goBack(sqlvfs.To(name))
	}
	var paths control.Paths
	if err := control.ReadChanges(fd, &paths); err != nil {
		return sqlvfs.Checkpoint{}, err
	}
	return c.goBack(sqlvfs.Part(name, paths.List, paths.Linked...))
}

// forks does something about the forks that a descriptor is of.
func (c *served) forks(fd int, do func(*control.Forks) (sqlvfs.Checkpoint, error)) (sqlvfs.Checkpoint, error) {
	var f control.Forks
	if err := control.ReadChanges(fd, &f); err != nil {
		return sqlvfs.Checkpoint{}, err
	}
	return do(&f)
}

// fork has the database know of forks.
func (c *served) fork(f *control.Forks) (sqlvfs.Checkpoint, error) {
	var list []sqlvfs.ForkToBe
	for _, one := range f.List {
		list = append(list, sqlvfs.ForkToBe{Path: one.Path, Secret: one.Secret})
	}
	return c.store.AddForks(list, f.At)
}

// forget has it know of forks no more.
func (c *served) forget(f *control.Forks) (is sqlvfs.Checkpoint, err error) {
	var secrets [][]byte
	for _, one := range f.List {
		secrets = append(secrets, one.Secret)
	}
	return is, c.store.DropForks(secrets, f.Keep)
}

// answerWith answers a request with a checkpoint's number, or an error.
func answerWith(sock *os.File) func(sqlvfs.Checkpoint, error) error {
	return func(is sqlvfs.Checkpoint, err error) error {
		if err != nil {
			return answer(sock, live.Hinted(err))
		}
		return control.SendRequest(sock, -1, control.Request{Verb: control.Done, What: fmt.Sprint(is.ID)})
	}
}

// leave gives up what the client has left unfinished.
func (c *served) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.intake.Drop()
		c.store.EndPull()
	}
}

// amend makes changes, or only takes in content.
func (c *served) amend(fd int) error {
	is, err := changes(fd)
	if err == nil {
		err = c.intake.Take(is)
	}
	if err != nil || is.OnlyContents() {
		return err
	}
	defer c.intake.Drop()
	if err := c.before(is); err != nil {
		return err
	}
	return c.synced(fs.Amend(c.store, c.overlays, is, c.intake))
}

// keep keeps what checkpoints show of a workspace on the host, before a pull changes it there.
func (c *served) keep(fd int) error {
	var is sqlvfs.HostChanges
	if err := control.ReadChanges(fd, &is); err != nil {
		return err
	}
	if err := is.Check(); err != nil {
		return err
	}
	host := fs.HostOf(c.overlays, is.Workspace)
	if host == nil { // another workspace of the database's, which this session does not show
		host = sqlvfs.NoHost{}
	}
	err := c.store.KeepHost(is.Workspace, host, is.List, func(string, int64, error) error { return nil })
	if err == nil && is.Present {
		var names []string
		if names, err = c.store.NamesToKeep(is.Workspace, is.List); err == nil {
			err = fs.KeepNames(c.overlays, is.Workspace, names)
		}
	}
	if err == nil && is.Present {
		_, err = c.store.KeepPresent(is.Workspace, host, is.List, true, func() error { return nil })
	}
	return err
}

// before makes a checkpoint of what is there before a push, a pull or a reset, if the session makes such.
func (c *served) before(is *sqlvfs.Changes) error {
	if len(is.Entries)+len(is.Made) == 0 || is.Occasion == "" || !c.store.Automatic() {
		return nil
	}
	kind := is.Occasion
	if kind == sqlvfs.BeforePull {
		kind = sqlvfs.PullBeside
	}
	_, err := c.store.Checkpoint(kind, "")
	if kind == sqlvfs.PullBeside && errors.Is(err, sqlvfs.ErrPulling) {
		return nil // what it changes on the host was kept, and there was a checkpoint first
	}
	return err
}

// synced makes durable what was done without an error.
func (w *Writer) synced(err error) error {
	if err == nil {
		err = w.store.Sync()
	}
	return err
}

// freeze commits all, and lets the client open the database with nothing committed meanwhile.
func (w *Writer) freeze(sock *os.File) error {
	var end error
	err := fs.Freeze(w.store, w.overlays, func() {
		if end = answer(sock, nil); end != nil || !arrives(sock, frozenFor) {
			return
		}
		var a control.Request
		if a, _, end = control.ReceiveRequest(sock); end == nil && a.Verb != control.Opening {
			end = errSequence
		}
		if end == nil {
			end = answer(sock, nil)
		}
	})
	if err != nil {
		return answer(sock, err)
	}
	return end
}

// hold has all operations wait until the client's changes are made.
func (w *Writer) hold(sock *os.File) error {
	var end, failed error
	asked := false
	err := fs.Hold(w.store, w.overlays, func(amend func(*sqlvfs.Changes) error) error {
		if end = answer(sock, nil); end != nil || !arrives(sock, heldFor) {
			return nil
		}
		var a control.Request
		var fd int
		if a, fd, end = control.ReceiveRequest(sock); end != nil {
			return nil
		}
		asked = true
		if a.Verb != control.Amend {
			failed = errSequence
			return nil
		}
		var c *sqlvfs.Changes
		if c, failed = changes(fd); failed == nil && len(c.Contents)+len(c.Made) > 0 {
			failed = errSequence // they would be waited for
		}
		if failed == nil {
			failed = amend(c)
		}
		return nil
	})
	switch {
	case err != nil: // it was not held
		return answer(sock, err)
	case end != nil || !asked:
		return end
	}
	return answer(sock, w.synced(failed))
}

// changes reads the changes that are in a descriptor, and makes sure that they can be.
func changes(fd int) (*sqlvfs.Changes, error) {
	c := &sqlvfs.Changes{}
	if err := control.ReadChanges(fd, c); err != nil {
		return nil, err
	}
	return c, c.Check()
}

// arrives waits until there is a message, or the end of the other side, and reports whether that has come in time.
func arrives(sock *os.File, within time.Duration) bool {
	deadline := time.Now().Add(within)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(sock.Fd()), Events: unix.POLLIN}}, int(left/time.Millisecond)+1)
		if err != nil && err != unix.EINTR {
			return true // receiving will tell
		}
		if n > 0 {
			return true
		}
	}
}

// answer answers a request.
func answer(sock *os.File, err error) error {
	a := control.Request{Verb: control.Done}
	if err != nil {
		a.Verb, a.What = control.NotDone, err.Error()
		var h cli.Hinted
		if errors.As(err, &h) {
			a.Hint = h.Hint()
		}
		a.Errno = uint32(sqlvfs.Errno(err))
	}
	return control.SendRequest(sock, -1, a)
}
