package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/sandbox/wire"
	"github.com/riverlytech/art/sqlvfs"
)

const (
	// logAfter is when a session goes into the log that has changed nothing. What is written must be synced at its
	// end, which takes as long as a short session does without.
	logAfter = time.Second
	// maxAnnounced bounds what art says of a session, in bytes.
	maxAnnounced = 64 << 10
	// exitWait is how long to wait for the exit code of a session whose mount has gone. art knows it a moment later.
	exitWait = 2 * time.Second
)

// sessionLog keeps a database's log of sessions, by what art says of this one (beginLog in internal/sandbox).
type sessionLog struct {
	store *sqlvfs.Store
	from  *bufio.Reader
	ended chan struct{}
	done  chan error // of begin
	begun bool       // it is in the log. done guards it
}

// logSession begins to write the log. The session goes on meanwhile.
func logSession(store *sqlvfs.Store, from io.Reader) *sessionLog {
	l := &sessionLog{store: store, from: bufio.NewReader(from), ended: make(chan struct{}), done: make(chan error, 1)}
	go func() { l.done <- l.begin() }()
	return l
}

// begin writes that the session has begun, once it has gone on for a while, or at its end if it has changed anything.
func (l *sessionLog) begin() error {
	pid, command, err := l.announced()
	if err != nil {
		return err
	}
	select {
	case <-time.After(logAfter):
	case <-l.ended:
		if !l.store.Changed() {
			return nil
		}
	}
	err = l.store.BeginSession(pid, command)
	l.begun = err == nil
	return err
}

// announced returns what art says at the beginning. Where nobody says anything, there is io.EOF.
func (l *sessionLog) announced() (pid int, command []string, err error) {
	line, err := l.from.ReadString('\n')
	if err != nil {
		return 0, nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil || n < 0 || n > maxAnnounced {
		return 0, nil, fmt.Errorf("a session was announced as %.20q", line)
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(l.from, message); err != nil {
		return 0, nil, err
	}
	var number []string
	if err := wire.Unmarshal(message, &number, &command); err != nil || len(number) != 1 {
		return 0, nil, fmt.Errorf("a session was announced as %.20q", message)
	}
	pid, err = strconv.Atoi(number[0])
	return pid, command, err
}

// end writes the end of the session, once its exit code is known, or is not going to be.
func (l *sessionLog) end() error {
	close(l.ended)
	done := make(chan error, 1)
	var code *int // done guards it
	go func() {
		err := <-l.done
		if err == nil && l.begun {
			text, _ := io.ReadAll(io.LimitReader(l.from, 8))
			if n, err := strconv.Atoi(string(text)); err == nil {
				code = &n
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		switch {
		case errors.Is(err, io.EOF), err == nil && !l.begun:
			return nil
		case err != nil:
			return err
		}
		return l.store.EndSession(code)
	case <-time.After(exitWait):
		return l.store.EndSession(nil)
	}
}
