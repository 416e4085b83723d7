package control

import (
	"errors"
	"fmt"
	"strings"
)

// What a session and who runs another program in it say to each other: the body of the Ask, and then, when that was
// answered, ExecMessages.
//
//	client          session
//	 |- ExecStream ---->|       for each stream that is not the terminal
//	 |<- ExecTerminal --|       if there is one
//	 |<- ExecRunning ---|       the program, which waits
//	 |- ExecGo -------->|
//	 |<- ExecStopped ---|       the program was stopped as a job of its terminal
//	 |- ExecContinue -->|       it goes on
//	 |<- ExecEnded -----|

// ExecAsk asks for another program.
type ExecAsk struct {
	// Command and its arguments; none is a shell.
	Command []string
	// Env are variables to set beside those of the session.
	Env []string
	// Dir is the directory of the guest's to start in; "" is the session's.
	Dir string
	// Terminal says which streams are a terminal of the program's own.
	Terminal [3]bool
	// Background says that it begins in the background of that.
	Background bool
}

// Check returns an error if it cannot be done.
func (a *ExecAsk) Check() error {
	for _, kv := range a.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || name == "ART_SANDBOX" {
			return fmt.Errorf("set the environment: %q is not for a guest", kv)
		}
	}
	for _, text := range append(append([]string{a.Dir}, a.Command...), a.Env...) {
		if strings.ContainsRune(text, 0) {
			return errors.New("run the command: there is a NUL in it")
		}
	}
	return nil
}

// ExecKind says what an ExecMessage is.
type ExecKind uint8

// The kinds.
const (
	noExec ExecKind = iota
	// ExecStream comes with a stream of the guest's.
	ExecStream
	// ExecTerminal comes with the master of the program's terminal.
	ExecTerminal
	// ExecRunning comes with the program's pidfd.
	ExecRunning
	// ExecGo says that the streams are set up.
	ExecGo
	// ExecStopped says that the program was stopped.
	ExecStopped
	// ExecContinue says whether the program is in the foreground of its terminal, and that it goes on.
	ExecContinue
	// ExecEnded says how the program ended, or why there is none.
	ExecEnded
	execKinds
)

// ExecMessage is one of them.
type ExecMessage struct {
	Kind ExecKind
	// Stream is the number, of ExecStream.
	Stream int
	// PID is the program's process id, of ExecRunning.
	PID int
	// Foreground is of ExecContinue.
	Foreground bool
	// Code is the exit code, of ExecEnded.
	Code int
	// What failed and why, of ExecEnded, and what to do about it, if anything.
	What, Hint string
}

// Check returns an error if there is no such message, with a descriptor or without.
func (m *ExecMessage) Check(withFD bool) error {
	with := m.Kind == ExecStream || m.Kind == ExecTerminal || m.Kind == ExecRunning
	if m.Kind == noExec || m.Kind >= execKinds || with != withFD || m.Stream < 0 || m.Stream > 2 {
		return fmt.Errorf("receive a message: message %d with a descriptor: %v", m.Kind, withFD)
	}
	return nil
}
