package trace

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// lingers is how long Run waits for the streams, if Command.WaitDelay does not say so, once it has been told to end or has failed.
const lingers = time.Second

// streams are a command's standard streams.
type streams struct {
	files  []uintptr
	close  []*os.File // the command's ends, of no use once it has been started
	ours   []*os.File // the other ends
	copies []func() error
	errs   chan error // what has become of the copies; nil until they begin
}

// streams opens what the command's streams are to be.
func (cmd *Command) streams() (*streams, error) {
	s := &streams{}
	in, err := s.input(cmd.Stdin)
	var out, stderr *os.File
	if err == nil {
		out, err = s.output(cmd.Stdout)
	}
	if err == nil {
		if stderr = out; !same(cmd.Stdout, cmd.Stderr) {
			stderr, err = s.output(cmd.Stderr)
		}
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	s.files = []uintptr{in.Fd(), out.Fd(), stderr.Fd()}
	return s, nil
}

// same reports whether both are the same writer, which then is written to by one
// goroutine.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }() // of types that cannot be compared
	return a == b
}

func (s *streams) input(r io.Reader) (*os.File, error) {
	switch r := r.(type) {
	case nil:
		return s.null(os.O_RDONLY)
	case *os.File:
		return r, nil
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.close, s.ours = append(s.close, theirs), append(s.ours, ours)
	s.copies = append(s.copies, func() error {
		_, err := io.Copy(ours, r)
		if errors.Is(err, unix.EPIPE) { // the command has read what it wanted
			err = nil
		}
		return errors.Join(err, ours.Close())
	})
	return theirs, nil
}

func (s *streams) output(w io.Writer) (*os.File, error) {
	switch w := w.(type) {
	case nil:
		return s.null(os.O_WRONLY)
	case *os.File:
		return w, nil
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.close, s.ours = append(s.close, theirs), append(s.ours, ours)
	s.copies = append(s.copies, func() error {
		_, err := io.Copy(w, ours)
		return errors.Join(err, ours.Close())
	})
	return theirs, nil
}

func (s *streams) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.close = append(s.close, f)
	}
	return f, err
}

// begin begins to copy, and closes what the command alone uses. It does so once: when the command has been executed, and not before, since
// what has been read of an input is lost to whoever would read it then.
func (s *streams) begin() {
	if s.errs != nil {
		return
	}
	closeAll(s.close)
	s.errs = make(chan error, len(s.copies))
	for _, run := range s.copies {
		go func() { s.errs <- run() }()
	}
}

// discard closes everything.
func (s *streams) discard() {
	closeAll(s.close)
	closeAll(s.ours)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing is lost: a pipe has no more to say
	}
}

// wait waits until all is copied, once nobody uses the streams any more. If the trace has failed, or ctx ends, that is not for long, as with
// a delay. Then the pipes are closed, and what reads or writes something of the caller's is left to itself.
func (s *streams) wait(ctx context.Context, delay time.Duration, failed bool) error {
	if s.errs == nil { // nothing was executed
		s.discard()
		return nil
	}
	var expired <-chan time.Time
	if delay == 0 && failed {
		delay = lingers
	}
	if delay > 0 {
		expired = time.After(delay)
	}
	ended := ctx.Done()
	var errs []error
	for len(errs) < len(s.copies) {
		select {
		case err := <-s.errs:
			errs = append(errs, err)
		case <-ended:
			if ended = nil; expired == nil {
				expired = time.After(lingers)
			}
		case <-expired:
			closeAll(s.ours)
			return errors.Join(append(errs, exec.ErrWaitDelay)...)
		}
	}
	return errors.Join(errs...)
}
