package notify

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
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
)

// OnBus has art-sync say something on the user's bus, by a word of package control.
func OnBus(ctx context.Context, word string, what any) error {
	path, err := libexec.Find("art-sync")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, word)
	cmd.Env = libexec.Environ()
	cmd.Stdin = bytes.NewReader(control.Marshal(what))
	var said bytes.Buffer
	cmd.Stderr = &said
	err = run(ctx, cmd)
	why, hint, _ := strings.Cut(strings.TrimSpace(said.String()), "\nart-sync: hint: ")
	switch {
	case err == nil:
		return nil
	case why != "":
		return cli.WithHint(errors.New(strings.TrimPrefix(why, "art-sync: ")), hint)
	}
	return fmt.Errorf("run art-sync: %w", err)
}

// run runs a program that the keys of the terminal are not for.
func run(ctx context.Context, cmd *exec.Cmd) error {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // for what it leaves with the streams
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		return errors.New("it takes too long")
	}
	return cli.Reason(err)
}
