package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/libexec"
)

// What art tells about a session that has ended.

// bySignal says whether a command with this exit code was ended by a signal, as far as that can be seen.
func bySignal(code int) bool {
	const maxSignal = 64
	return code > cli.ExitSignal && code <= cli.ExitSignal+maxSignal
}

// tellReport names the files that the guest could not read any more, because the
// host changed them when only part of them had been copied, and says what is
// different from the host.
func (s *session) tellReport() {
	report, known := s.fuseReport()
	for _, path := range report.Broken {
		cli.Fail("art", fmt.Errorf("read %s: changed on the host after the guest had changed part of it", filepath.Join(s.plan.Workspace, path)))
	}
	if report.Dropped > 0 {
		fmt.Fprintf(os.Stderr, "art: %s\n", control.Dropped(report.Dropped))
	}
	if !known || !report.Changed {
		return
	}
	if summary, err := s.summary(); err != nil {
		cli.Fail("art", err)
	} else if summary != "" {
		fmt.Fprintf(os.Stderr, "art: %s: art diff%s, art pull%[2]s\n", summary, s.flags)
	}
}

// fuseReport returns what art-fuse has said at its end, if it has.
func (s *session) fuseReport() (report control.Report, known bool) {
	err := control.Unmarshal(s.report.Bytes(), &report)
	return report, err == nil
}

// forget leaves nothing behind of a session whose command could not be run: neither the home nor the database that were
// made for it, if nothing is in there.
func (s *session) forget() {
	s.prepared.failed = true
	if !s.isNew() || s.replica.kept {
		return
	}
	// Without --force it stays if another session has written to it by now.
	if cmd, err := libexec.Command("art-sync", "rm", "--quiet", s.plan.Database); err == nil {
		_ = cmd.Run() // what stays is an empty database
	}
}

// isNew tells whether the database was made for the session, which has changed nothing in it.
func (s *session) isNew() bool {
	report, known := s.fuseReport()
	return s.fresh && known && !report.Changed && len(report.Broken) == 0
}

// vain tells whether nothing was run: no command has begun, or there is none of that name.
func (s *session) vain(code int, known bool) bool {
	return s.guest == nil || s.failed == nil && known && (code == cli.ExitNotFound || code == cli.ExitCannotExec)
}

// summary says in a few words what is different from the host. What goes wrong
// with that, art-sync tells.
func (s *session) summary() (string, error) {
	cmd, err := libexec.Command("art-sync", "summary", "-m", s.plan.Workspace, "-d", s.plan.Database)
	if err != nil {
		return "", err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if errors.As(err, new(*exec.ExitError)) {
		return "", nil
	}
	return string(out), err
}

// countMost bounds how long the end of a session counts for a copy what is pending. It takes 30 microseconds for each path.
const countMost = 10 * time.Second

// pending counts what is pending in the database, by what is committed; nil if that cannot be said, or takes too long.
func (s *session) pending() *control.Pending {
	cmd, err := libexec.Command("art-sync", "summary", "--json", "-m", s.plan.Workspace, "-d", s.plan.Database)
	if err != nil {
		return nil
	}
	p := &control.Pending{}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err = cmd.Start(); err == nil {
		late := time.AfterFunc(countMost, func() { _ = cmd.Process.Kill() })
		err = cmd.Wait()
		late.Stop()
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), p)
	}
	if err != nil {
		return nil
	}
	return p
}

// syncFlags returns the flags, each after a space, that name what o names, for a shell.
func syncFlags(o *request) (flags string) {
	switch {
	case o.known && o.placed:
		return " --agent " + o.Agent
	case !o.known && o.Workspace != ".":
		flags = " -m " + shellWord(o.Workspace)
	case o.named != "" && o.named != ".":
		flags = " -m " + shellWord(o.named)
	}
	if !o.known {
		flags += " -d " + shellWord(o.Database)
	}
	return flags
}

// shellWord quotes a word that a shell would not take as it is.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:,@%", r) && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) {
		return s
	}
	if quoted := quote.Name(s, true); quoted != s {
		return quoted
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// noExitCode returns why bubblewrap has no exit code to report. It cannot go to the
// workspace if nobody serves that; whatever else it says came first.
func (s *session) noExitCode() error {
	if s.attending { // art-fuse has ended, so that there is an answer
		s.unserved = <-s.served
	}
	switch text := s.diagnosis.String(); {
	case s.guest == nil && s.unserved != nil && (text == "" || strings.Contains(text, "chdir")):
		return s.unserved
	case s.guest == nil && s.fuseError != nil && strings.Contains(text, "chdir"):
		return s.servedNoMore()
	case s.guest != nil:
		return fmt.Errorf("run the sandbox: it was ended from outside: %s", ending(s.stageError))
	case text != "":
		return cli.WithHint(fmt.Errorf("build the sandbox: %s", text), sandboxHint(text))
	}
	return fmt.Errorf("build the sandbox: bwrap ended: %s", ending(s.stageError))
}

// sandboxHint returns what to do about what bubblewrap said.
func sandboxHint(text string) string {
	if strings.Contains(text, "mount proc") {
		return hint.Proc()
	}
	for _, sign := range []string{"uid map", "namespace", "Operation not permitted", "Creating new"} {
		if strings.Contains(text, sign) {
			return hint.Host{}.Namespaces()
		}
	}
	if strings.Contains(text, "Unknown option") {
		return "install bubblewrap 0.8 or later"
	}
	return ""
}
