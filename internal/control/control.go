// Package control has the messages that art's programs send each other, and how they are encoded.
//
//	control.go  between art, its stage, the stub in the guest and art-fuse, from the start of a session on
//	serve.go    what art tells art-fuse to serve, and what that reports at the end
//	session.go  what others ask a session over its socket
//	net.go      what art tells art-net to let a guest reach, and what that denied
//	grant.go    what they grant a guest on the network, and see of that
//	flow.go     what art-net says of connections while they come, and how they are kept
//	command.go  what art tells art-fuse of the commands of a guest
//	commit.go   what art-fuse tells art of what it has committed
//	exec.go     what follows when they ask it to run another program
//	guest.go    what the guest asks of art-fuse
//	writer.go   what art-sync asks of the art-fuse that writes a database
//	sync.go     what art-sync does for art
//	encode.go   all of them as bytes
//
// session.go and writer.go name a version, because a session may be older than the program that asks it. All others are
// between programs of one build (libexec.CheckCaller). The messages of a session's start, and which socket they go over:
//
//	art     stage   stub    art-fuse
//	 |<- TakenOver    |        |       the stage has fusermount3's mount
//	 |       |--------|-Mount->|       FUSE is mounted, the home's first
//	 |-NoMount--------|------->|       there is none of a layer
//	 |       |<-------|-Opened-|       the files of the database are all there
//	 |<-MapIDs        |        |       answered by MappedIDs or Failed
//	 |<-Home |        |        |       the home that is in memory
//	 |<-Sockets       |        |       who has which socket of the network of a guest that reaches names alone
//	 |<-Tunnel        |        |       that network
//	 |<-AgentSocket---|        |       the guest's, for signatures of SSH
//	 |       |<-------|-Ready--|       the mount is served; art hears it if the stage does not wait for it
//	 |       |--------|-GuestSocket->| the guest's, for checkpoints
//	 |<-Leaving       |        |       the stage becomes bubblewrap
//	 |<-Ruleset-------|        |       for programs that join the guest later
//	 |<-Listening-----|        |       by what art is asked about refused calls
//	 |<-Started-------|        |       the terminal, or the payload, which waits
//	 |<-Running-------|        |       the payload on a terminal, which waits
//	 |-Go------------>|        |
//	 |<-Stopped-------|        |       the payload was stopped as a job of its terminal
//	 |-Continue------>|        |       it goes on
//	 |-Written--------|------->|       what the guest writes through mappings
//	 |-Client---------|------->|       who has connected to the session, for the tree
//	 |-Flows----------|------->|       what the guest has done on the network
//
// Instead of any of the stage's and art-fuse's there may be Failed, and of the stage's Refused.
package control

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/libexec"
)

// Kind says what a message is.
type Kind uint8

// The kinds. Unless it says so, a message comes without a descriptor.
const (
	none Kind = iota
	// Mount comes with a FUSE device that is mounted, and says which ids the guest has there.
	Mount
	NoMount
	Opened
	Ready
	// TakenOver says that art may unmount what it mounted for the session.
	TakenOver
	// MapIDs comes with a tree of mounts, in which art is to show root's files as the guest's.
	MapIDs
	MappedIDs
	// Home comes with the directory.
	Home
	// Leaving says whether art-fuse was Ready, or whether that is still to come and art's to hear. It comes with art's
	// own program, as the guest may have it.
	Leaving
	// Refused says that the kernel does not let the stage mount FUSE. The stage then ends.
	Refused
	// Failed ends what its sender does.
	Failed
	// Listening comes with the descriptor (seccomp_unotify(2)).
	Listening
	// Started comes with the terminal's master if there is one. Without, its sender is the payload.
	Started
	// Running is sent by the payload.
	Running
	// Go says that streams and limits are set up.
	Go
	// Stopped is sent by the payload's parent.
	Stopped
	// Continue says to that whether the payload is in the foreground of its terminal, and that it goes on.
	Continue
	// Client comes with the connection of who wants something of the tree that is served (AskTree).
	Client
	// Ruleset comes with the one that keeps the guest from sockets of the host, where the kernel has such.
	Ruleset
	// GuestSocket comes with the socket at which the guest asks for checkpoints.
	GuestSocket
	// Written says which files the guest may write through mappings, for the Client after it.
	Written
	// Tunnel comes with the guest's TUN device, of a network that is its own.
	Tunnel
	// AgentSocket comes with the socket at which the guest asks for signatures of SSH.
	AgentSocket
	// Sockets comes with a socket that tells of the sockets of the network that Tunnel is of (sock_diag(7)).
	Sockets
	// Flows says what the guest has done on the network.
	Flows
)

