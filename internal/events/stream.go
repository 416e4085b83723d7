package events

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/quote"
)

const (
	// mostWaiting bounds what waits for a reader, in bytes. What comes after that is lost.
	mostWaiting = 4 << 20
	// patience is how long a reader may take before the user is told.
	patience = 750 * time.Millisecond
	// endPatience is how long a session that has ended waits for the reader.
	endPatience = 2 * time.Second
)

// Stream is where the events of a session go. Nobody who tells one waits for the reader. A nil Stream tells nobody.
type Stream struct {
	to      *os.File
	session string
	warn    func(text string) // tells the user

	mu      sync.Mutex
	more    *sync.Cond // of mu: there is more to write, or no more to come
	number  uint64     // GUARDED_BY(mu); of the last event
	waiting [][]byte   // GUARDED_BY(mu); lines
	size    int        // GUARDED_BY(mu); of these, in bytes
	lost    uint64     // GUARDED_BY(mu); events that were not told, since the last that was
	all     uint64     // GUARDED_BY(mu); how many were lost in all
	broken  error      // GUARDED_BY(mu); nothing can be written any more
	ended   bool       // GUARDED_BY(mu)
	writing int        // GUARDED_BY(mu); how many lines are being written

	done chan struct{} // closed when all is written
}

// New returns a stream to a file, which it closes. warn is called, from any goroutine, with what the user is to know of the reader.
func New(to *os.File, warn func(text string)) *Stream {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it does not fail
	s := &Stream{to: to, session: hex.EncodeToString(id[:]), warn: warn, done: make(chan struct{})}
	s.more = sync.NewCond(&s.mu)
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
	case s.size >= mostWaiting:
		s.number++
		s.lost++
		s.all++
	default:
		if s.lost > 0 {
			s.put(then, Lost, Missing{s.lost})
			s.lost = 0
		}
		s.put(then, kind, what)
		s.more.Signal()
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
	line := make([]byte, 0, 128+len(rest))
	line = strconv.AppendInt(append(line, `{"v":`...), Version, 10)
	line = strconv.AppendUint(append(line, `,"n":`...), s.number, 10)
	line = append(append(append(line, `,"session":"`...), s.session...), `","time":"`...)
	line = append(then.UTC().AppendFormat(line, timeForm), `","event":"`...)
	line = append(append(line, kind...), '"')
	if rest = strings.TrimPrefix(rest, "{"); rest != "}" {
		line = append(line, ',')
	}
	line = append(append(line, rest...), '\n')
	s.waiting = append(s.waiting, line)
	s.size += len(line)
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
		lines := s.waiting
		s.waiting, s.writing = nil, len(lines)
		s.mu.Unlock()
		stalled.Reset(patience)
		_, err := s.to.Write(bytes.Join(lines, nil))
		stalled.Stop()
		s.mu.Lock()
		s.size = 0
		for _, line := range s.waiting {
			s.size += len(line)
		}
		if err != nil {
			s.broken = err
			s.all += uint64(len(lines) + len(s.waiting))
			s.waiting, s.size, s.writing = nil, 0, 0
			if !s.ended {
				go s.warn("no more events: " + reason(err))
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

// End tells of no more. It waits for the reader, but not for long, and returns how many events were lost.
func (s *Stream) End() (lost uint64) {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	s.ended = true
	s.more.Signal()
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(endPatience):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all + uint64(s.writing+len(s.waiting))
}
