package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/libexec"
)

// The words by which art-sync does something for art that would make the start of art longer if that could. What it is to do
// is marshalled on its standard input.
const (
	NotifyWord = "notify" // shows a Notification
	ScopeWord  = "scope"  // makes a Scope
	LostWord   = "lost"   // writes a LostSession into the log
)

// Notification is what is to be shown at the user's desktop.
type Notification struct{ Title, Text string }

// Scope is what systemd is to make of a session in the background.
type Scope struct {
	PID               int // of its process
	Name, Description string
}

// LostSession is a session that has lost the art-fuse which would have written its end into the log.
type LostSession struct {
	Database string
	PID      int // as in Serve
	Why      string
}

// HaveSync has art-sync do something by one of these words.
func HaveSync(ctx context.Context, word string, what any) error {
	path, err := libexec.Find("art-sync")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, word)
	cmd.Env = libexec.Environ()
	cmd.Stdin = bytes.NewReader(Marshal(what))
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the keys of the terminal are not for it
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	why, hint, _ := strings.Cut(strings.TrimSpace(said.String()), "\nart-sync: hint: ")
	switch {
	case err == nil:
		return nil
	case why != "":
		return cli.WithHint(errors.New(strings.TrimPrefix(why, "art-sync: ")), hint)
	case ctx.Err() != nil:
		return errors.New("run art-sync: it takes too long")
	}
	return fmt.Errorf("run art-sync: %w", cli.Reason(err))
}
