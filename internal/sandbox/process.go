package sandbox

import (
	"fmt"
	"io"
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/spawn"
)

// process is one that art has started, and what it writes.
type process struct {
	*spawn.Process
	outputs []*output
	done    chan error // how it has ended, when all is read that it has written
}

// output carries what a process writes to a writer of art's own.
type output struct {
	pipe *os.File // the process's end
	read chan struct{}
}

// add returns a pipe that goes to w.
func (p *process) add(w io.Writer) (*os.File, error) {
	r, pipe, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", cli.Reason(err))
	}
	o := &output{pipe: pipe, read: make(chan struct{})}
	p.outputs = append(p.outputs, o)
	go func() {
		defer close(o.read)
		defer r.Close()
		_, _ = io.Copy(w, r) // the writers are in memory, or nobody can be told
	}()
	return pipe, nil
}

// begin starts c, and waits for its end in another goroutine.
func (p *process) begin(c *spawn.Command) (err error) {
	p.Process, err = c.Start()
	for _, o := range p.outputs {
		o.pipe.Close()
	}
	if err != nil {
		return err
	}
	p.done = make(chan error, 1)
	go func() {
		status, err := p.Wait()
		for _, o := range p.outputs {
			<-o.read
		}
		p.done <- spawn.Check(status, err)
	}()
	return nil
}
