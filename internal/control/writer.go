package control

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs/inode"
)

// What art-sync asks of the art-fuse that writes a database, and its answers. They go over a socket pair of which art hands
// art-fuse one end (Client), so the two may be of different builds:
//
//	art-sync                art-fuse
//	   |--Freeze-------------->|        commit all, and then nothing more
//	   |<-Done-----------------|
//	   |--Opening------------->|        art-sync reads what is committed: go on
//	   |<-Done-----------------|
//	   |--Amend, descriptor--->|        make these changes
//	   |<-Done-----------------|        they are made, and durable
//	   |--Hold---------------->|        the host's files are going to be moved: no operation of the guest's goes on
//	   |<-Done-----------------|
//	   |--Amend, descriptor--->|        as above; and operations go on
//	   |<-Done-----------------|
//	   |--Keep, descriptor---->|        a pull is going to change the host: keep what checkpoints show of that
//	   |<-Done-----------------|        it is kept, and durable
//	   |--Checkpoint---------->|        keep what the tree is now
//	   |<-Done-----------------|
//	   |--Undo, Redo, Rewind-->|        have the tree go back
//	   |<-Done-----------------|        it is there, and the kernel knows
//	   |--Fork, Forget,------->|        know of forks that are to be made, or of some no more
//	   |  descriptor           |
//	   |<-Done-----------------|
//	   |--Merge, descriptor--->|        have the tree become what a merge has made of it in a fork
//	   |<-Done-----------------|
//
// The descriptor is of a file that holds the changes, forks, or what a pull is going to change, marshalled, and with Merge of the fork's
// database. Instead of Done there may be NotDone. When the socket is closed, whatever waits goes on; so it does when art-sync takes too
// long.

// WriterVersion is that of the requests.
const WriterVersion = 13

// Verb is what is asked for, or answered.
type Verb uint8

// The verbs.
const (
	noVerb Verb = iota
	Freeze
	Opening
	Amend
	Hold
	Checkpoint
	Undo
	Redo
	Rewind
	Fork
	Forget
	Merge
	Keep
	Done
	NotDone
	verbs
)

// Request is a request, or an answer to one.
type Request struct {
	Version uint32
	Verb    Verb
	// What went wrong and what to do about it, and the error's number, if it has one; of NotDone. What is also the label of
	// a Checkpoint, or the name of that to which to Rewind; and of their answers, the checkpoint's number.
	What, Hint string
	Errno      uint32
}

// Paths come in a file with Rewind: what goes back, below the root. All does without one.
type Paths struct {
	List   []string
	Linked []inode.LinkedName
}

// maxText bounds the text of an answer, in bytes.
const maxText = 16 << 10

// SendRequest sends a request or an answer, with a descriptor if fd is not negative.
func SendRequest(sock *os.File, fd int, a Request) error {
	a.Version = WriterVersion
	a.What, a.Hint = a.What[:min(len(a.What), maxText)], a.Hint[:min(len(a.Hint), maxText)]
	return libexec.SendFD(sock, fd, Marshal(&a))
}

// ReceiveRequest receives a request or an answer. fd is the descriptor that came with it, which is the receiver's to close, or
// -1. The end of the other side is io.EOF.
func ReceiveRequest(sock *os.File) (a Request, fd int, err error) {
	fd, data, err := libexec.RecvFD(sock)
	if err != nil {
		return Request{}, -1, err
	}
	if a, err = readRequest(data, fd >= 0); err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return Request{}, -1, err
	}
	return a, fd, nil
}

// ErrVersion says that the other side speaks another version.
var ErrVersion = errors.New("the session is of another version of art")

func readRequest(data []byte, withFD bool) (a Request, err error) {
	if err := Unmarshal(data, &a); err != nil {
		return Request{}, fmt.Errorf("receive a request: %w", err)
	}
	switch {
	case a.Version != WriterVersion:
		return Request{}, ErrVersion
	case a.Verb == noVerb || a.Verb >= verbs:
		return Request{}, fmt.Errorf("receive a request: there is no request %d", a.Verb)
	case slices.Contains([]Verb{Amend, Keep, Fork, Forget, Merge}, a.Verb) != withFD && a.Verb != Rewind:
		return Request{}, fmt.Errorf("receive a request: %d with a descriptor: %v", a.Verb, withFD)
	case len(a.What) > maxText || len(a.Hint) > maxText:
		return Request{}, errors.New("receive a request: its text is too long")
	}
	return a, nil
}

// MaxChanges bounds the changes of one request, marshalled, in bytes.
const MaxChanges = 256 << 20

// ChangesFile returns an anonymous file that holds what v points to.
func ChangesFile(v any) (*os.File, error) {
	data := Marshal(v)
	if len(data) > MaxChanges {
		return nil, fmt.Errorf("there are too many changes for one request: %d bytes", len(data))
	}
	fd, err := unix.MemfdCreate("art-changes", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "changes")
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("write changes to memory: %w", err)
	}
	return f, nil
}

// ReadChanges reads from a descriptor, which it closes, what ChangesFile has put there. It must be of a regular file, lest
// reading it wait.
func ReadChanges(fd int, v any) error {
	f := os.NewFile(uintptr(fd), "changes")
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > MaxChanges {
		return errors.New("receive changes: it is no file that holds them")
	}
	data := make([]byte, st.Size())
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("receive changes: %w", err)
	}
	return Unmarshal(data, v)
}
