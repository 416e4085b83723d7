package live

import (
	"context"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs"
)

// findSession is for how long the session that writes a database is looked for: it can be found a moment after it has begun.
const findSession = time.Second

// settleTime is for how long Settle waits for a session.
const settleTime = time.Second

// Connect returns how to reach the session that writes a database. The error is [ErrNone] if none does.
func Connect(db string) func(context.Context) (*os.File, error) {
	return func(ctx context.Context) (*os.File, error) {
		for until := time.Now().Add(findSession); ; {
			sock, err := connect(db)
			if sock != nil || err != nil {
				return sock, err
			}
			if _, open, _ := sqlvfs.Writer(db); !open || time.Now().After(until) || ctx.Err() != nil {
				return nil, ErrNone
			}
			time.Sleep(findSession / 20)
		}
	}
}

func connect(db string) (*os.File, error) {
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

// Settle has the session that writes a database, if one does, commit all that has happened in it until now, for who is about to look at the
// database. Where the session does not answer within a second, what is to be seen is a little older.
func Settle(db string) {
	if _, open, _ := sqlvfs.Writer(db); !open {
		return
	}
	sock, _ := connect(db)
	if sock == nil {
		return
	}
	defer sock.Close()
	wait := unix.NsecToTimeval(settleTime.Nanoseconds())
	if unix.SetsockoptTimeval(int(sock.Fd()), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait) == nil {
		_ = NewClient(sock).ask(control.Freeze, -1)
	}
}
