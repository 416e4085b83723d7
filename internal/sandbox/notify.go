package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/notify"
)

// notifyUser has the user be told of what becomes of the session, if he wants that.
func (s *session) notifyUser() {
	if s.notify == "false" {
		return
	}
	var command []string
	if s.notify != "true" {
		command = strings.Fields(s.notify)
	}
	program := "a shell"
	if len(s.payload.Command) > 0 {
		program = filepath.Base(s.payload.Command[0])
	}
	n := notify.New(filepath.Base(s.plan.Workspace)+": "+program, command)
	s.streams.Heard = notify.NewOutput(func(text string) {
		if text == "" {
			text = "waits for you"
		}
		n.Tell(text)
	})
	s.refusals.notify = func(call, program string) { n.Tell(fmt.Sprintf("%s was refused %s", program, call)) }
	s.notifier = n
}

// notifyEnd tells the user of the end. What could not be told is no reason to fail.
func (s *session) notifyEnd(code int) {
	if s.guest == nil {
		return
	}
	text := fmt.Sprintf("ended with exit code %d", code)
	if s.reason != "" {
		text += ": " + s.reason
	}
	if err := s.notifier.End(text); err != nil && !s.quiet {
		cli.Fail("art", err)
	}
}
