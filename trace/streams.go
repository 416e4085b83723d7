package trace

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// streams are a command's standard streams.
type streams struct {
	files  []uintptr
	close  []*os.File // the command's ends, of no use once it has been started
	ours   []*os.File // the other ends
	copies []func() error
	errs   chan error
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
		s.copies = nil
		s.started()
		return nil, errors.Join(err, s.wait())
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

// started begins to copy, and closes what the command alone uses. It does so once.
func (s *streams) started() {
	for _, f := range s.close {
		_ = f.Close() // nothing was written to it here
	}
	s.close = nil
	if s.errs != nil {
		return
	}
	s.errs = make(chan error, len(s.copies))
	for _, run := range s.copies {
		go func() { s.errs <- run() }()
	}
}

// wait waits until all is copied.
func (s *streams) wait() error {
	var errs []error
	if s.errs != nil {
		for range s.copies {
			errs = append(errs, <-s.errs)
		}
	}
	if s.copies == nil {
		for _, f := range s.ours {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
