package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/events"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/libexec"
)

// tracing is what a session with a trace needs.
type tracing struct {
	log     *os.File
	filter  []byte   // the calls, as the stub loads it
	command []string // art-trace, up to what it runs
}

// openTrace finds art-trace and opens the log, if a trace is asked for; otherwise
// it returns nil. The log is opened here because art-trace runs where the caller's
// files may be covered, and before the session's view is made, because the guest
// must not see a file that exists only then.
func openTrace(o *request) (*tracing, error) {
	t := o.Trace
	if t == nil {
		return nil, nil
	}
	path, err := libexec.Find("art-trace")
	if err != nil {
		return nil, err
	}
	set, err := syscalls.Parse(t.Syscalls)
	if t.Format == "report" && t.Syscalls == "" { // as art-trace decides
		set = syscalls.Report()
	}
	if err != nil {
		return nil, fmt.Errorf("read --trace-syscalls: %w", err)
	}
	program, err := seccomp.Trace(set.Names())
	if err != nil {
		return nil, fmt.Errorf("read --trace-syscalls: %w", err)
	}
	tr := &tracing{log: os.Stderr, filter: seccomp.Marshal(program)}
	if t.Log != "" {
		if tr.log, err = hostfs.OpenLog(t.Log, o.Workspace, unix.O_TRUNC|unix.O_APPEND); err != nil {
			return nil, fmt.Errorf("open the trace's log %s: %w", t.Log, cli.Reason(err))
		}
	}
	tr.command = []string{path, "--filter-by", "payload", "--log-fd", strconv.Itoa(stage.ExtraFD),
		"--secrets-fd", strconv.Itoa(stage.ExtraFD + 1),
		"--syscalls", t.Syscalls, "--format", t.Format, "--"}
	return tr, nil
}

// hidden are the paths to hide from the guest: those asked for, and the logs of a
// trace and of events, which are not the guest's to see or to change.
func (o *request) hidden() []string {
	hide := slices.Clip(o.Hide)
	if o.Trace != nil && o.Trace.Log != "" {
		hide = append(hide, o.Trace.Log)
	}
	if path := events.File(o.Events); path != "" {
		hide = append(hide, path)
	}
	return hide
}

// trace puts art-trace before bubblewrap. The filter that selects the calls is the
// stub's to load, right before it becomes the payload, so that neither bubblewrap's
// calls nor the stub's are in the trace.
func (s *session) trace(tr *tracing) {
	if tr == nil {
		return
	}
	s.payload.Filter = tr.filter
	s.plan.Command = append(tr.command, s.plan.Command...)
	s.plan.View.Traced = true
	s.plan.View.Programs = append(s.plan.View.Programs, tr.command[0])
}
