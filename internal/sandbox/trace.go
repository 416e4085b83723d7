package sandbox

import (
	"fmt"
	"os"
	"strconv"

	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/trace/callset"
	"github.com/riverlytech/art/internal/trace/filter"
	"github.com/riverlytech/art/libexec"
)

// trace puts art-trace before bubblewrap, if a trace is asked for. The filter that
// selects the calls is the stub's to load, right before it becomes the payload, so
// that neither bubblewrap's calls nor the stub's are in the trace. The log is
// opened here: art-trace runs where the caller's files may be covered.
func (s *session) trace(t *Trace) error {
	if t == nil {
		return nil
	}
	path, err := libexec.Find("art-trace")
	if err != nil {
		return err
	}
	calls := t.Syscalls
	if calls == "" {
		calls = "all"
	}
	set, err := callset.Parse(calls)
	if err != nil {
		return fmt.Errorf("read --trace-syscalls: %w", err)
	}
	program, err := filter.Program(set.Names())
	if err != nil {
		return fmt.Errorf("read --trace-syscalls: %w", err)
	}
	s.payload.Filter = string(filter.Marshal(program))
	s.traceLog = os.Stderr
	if t.Log != "" {
		s.traceLog, err = os.OpenFile(t.Log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return fmt.Errorf("open the trace's log %s: %w", t.Log, unwrapped(err))
		}
	}
	command := []string{path, "--filter-by", "payload", "--log-fd", strconv.Itoa(stage.ExtraFD),
		"--syscalls", calls, "--format", t.Format}
	s.plan.Command = append(append(command, "--"), s.plan.Command...)
	return nil
}
