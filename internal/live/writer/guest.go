package writer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// The guest asks for checkpoints of its own over a socket in its view, so that an agent can mark its turns. Whoever is in there may be
// hostile: it is heard for a moment, one line, and not often, and what it gets is a checkpoint of the guest's (sqlvfs.ByGuest).
const (
	guestsAtOnce = 4
	guestWithin  = 2 * time.Second // for its line, and to take the answer
	guestEvery   = time.Second     // in the long run
	guestBurst   = 10              // at once
)

var errOften = errors.New("busy: one a second, and ten at once")

// ServeGuest serves the guest's socket, for as long as the process lives.
func (w *Writer) ServeGuest(socket *os.File) {
	listener, err := net.FileListener(socket)
	socket.Close()
	if err != nil {
		return // nobody is heard
	}
	defer listener.Close()
	limit := &bucket{}
	slots := make(chan struct{}, guestsAtOnce)
	for {
		slots <- struct{}{}
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		go func() {
			defer func() { <-slots }()
			if err != nil {
				time.Sleep(guestWithin) // there are no descriptors, for one
				return
			}
			defer conn.Close()
			w.hear(conn, limit)
		}()
	}
}

// hear answers one line of the guest's.
func (w *Writer) hear(conn net.Conn, limit *bucket) {
	_ = conn.SetDeadline(time.Now().Add(guestWithin))
	line := make([]byte, 0, control.MaxGuestLine+1)
	for len(line) < cap(line) && bytes.IndexByte(line, '\n') < 0 {
		n, err := conn.Read(line[len(line):cap(line)])
		line = line[:len(line)+n]
		if err != nil {
			break
		}
	}
	answer := ""
	switch c, err := w.mark(line, limit); {
	case err == nil:
		answer = fmt.Sprintf("checkpoint %d\n", c.ID)
	default:
		answer = control.GuestError + err.Error() + "\n"
	}
	_ = conn.SetDeadline(time.Now().Add(guestWithin))
	_, _ = conn.Write([]byte(answer)) // what fails is the guest's loss
}

// mark makes the checkpoint that a line asks for.
func (w *Writer) mark(line []byte, limit *bucket) (c sqlvfs.Checkpoint, err error) {
	label, err := control.ParseGuestLine(line)
	if err != nil {
		return c, err
	}
	if !limit.take(time.Now()) {
		return c, errOften
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return c, io.EOF
	}
	c, err = w.store.Checkpoint(sqlvfs.ByGuest, label)
	for _, own := range []error{sqlvfs.ErrLabel, sqlvfs.ErrLabelTaken, sqlvfs.ErrManyByGuest} {
		if errors.Is(err, own) {
			return c, own
		}
	}
	if err != nil {
		err = errors.New("no checkpoint could be made") // why is for the host
	}
	return c, err
}

// bucket lets some pass at once, and then one by one.
type bucket struct {
	mu   sync.Mutex
	full time.Time // when it will be; GUARDED_BY(mu)
}

func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full.Before(now) {
		b.full = now
	}
	if b.full.Sub(now) > (guestBurst-1)*guestEvery {
		return false
	}
	b.full = b.full.Add(guestEvery)
	return true
}
