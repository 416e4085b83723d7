package files

import (
	"fmt"
	"os"

	"github.com/riverlytech/art/libexec"
)

// Message is what one side says to the other about a file.
type Message struct {
	Kind string
	File int      // its place in the list of the session's files
	FD   *os.File // nil: none came with it
	Err  error    // the end of the other side
}

// Close closes the file that came with it.
func (m *Message) Close() {
	if m.FD != nil {
		m.FD.Close()
	}
}

// Send sends a message, with a descriptor if fd is not negative.
func Send(sock *os.File, fd int, kind string, file int) error {
	return libexec.SendFD(sock, fd, fmt.Appendf(nil, "%s %d", kind, file))
}

// Receive receives a message about one of so many files.
func Receive(sock *os.File, files int) Message {
	fd, text, err := libexec.RecvFD(sock)
	if err != nil {
		return Message{Err: err}
	}
	return parseMessage(fd, text, files)
}

// ReceiveAll passes on all messages, up to the end of the other side.
func ReceiveAll(sock *os.File, files int, to chan<- Message) {
	for {
		m := Receive(sock, files)
		to <- m
		if m.Err != nil {
			return
		}
	}
}

func parseMessage(fd int, text []byte, files int) (m Message) {
	if fd >= 0 {
		m.FD = os.NewFile(uintptr(fd), "file")
	}
	if n, err := fmt.Sscanf(string(text), "%s %d", &m.Kind, &m.File); n != 2 || err != nil || m.File < 0 || m.File >= files {
		m.Close()
		return Message{Err: fmt.Errorf("message %q", text)}
	}
	return m
}
