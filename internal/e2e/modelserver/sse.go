package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An events writes a stream of server-sent events (WHATWG HTML, 9.2).
type events struct {
	w     http.ResponseWriter
	pause time.Duration
	err   error
}

func (s *Server) events(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return &events{w: w, pause: s.Pause}
}

// send writes one event, with a name or without, and what it carries as JSON.
func (e *events) send(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		e.err = err
	}
	if name != "" {
		e.write("event: " + name + "\n")
	}
	e.write("data: " + string(b) + "\n\n")
}

func (e *events) write(text string) {
	if e.err != nil {
		return
	}
	_, e.err = fmt.Fprint(e.w, text)
	if f, ok := e.w.(http.Flusher); ok && strings.HasSuffix(text, "\n\n") {
		f.Flush()
	}
}

// words calls for each piece of a text, as a model makes them, and takes its time where the server was told to.
func (e *events) words(text string, each func(piece string)) {
	for text != "" && e.err == nil {
		n := len(text)
		if i := strings.IndexAny(text[1:], " \n"); i >= 0 {
			n = i + 1
		}
		each(text[:n])
		text = text[n:]
		time.Sleep(e.pause)
	}
}
