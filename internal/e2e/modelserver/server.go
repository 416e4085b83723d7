// Package modelserver stands in for the servers of language models, so that agents can be tested without any: messages of
// Anthropic, responses and chat completions of OpenAI, and generateContent of Gemini, at once and streamed.
//
// The model does what a prompt of a fixed form asks for: one edit of a file, one shell command, one long answer (see Prompt).
// Requests beside the conversation (tokens to count, models to list, titles to find) get a small answer, and those that
// nobody knows an empty one.
package modelserver

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// A Server is an http.Handler. The zero value is ready.
type Server struct {
	Pause time.Duration // between the words of a stream
	Log   func(Event)   // is called for every request, by many goroutines
}

// An Event is a request that was served.
type Event struct {
	Time   time.Time `json:"time"`
	Agent  string    `json:"agent"` // User-Agent
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Step   string    `json:"step,omitempty"` // read, edit, shell, explain, auxiliary; nothing where no model was asked
	Body   []byte    `json:"-"`
}

// maxBody bounds a request: agents send their whole conversation each time.
const maxBody = 64 << 20

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := Event{Time: time.Now(), Agent: r.UserAgent(), Method: r.Method, Path: r.URL.Path}
	if r.Method == http.MethodConnect { // a program that takes the server for its proxy
		e.Path = r.Host
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	e.Body = body
	e.Step = s.serve(w, r, body)
	if s.Log != nil {
		s.Log(e)
	}
}

// serve answers a request, and returns which step of a conversation that was.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) string {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodConnect:
		http.Error(w, "no way out", http.StatusForbidden)
	case r.Header.Get("Upgrade") != "": // programs go on without a WebSocket when they are told so
		http.Error(w, "the stand-in has no WebSocket", http.StatusUpgradeRequired)
	case r.Method != http.MethodPost:
		s.look(w, path)
	case strings.HasSuffix(path, "/messages/count_tokens"):
		writeJSON(w, object{"input_tokens": tokens(body)})
	case strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, object{"totalTokens": tokens(body)})
	case strings.HasSuffix(path, "/messages"):
		return s.anthropic(w, body)
	case strings.HasSuffix(path, "/responses"):
		return s.responses(w, body)
	case strings.HasSuffix(path, "/chat/completions"):
		return s.chat(w, body)
	case strings.Contains(path, ":generateContent"), strings.Contains(path, ":streamGenerateContent"):
		return s.gemini(w, path, body)
	default: // telemetry and the like
		writeJSON(w, object{})
	}
	return ""
}

// look answers what is asked without a conversation.
func (s *Server) look(w http.ResponseWriter, path string) {
	switch {
	case strings.HasSuffix(path, "/models"):
		writeJSON(w, object{"object": "list", "data": []object{}, "models": []object{}, "has_more": false})
	case path == "/":
		writeJSON(w, object{})
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"type":"not_found_error","message":"the stand-in does not have this"}}`+"\n")
	}
}

// An object is one of JSON.
type object = map[string]any

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// refuse answers a request that is not of its protocol.
func refuse(w http.ResponseWriter, err error) string {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": "invalid_request_error", "message": err.Error()}})
	return "refused"
}

// tokens guesses, as good as programs need it.
func tokens(body []byte) int { return len(body)/4 + 1 }

func newID(prefix string) string {
	b := make([]byte, 12)
	_, _ = rand.Read(b)
	return prefix + hex.EncodeToString(b)
}
