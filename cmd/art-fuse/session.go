package main

import (
	"io"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

const (
	// logAfter is when a session goes into the log that has changed nothing. What is written must be synced at its
	// end, which takes as long as a short session does without.
	logAfter = time.Second
	// exitWait is how long to wait for the exit code of a session whose mount has gone. art knows it a moment later.
	exitWait = 2 * time.Second
)

// sessionLog keeps a database's log of sessions.
type sessionLog struct {
	store   *sqlvfs.Store
	pid     int
	command []string
	flows   *flows
	from    io.Reader // of a control.LoggedEnd
	ended   chan struct{}
	done    chan error // of begin
	begun   bool       // it is in the log. done guards it
}

// logSession begins to write the log. The session goes on meanwhile.
func logSession(store *sqlvfs.Store, flows *flows, pid int, command []string, from io.Reader) *sessionLog {
	l := &sessionLog{store: store, flows: flows, pid: pid, command: command, from: from, ended: make(chan struct{}), done: make(chan error, 1)}
	go func() { l.done <- l.begin() }()
	return l
}

// begin writes that the session has begun, once it has gone on for a while, or at its end if it has changed anything or used the network.
func (l *sessionLog) begin() error {
	select {
	case <-time.After(logAfter):
	case <-l.ended:
		if !l.flows.await() && !l.store.Changed() {
			return nil
		}
	}
	err := l.store.BeginSession(l.pid, l.command)
	l.begun = err == nil
	return err
}

// artGone is why a session ended whose art has said nothing.
const artGone = "the process of the session was killed"

// end writes the end of the session, once it is known how it ended, or is not going to be.
func (l *sessionLog) end() error {
	close(l.ended)
	done := make(chan error, 1)
	var how control.LoggedEnd // done guards it
	go func() {
		err := <-l.done
		if err == nil && l.begun {
			text, _ := io.ReadAll(io.LimitReader(l.from, control.MaxLoggedEnd))
			if control.Unmarshal(text, &how) != nil {
				how = control.LoggedEnd{Why: artGone}
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil && l.begun {
			l.flows.end(logf)
		}
		switch {
		case err == nil && !l.begun:
			return nil
		case err != nil:
			return err
		}
		var code *int
		if how.Known {
			code = &how.Code
		}
		return l.store.EndSession(code, how.Why)
	case <-time.After(exitWait):
		return l.store.EndSession(nil, "")
	}
}
