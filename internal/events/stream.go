package events

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
)

const (
	// mostWaiting bounds what waits for a reader, in bytes. What comes after that is lost.
	mostWaiting = 4 << 20
	// patience is how long a reader may take before the user is told.
	patience = 750 * time.Millisecond
	// endPatience is how long a session that has ended waits for the reader; and once more, for the last event, for one that reads slowly.
	endPatience = 2 * time.Second
	// mostWritten bounds what is written at once, in bytes, beside the last line: the rest can still be left out at the end.
	mostWritten = 16 << 10
)

// Stream is where the events of a session go. Nobody who tells one waits for the reader. A nil Stream tells nobody.
type Stream struct {
	to      *os.File
	session string
	warn    func(text string) // tells the user

	mu      sync.Mutex
	more    *sync.Cond // of mu: there is more to write, or no more to come
	number  uint64     // GUARDED_BY(mu); of the last event
	waiting []line     // GUARDED_BY(mu)
	size    int        // GUARDED_BY(mu); of these, in bytes
	lost    uint64     // GUARDED_BY(mu); events that were not told, since the last that was
	all     uint64     // GUARDED_BY(mu); how many were lost in all
	slow    uint64     // GUARDED_BY(mu); of these, those for which the reader was too slow
	broken  error      // GUARDED_BY(mu); nothing can be written any more
	ended   bool       // GUARDED_BY(mu)
	writing int        // GUARDED_BY(mu); how many lines are being written
	wrote   int        // GUARDED_BY(mu); how many were

	done chan struct{} // closed when all is written
}

// line is an event that is to be written.
type line struct {
	text   []byte
	number uint64
	kind   Kind
	then   time.Time
	what   any // of [SessionEnded] alone
}

// New returns a stream to a file, which it closes. warn is called, from any goroutine, with what the user is to know of the reader.
func New(to *os.File, warn func(text string)) *Stream {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it does not fail
	s := &Stream{to: to, session: hex.EncodeToString(id[:]), warn: warn, done: make(chan struct{})}
	s.more = sync.NewCond(&s.mu)
	finishTorn(to)
	go s.write()
	return s
}

// Tell tells of an event that happened now. what is a struct: its keys stand beside those of the header.
func (s *Stream) Tell(kind Kind, what any) { s.TellAt(time.Now(), kind, what) }

// TellAt tells of an event that happened then.
func (s *Stream) TellAt(then time.Time, kind Kind, what any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended || s.broken != nil:
		s.all++
	case s.size >= mostWaiting && kind != SessionEnded: // for which there is always room
		s.number++
		s.lost++
		s.all++
		s.slow++
	default:
		s.putLost(then)
		s.put(then, kind, what)
		s.more.Signal()
	}
}

// putLost adds how many were lost, if some were. The lock is held.
func (s *Stream) putLost(then time.Time) {
	if s.lost > 0 {
		s.put(then, Lost, Missing{s.lost})
		s.lost = 0
	}
}

// Lose counts events that were lost before they could be told here.
func (s *Stream) Lose(n uint64) {
	if s == nil || n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number += n
	s.lost += n
	s.all += n
}

// put adds a line. The lock is held.
func (s *Stream) put(then time.Time, kind Kind, what any) {
	s.number++
	rest, err := quote.JSON(what)
	if err != nil {
		panic(err) // it has nothing that JSON has not
	}
	// A Header: none of its values needs quoting, and there may be one for each of very many files.
	text := make([]byte, 0, 128+len(rest))
	text = strconv.AppendInt(append(text, `{"v":`...), Version, 10)
	text = strconv.AppendUint(append(text, `,"n":`...), s.number, 10)
	text = append(append(append(text, `,"session":"`...), s.session...), `","time":"`...)
	text = append(then.UTC().AppendFormat(text, timeForm), `","event":"`...)
	text = append(append(text, kind...), '"')
	if rest = strings.TrimPrefix(rest, "{"); rest != "}" {
		text = append(text, ',')
	}
	text = append(append(text, rest...), '\n')
	l := line{text: text, number: s.number, kind: kind, then: then}
	if kind == SessionEnded {
		l.what = what
	}
	s.waiting = append(s.waiting, l)
	s.size += len(text)
}

