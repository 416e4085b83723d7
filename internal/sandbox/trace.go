package sandbox

import (
	"fmt"
	"os"
	"strconv"

	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/libexec"
)

// trace puts art-trace before bubblewrap, if a trace is asked for. The log is
// opened here: art-trace lives where the guest's view is being made.
func (s *session) trace(t *Trace) error {
	if t == nil {
		return nil
	}
	path, err := libexec.Find("art-trace")
	if err != nil {
		return err
	}
	s.traceLog = os.Stderr
	if t.Log != "" {
		s.traceLog, err = os.OpenFile(t.Log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return fmt.Errorf("open the trace's log %s: %w", t.Log, unwrapped(err))
		}
	}
	command := []string{path, "--log-fd", strconv.Itoa(stage.ExtraFD)}
	if t.Syscalls != "" {
		command = append(command, "--syscalls", t.Syscalls)
	}
	if t.Format != "" {
		command = append(command, "--format", t.Format)
	}
	s.plan.Command = append(append(command, "--"), s.plan.Command...)
	return nil
}
