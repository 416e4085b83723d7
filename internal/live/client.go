// Package live is how a push or a pull goes on beside the session that writes its database: [Client] is art-sync's side,
// package writer art-fuse's. What they say is in package control, what it means in package sqlvfs (beside.go).
package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// Client asks the writer of a database.
type Client struct {
	sock *os.File
}

// NewClient begins to talk over a socket, which is the client's to close.
func NewClient(sock *os.File) *Client { return &Client{sock} }

// Close ends the conversation: whatever waits goes on.
func (c *Client) Close() error { return c.sock.Close() }

// Open opens the database beside the writer, with all that has happened in the session until now. Its changes are made by
// the writer.
func (c *Client) Open(path string, opt sqlvfs.Options) (*sqlvfs.Store, error) {
	if err := c.ask(control.Freeze, -1); err != nil {
		return nil, err
	}
	opt.Beside = c.amend
	s, err := sqlvfs.Open(path, opt)
	if aerr := c.ask(control.Opening, -1); err == nil && aerr != nil {
		s.Close()
		err = aerr
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Hold has no operation of the session go on until the next changes have been made, or the client is closed.
func (c *Client) Hold() error { return c.ask(control.Hold, -1) }

// Keep has the writer keep for checkpoints what a pull is about to change on the host, in a directory of which it shows; present says that what the
// tree shows now is to be kept, too, as the pull is from another database.
func (c *Client) Keep(workspace sqlvfs.Tree, list []sqlvfs.HostChange, present bool) error {
	f, err := control.ChangesFile(&sqlvfs.HostChanges{Workspace: workspace, List: list, Present: present})
	if err != nil {
		return err
	}
	defer f.Close()
	return c.ask(control.Keep, int(f.Fd()))
}

func (c *Client) amend(changes *sqlvfs.Changes) error {
	f, err := control.ChangesFile(changes)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.ask(control.Amend, int(f.Fd()))
}

// ErrNone says that no session writes a database.
var ErrNone = errors.New("no session writes the database")

// ErrGone says that the session has ended meanwhile. Unless it is ErrUnanswered, what was asked for last was not done.
var ErrGone = errors.New("the session has ended meanwhile")

// ErrUnanswered is ErrGone where nobody knows whether what was asked for was done.
var ErrUnanswered = fmt.Errorf("%w, before it answered", ErrGone)

// Checkpoint has the writer make a checkpoint of all that has happened in the session until now, with a label unless that is "", and
// returns its number.
func (c *Client) Checkpoint(label string) (int64, error) {
	return c.checkpoint(control.Request{Verb: control.Checkpoint, What: label}, -1)
}

// Undo has the writer bring the tree back to before the last change, and returns the number of the checkpoint of that; so do Redo, and
// Rewind with what names a checkpoint.
func (c *Client) Undo() (int64, error) {
	return c.checkpoint(control.Request{Verb: control.Undo}, -1)
}

// Redo is as Undo.
func (c *Client) Redo() (int64, error) {
	return c.checkpoint(control.Request{Verb: control.Redo}, -1)
}

// Rewind is as Undo. Only what is at some paths goes back, if any are given.
func (c *Client) Rewind(name string, paths []string, linked []sqlvfs.LinkedName) (int64, error) {
	r := control.Request{Verb: control.Rewind, What: name}
	if len(paths)+len(linked) == 0 {
		return c.checkpoint(r, -1)
	}
	f, err := control.ChangesFile(&control.Paths{List: paths, Linked: linked})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return c.checkpoint(r, int(f.Fd()))
}

// Fork has the writer know of forks that are to be made, and returns the number of the checkpoint that they are of.
func (c *Client) Fork(f *control.Forks) (int64, error) {
	return c.forks(control.Fork, f)
}

// Merge has the tree become what a merge has made of it in a fork, whose file is given, and returns the number of the checkpoint of what it
// was before. The error is EAGAIN where something of it has changed meanwhile.
func (c *Client) Merge(fork *os.File) (int64, error) {
	return c.checkpoint(control.Request{Verb: control.Merge}, int(fork.Fd()))
}

// Forget has the writer know of forks no more.
func (c *Client) Forget(f *control.Forks) error {
	_, err := c.forks(control.Forget, f)
	return err
}

func (c *Client) forks(v control.Verb, forks *control.Forks) (int64, error) {
	f, err := control.ChangesFile(forks)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return c.checkpoint(control.Request{Verb: v}, int(f.Fd()))
}

// checkpoint asks for what is answered by a checkpoint's number.
func (c *Client) checkpoint(r control.Request, fd int) (int64, error) {
	a, err := c.request(r, fd)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(a.What, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("ask the session: it answered %q", a.What)
	}
	return id, nil
}

// ask asks for something, and waits until it is done.
func (c *Client) ask(v control.Verb, fd int) error {
	_, err := c.request(control.Request{Verb: v}, fd)
	return err
}

func (c *Client) request(r control.Request, fd int) (control.Request, error) {
	err := control.SendRequest(c.sock, fd, r)
	var a control.Request
	if err == nil {
		var got int
		if a, got, err = control.ReceiveRequest(c.sock); got >= 0 {
			unix.Close(got)
		}
	}
	switch {
	case errors.Is(err, libexec.ErrUnread), errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		return a, ErrGone
	case errors.Is(err, io.EOF):
		return a, ErrUnanswered
	case err != nil:
		return a, fmt.Errorf("ask the session: %w", err)
	case a.Verb == control.Done:
		return a, nil
	case a.Verb != control.NotDone:
		return a, fmt.Errorf("ask the session: it answered %d", a.Verb)
	case a.Errno == uint32(unix.ESHUTDOWN):
		return a, ErrGone
	}
	err = errors.New(a.What)
	if a.Errno != 0 {
		err = &remoteError{a.What, syscall.Errno(a.Errno)}
	}
	return a, cli.WithHint(err, a.Hint)
}

// remoteError is an error of the session's, of which the cause is known.
type remoteError struct {
	text  string
	cause syscall.Errno
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.cause }
