package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// findSession is for how long the session that writes a database is looked for: it can be found a moment after it has begun.
const findSession = time.Second

// connect returns how to reach the session that writes a database.
func connect(db string) func(context.Context) (*os.File, error) {
	return func(ctx context.Context) (*os.File, error) {
		for until := time.Now().Add(findSession); ; {
			sock, err := connectOnce(db)
			if sock != nil || err != nil {
				return sock, err
			}
			if _, open, _ := lock.Writer(db); !open || time.Now().After(until) || ctx.Err() != nil {
				return nil, live.ErrNone
			}
			time.Sleep(findSession / 20)
		}
	}
}

func connectOnce(db string) (*os.File, error) {
	dirs := session.Directories(os.Getenv)
	is := session.OfDatabase(dirs, db)
	if is == nil {
		return nil, nil
	}
	conn, err := session.Dial(dirs, is.ID, control.AskTree, nil, nil)
	switch {
	case err == nil:
		return conn.File, nil
	case slices.Contains(session.IDs(dirs), is.ID):
		return nil, err
	}
	return nil, nil // it has ended just now
}
