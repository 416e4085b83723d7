package sandbox

import (
	"context"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// maxLogged bounds what the log of sessions is given of a command, in bytes.
const maxLogged = 4096 - 64

// logged returns of a command what the log of sessions says.
func logged(command []string) []string {
	room := maxLogged
	for i, arg := range command {
		if len(arg) > room {
			return append(slices.Clone(command[:i]), arg[:room], "...")
		}
		if room -= len(arg) + 1; room <= 0 {
			return append(slices.Clone(command[:i+1]), "...")
		}
	}
	return command
}

// endLog tells art-fuse the exit code, if there is one, and why the session ended. What the log lacks is no reason to fail.
func (s *session) endLog(code int, known bool, why string) {
	if s.log == nil {
		return
	}
	end := &control.LoggedEnd{Known: known, Code: code, Why: why[:min(len(why), control.MaxWhy)]}
	_, _ = s.log.Write(control.Marshal(end))
	s.log.Close()
	s.log = nil
}

// logLost has the log say that art-fuse was lost, which would have written the end.
func (s *session) logLost() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = control.HaveSync(ctx, control.LostWord, &control.LostSession{
		Database: s.plan.Database, PID: os.Getpid(), Why: "art-fuse ended: " + ending(s.fuseError),
	})
}

// sent is a signal that the command was sent, and by whom.
type sent struct {
	signal unix.Signal
	by     string
}

// why says what has ended the session, where that is not its command alone.
func (s *session) why(code int, known bool) string {
	switch {
	case s.because != "":
		return s.because
	case s.failed != nil:
		return s.failed.Error()
	case known && s.sent.signal != 0 && code == cli.ExitSignal+int(s.sent.signal):
		return s.sent.by + " " + unix.SignalName(s.sent.signal)
	case !known && s.guest != nil && s.ended == 0:
		return "the sandbox was ended from outside: " + ending(s.stageError)
	}
	return ""
}

// endedBy notes what ends the session; the first counts.
func (s *session) endedBy(what string) {
	if s.because == "" {
		s.because = what
	}
}