// kinds are their names, and whether one comes with a descriptor.
var kinds = [...]struct {
	name       string
	descriptor descriptor
}{
	Mount: {"mount", required}, NoMount: {"no mount", absent}, Opened: {"opened", absent}, Ready: {"ready", absent},
	TakenOver: {"taken over", absent}, MapIDs: {"map ids", required}, MappedIDs: {"mapped ids", absent},
	Home: {"home", required}, Leaving: {"leaving", required}, Refused: {"refused", absent}, Failed: {"failed", absent},
	Listening: {"listening", required}, Started: {"started", optional}, Running: {"running", absent},
	Go: {"go", absent}, Stopped: {"stopped", absent}, Continue: {"continue", absent}, Client: {"client", required},
	Ruleset: {"ruleset", required}, GuestSocket: {"the guest's socket", required}, Written: {"written", absent}, Tunnel: {"tunnel", required}, AgentSocket: {"the guest's agent", required},
	Sockets: {"sockets", required}, Flows: {"flows", absent},
}

type descriptor int

const (
	absent descriptor = iota
	optional
	required
)

func (k Kind) String() string {
	if k == none || int(k) >= len(kinds) {
		return fmt.Sprintf("message %d", uint8(k))
	}
	return kinds[k].name
}

// Message is one message.
type Message struct {
	Kind Kind
	// UID and GID are of Mount.
	UID, GID int
	// Ready is of Leaving.
	Ready bool
	// Foreground is of Continue.
	Foreground bool
	// Inodes is of Written.
	Inodes []uint64
	// List is of Flows.
	List []Flow
	// What failed and why, of Failed and Refused, and what to do about it, if anything.
	What, Hint string
}

// Failure is the message of an error.
func Failure(err error) Message {
	m := Message{Kind: Failed, What: oneLine(err.Error())}
	var h cli.Hinted
	if errors.As(err, &h) {
		m.Hint = oneLine(h.Hint())
	}
	return m
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// Err is the error that Failed and Refused tell of.
func (m *Message) Err() error {
	return cli.WithHint(errors.New(m.What), m.Hint)
}

// Received is a message that has come.
type Received struct {
	Message
	FD  int // the descriptor that came with it, which is the receiver's to close; -1 if none did
	PID int // the sender, if SO_PASSCRED is set on the socket; else 0
}

// Send sends a message, with a descriptor if fd is not negative.
func Send(sock *os.File, fd int, m Message) error {
	return libexec.SendFD(sock, fd, Marshal(&m))
}

// Receive receives a message. The end of the other side is io.EOF.
func Receive(sock *os.File) (Received, error) {
	fd, data, sender, err := libexec.RecvFrom(sock)
	if err != nil {
		return Received{}, err
	}
	r := Received{FD: fd}
	if r.Message, err = read(data, fd >= 0); err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return Received{}, err
	}
	if sender != nil {
		r.PID = int(sender.Pid)
	}
	return r, nil
}

// read reads a message that came with a descriptor or without one.
func read(data []byte, withFD bool) (m Message, err error) {
	if err := Unmarshal(data, &m); err != nil {
		return Message{}, fmt.Errorf("receive a message: %w", err)
	}
	if m.Kind == none || int(m.Kind) >= len(kinds) {
		return Message{}, fmt.Errorf("receive a message: there is no %v", m.Kind)
	}
	if want := kinds[m.Kind].descriptor; want == required && !withFD || want == absent && withFD {
		return Message{}, fmt.Errorf("receive a message: %v with a descriptor: %v", m.Kind, withFD)
	}
	return m, nil
}

// Await waits for one kind of message of art-fuse, and returns the error that it tells of instead.
func Await(sock *os.File, want Kind) error {
	m, err := Receive(sock)
	switch {
	case err != nil:
		return fmt.Errorf("start art-fuse: it ended: %w", err)
	case m.Kind == want:
		return nil
	case m.FD >= 0:
		unix.Close(m.FD)
	case m.Kind == Failed:
		return m.Err()
	}
	return fmt.Errorf("start art-fuse: it answered %q", m.Kind)
}
