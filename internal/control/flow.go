package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// What art-net says of the guest's connections, and art to art-net, while a session runs: frames over its standard output and input, each
// a length of four bytes and what was marshalled. The last frame of art-net's is a NetReport.

// MaxFrame bounds a frame, in bytes.
const MaxFrame = 1 << 20

// NetEvents are some that have come together. Lost is how many were not told since the last.
type NetEvents struct {
	Events []NetEvent
	Lost   uint64
}

// NetEventKind says what has happened.
type NetEventKind uint8

// The kinds.
const (
	// NetBegun is a connection that a rule allows. What it hears waits until it is noted; an event with its number says how it went.
	NetBegun    NetEventKind = iota
	NetEnded                 // it has
	NetDenied                // something was denied, which waits until it is noted
	NetAsked                 // a connection waits for the user to allow it
	NetAnswered              // it waits no more; an event of an older number
	NetGranted               // a grant of that number holds, or with Why does not
	netEventKinds
)

// NetEvent is something that a guest does.
type NetEvent struct {
	Kind   NetEventKind
	Number uint64 // grows
	Time   time.Time
	UDP    bool
	// Guest and Peer are both ends as the guest has them, by which its process is found: an address and a port.
	Guest, Peer string
	// What is the name, or the address, that the guest wants, and Port 0 if that is not known yet; Address is where it was connected to.
	What    string
	Port    int
	Address string
	Rule    string // that allows it
	Why     string // it was denied, or has failed
	Allow   string // the rule that would allow it
	// Published is which of the ports that are published it is at, in the order of Ports.
	Published int
	// Sent and Received are bytes of the guest's.
	Sent, Received int64
}

// MaxNetText bounds a text of an event, in bytes.
const MaxNetText = 512

// FlowDenied is why a connection that a rule allows has failed where that was denied after all, of which a denial tells.
const FlowDenied = "denied"

// Check returns an error if art-net cannot have meant that.
func (e *NetEvent) Check() error {
	if e.Kind >= netEventKinds || e.Port < 0 || e.Port > 1<<16-1 || e.Published < 0 || e.Sent < 0 || e.Received < 0 {
		return errors.New("it is no event")
	}
	for _, text := range []string{e.Guest, e.Peer, e.What, e.Address, e.Rule, e.Why, e.Allow} {
		if len(text) > MaxNetText {
			return errors.New("an event is too long")
		}
	}
	return nil
}

// NetOrders are what art says to art-net.
type NetOrders struct {
	// Noted is the number of a denial or of a connection of which all is known, so that it need not wait any more; 0: of none.
	Noted uint64
	// Grant is something that is granted; with the number 0 it is nothing.
	Grant NetGrant
}

// NetGrant is what is granted to a guest while it runs. NetGranted, with its number, says that it holds.
type NetGrant struct {
	Number uint64
	Rule   string
	Once   bool // for one connection
	Deny   bool // to what waits to be granted something
}

// WriteFrame writes what v points to.
func WriteFrame(w io.Writer, v any) error {
	data := Marshal(v)
	if len(data) > MaxFrame {
		return fmt.Errorf("a frame of %d bytes is too long", len(data))
	}
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

// ReadFrame reads what WriteFrame has written.
func ReadFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > MaxFrame {
		return nil, errMalformed
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, errMalformed
	}
	return data, nil
}

// Flow is a connection of a guest's, or something that it was denied, as it is kept and shown.
type Flow struct {
	Number       int64
	Began, Ended time.Time
	Open         bool     // it has not ended: Ended means nothing
	PID          int      // of the guest's process, in the host's numbers; 0: unknown
	Command      []string // as that process says; none: unknown
	Process      int64    // the number of the command that it belongs to, where commands are learnt; 0: unknown
	Guest        int      // the process that has executed that, in the guest's numbers; 0: unknown
	// What is "" of a flow that counts those which were not kept.
	What, Address  string
	Port           int
	Protocol       string
	Denied         bool
	Rule           string
	Why, Allow     string
	Sent, Received int64
	Times          int64
}

// Bounds of flows.
const (
	MaxFlowsTold   = 16      // in one message
	MaxFlowsKept   = 10_000  // connections of one session
	MaxDenialsKept = 10_000  // denials of one session, which no connections crowd out
	MaxFlowCommand = 1 << 10 // bytes of a command line
)

// FlowsAsk is the body of AskFlows. The flows come behind the answer, as FlowsTold.
type FlowsAsk struct {
	Follow bool // go on until the session ends
}

// FlowsTold are some flows; one that has come before is told again when it has ended.
type FlowsTold struct{ List []Flow }
