package control

import (
	"errors"
	"time"
)

// GrantScope is for what something is granted.
type GrantScope uint8

// The scopes.
const (
	GrantSession GrantScope = iota // until the session ends
	GrantOnce                      // one connection
	GrantAlways                    // also in the sessions that come later, by the user's settings
	GrantDeny                      // nothing: what waits for an answer is refused, and asks no more
	grantScopes
)

func (s GrantScope) String() string {
	switch s {
	case GrantSession:
		return "for the session"
	case GrantOnce:
		return "for one connection"
	case GrantAlways:
		return "for this session and later ones"
	case GrantDeny:
		return "denied"
	}
	return "unknown"
}

// Word is the scope in a word.
func (s GrantScope) Word() string {
	words := [...]string{GrantSession: "session", GrantOnce: "once", GrantAlways: "always", GrantDeny: "denied"}
	if int(s) < len(words) {
		return words[s]
	}
	return "unknown"
}

// GrantAsk is the body of AskGrant: rules (package netrule), and for what they are granted.
type GrantAsk struct {
	Rules []string
	Scope GrantScope
}

// mostRules bounds the rules of one GrantAsk.
const mostRules = 64

// Check returns an error if nobody can have meant that.
func (a *GrantAsk) Check() error {
	if a.Scope >= grantScopes || len(a.Rules) == 0 || len(a.Rules) > mostRules {
		return errors.New("nobody knows what is to be granted")
	}
	return nil
}

// GrantMade is the answer to AskGrant: the file of settings that says it from now on; "" if none does.
type GrantMade struct{ File string }

// GrantsTold is the answer to AskGrants.
type GrantsTold struct {
	Waiting []Asking // for the user's answer, the oldest first
	More    int      // that wait too
	Denied  []Asking // lately, and could be granted: the latest first
	Granted []Grant  // the latest first
}

// MostWaitingTold and the others bound the lists of GrantsTold: all of them are one message.
const (
	MostWaitingTold = 16
	MostDeniedTold  = 10
	MostGrantedTold = 10
	// MaxAskingCommand bounds a command line in there, in bytes.
	MaxAskingCommand = 256
)

// Asking is something that a guest wants to reach, and may not.
type Asking struct {
	Number  uint64 // of a question; 0: it is none
	Since   time.Time
	What    string // a name as it is sent over the network, or an address
	Port    int    // 0: it is not known yet
	Allow   string // the rule that would allow it
	Why     string // it was denied
	PID     int    // of the guest's process, in the host's numbers; 0: unknown
	Command []string
}

// Grant is one that was made.
type Grant struct {
	Time    time.Time
	Rule    string
	Scope   GrantScope
	PID     int      // who has made it
	Command []string // as that says
}
