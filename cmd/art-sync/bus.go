package main

import (
	"context"
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/notify/desktop"
	"github.com/riverlytech/art/internal/unit"
)

// What art has art-sync say on the user's bus. It is no part of art, whose start would take longer by it.
var onBus = map[string]func(context.Context) error{
	control.NotifyWord: func(ctx context.Context) error {
		n := &control.Notification{}
		if err := fromArt(n); err != nil {
			return err
		}
		return desktop.Notify(ctx, n)
	},
	control.ScopeWord: func(ctx context.Context) error {
		s := &control.Scope{}
		if err := fromArt(s); err != nil {
			return err
		}
		return unit.Scope(ctx, s)
	},
}

// fromArt reads what art has left on standard input.
func fromArt(what any) error {
	if err := control.ReadFile(os.Stdin, what); err != nil {
		return fmt.Errorf("read what to say: %w", err)
	}
	return nil
}
