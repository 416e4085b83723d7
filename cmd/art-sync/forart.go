package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/notify/desktop"
	"github.com/riverlytech/art/internal/unit"
	"github.com/riverlytech/art/sqlvfs"
)

// forArt is what art has art-sync do, beside its own commands.
var forArt = map[string]func(context.Context) error{
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
	control.LostWord: func(context.Context) error {
		l := &control.LostSession{}
		if err := fromArt(l); err != nil {
			return err
		}
		return logLost(l)
	},
}

// fromArt reads what art has left on standard input.
func fromArt(what any) error {
	if err := control.ReadFile(os.Stdin, what); err != nil {
		return fmt.Errorf("read what to do for art: %w", err)
	}
	return nil
}

// logLost writes into the log why a session ended whose art-fuse could not.
func logLost(l *control.LostSession) error {
	s, err := sqlvfs.Open(l.Database, sqlvfs.Options{})
	if err == nil {
		err = errors.Join(s.LoseSession(l.PID, l.Why), s.Close())
	}
	if err != nil {
		return fmt.Errorf("write the log of %s: %w", l.Database, err)
	}
	return nil
}
