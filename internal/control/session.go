package control

import (
	"errors"
	"time"

	"github.com/riverlytech/art/internal/cli"
)

// What others ask a session over its socket (package internal/session). The first message on a connection is an Ask, and the
// second the Answer. Both stay as they are in all versions, so that any two can tell each other that they differ; what Body
// holds need be the same in one version alone.

// SessionProtocol is the version of Ask and Answer.
const SessionProtocol = 1

// AskKind says what is asked.
type AskKind uint8

// The kinds, and what Body holds of the Ask and the Answer.
const (
	noAsk AskKind = iota
	// AskInfo wants to know what the session is: nothing, a SessionInfo.
	AskInfo
	// AskKill sends the guest a signal: a KillAsk, nothing.
	AskKill
	// AskWait waits for the end: nothing, and a second Answer at the end, with a SessionEnd.
	AskWait
	// AskAttach joins the session's terminal: an AttachAsk, nothing. What follows are AttachMessages, either way.
	AskAttach
	// AskExec runs another program: an ExecAsk, nothing. What follows are ExecMessages, either way.
	AskExec
	// AskTree hands the connection on to art-fuse: nothing, nothing. What follows is between the two.
	AskTree
	// AskFlows wants to know what the guest does on the network: a FlowsAsk, nothing. What follows are FlowsTold.
	AskFlows
	// AskPorts wants to know which ports are published: nothing, a PortsTold.
	AskPorts
	// AskGrant grants the guest something on the network: a GrantAsk, a GrantMade.
	AskGrant
	// AskGrants wants to know what waits to be granted, and was: nothing, a GrantsTold.
	AskGrants
	askKinds
)

// Ask is the first message on a connection.
type Ask struct {
	Protocol int
	Version  string
	Kind     AskKind
	Body     []byte
}

// Answer is the answer to an Ask. What and Hint say why it is refused.
type Answer struct {
	Protocol int
	Version  string
	What     string
	Hint     string
	Body     []byte
}

// Check returns an error if there is no such Ask.
func (a *Ask) Check() error {
	if a.Kind == noAsk || a.Kind >= askKinds {
		return errors.New("nobody knows what was asked")
	}
	return nil
}

// Err is why the Ask was refused, or nil.
func (a *Answer) Err() error {
	if a.What == "" {
		return nil
	}
	return cli.WithHint(errors.New(a.What), a.Hint)
}

// SessionInfo is what a session says of itself.
type SessionInfo struct {
	ID        string
	PID       int // of the process of the session
	Workspace string
	Database  string // "" in direct mode
	Command   []string
	Started   time.Time
	State     SessionState
	Stopped   bool // the command is, as a job
	Terminal  bool // it has one
	Log       string
	// Copied is where the database is copied to, or "", and Copy is how far.
	Copied string
	Copy   ReplicaState
}

// SessionState says who is with a session.
type SessionState uint8

// The states.
const (
	// Attached sessions have somebody who waits for them.
	Attached SessionState = iota
	// Detached ones run in the background.
	Detached
	// Ending ones have been told to end.
	Ending
)

func (s SessionState) String() string {
	switch s {
	case Attached:
		return "attached"
	case Detached:
		return "detached"
	case Ending:
		return "ending"
	}
	return "unknown"
}

// AttachAsk is the body of AskAttach. Who only views types nothing.
type AttachAsk struct {
	Cols, Rows int
	View       bool
}

// AttachKind says what an AttachMessage is.
type AttachKind uint8

// The kinds.
const (
	// AttachData is what is typed, or what is to be seen.
	AttachData AttachKind = iota
	// AttachSize says how large the terminal is.
	AttachSize
	// AttachEnd says that the session has ended, and how.
	AttachEnd
)

// AttachMessage is one that follows AskAttach.
type AttachMessage struct {
	Kind       AttachKind
	Data       []byte
	Cols, Rows int
	End        SessionEnd
}

// KillAsk is the body of AskKill.
type KillAsk struct{ Signal int }

// SessionEnd is how a session ended.
type SessionEnd struct {
	Code int
	Why  string // what failed, or ended it from outside
}