// write writes what waits, until there is no more to come.
func (s *Stream) write() {
	defer close(s.done)
	defer s.to.Close()
	stalled := time.AfterFunc(time.Hour, func() {
		s.warn("who reads the events reads nothing: up to 4 MiB of them wait, and more are lost")
	})
	defer stalled.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.waiting) == 0 {
			if s.ended {
				return
			}
			s.more.Wait()
		}
		var text []byte
		n := 0
		for ; n < len(s.waiting) && len(text) < mostWritten; n++ {
			text = append(text, s.waiting[n].text...)
			s.waiting[n].text = nil
		}
		if s.waiting, s.writing = s.waiting[n:], n; len(s.waiting) == 0 {
			s.waiting = nil
		}
		s.mu.Unlock()
		stalled.Reset(patience)
		did, err := s.to.Write(text)
		if err != nil {
			did = cutTorn(s.to, text[:max(did, 0)])
		}
		stalled.Stop()
		s.mu.Lock()
		s.size -= len(text)
		s.wrote += n
		if err != nil {
			s.broken = errors.New(reason(err))
			s.all += uint64(n - bytes.Count(text[:did], []byte("\n")) + len(s.waiting))
			s.waiting, s.size, s.writing = nil, 0, 0
			if !s.ended {
				go s.warn("no more events: " + s.broken.Error())
			}
			return
		}
		s.writing = 0
	}
}

func reason(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}

// ErrSlowReader is why events were lost for which nobody has read the ones before.
var ErrSlowReader = errors.New("who reads them has gone, or reads too slowly")

// End tells of no more. It waits for the reader, but not for long, and returns how many events were lost, and why: [ErrSlowReader], what the
// file cannot take, or nil, if they were lost before they could be told.
func (s *Stream) End() (lost uint64, why error) {
	if s == nil {
		return 0, nil
	}
	s.mu.Lock()
	if before := s.wrote; s.broken == nil {
		s.putLost(time.Now())
		s.finish()
		if len(s.waiting) > 0 && s.wrote > before {
			s.leaveOut()
			s.finish()
		}
	}
	defer s.mu.Unlock()
	if left := uint64(s.writing + len(s.waiting)); left > 0 {
		s.all += left
		s.slow += left
	}
	switch {
	case s.broken != nil:
		why = s.broken
	case s.slow > 0:
		why = ErrSlowReader
	}
	return s.all, why
}

// LostError is what the user is told of what [Stream.End] returns; nil: nothing was lost.
func LostError(lost uint64, why error) error {
	switch {
	case lost == 0:
		return nil
	case errors.Is(why, ErrSlowReader):
		return cli.WithHint(fmt.Errorf("tell events: %d were lost: %w", lost, why), "what reads them has to read faster, or to the end")
	case why != nil:
		return fmt.Errorf("tell events: %d were lost: %w", lost, why)
	}
	return fmt.Errorf("tell events: %d were lost: there were too many at once, or it is not known where the files were", lost)
}

// finish waits until all is written, but not for long. The lock is held, but meanwhile.
func (s *Stream) finish() {
	s.ended = true
	s.more.Signal()
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(endPatience):
	}
	s.mu.Lock()
}

// leaveOut leaves out what waits, but for how much that was and the end of the session. The lock is held.
func (s *Stream) leaveOut() {
	first, end := s.waiting[0].number, s.waiting[len(s.waiting)-1]
	if end.kind != SessionEnded || len(s.waiting) < 3 {
		return
	}
	for _, l := range s.waiting[:len(s.waiting)-1] {
		if l.kind != Lost { // of which those that it tells of have been counted
			s.all++
			s.slow++
		}
	}
	s.lost = end.number - first
	s.number = end.number - 1
	for _, l := range s.waiting {
		s.size -= len(l.text)
	}
	s.waiting = nil
	s.putLost(end.then)
	s.put(end.then, SessionEnded, end.what)
	s.more.Signal()
}
