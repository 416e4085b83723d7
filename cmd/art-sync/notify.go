package main

import (
	"context"
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/notify/desktop"
)

// showNotification shows at the desktop what art has left on standard input. It returns the exit code.
func showNotification(ctx context.Context) int {
	n := &control.Notification{}
	err := control.ReadFile(os.Stdin, n)
	if err != nil {
		err = fmt.Errorf("read what to notify of: %w", err)
	} else {
		err = desktop.Notify(ctx, n)
	}
	if err != nil {
		cli.Fail(prog, err)
		return cli.ExitError
	}
	return cli.OK
}
