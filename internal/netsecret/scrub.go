package netsecret

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// pair is a text that the guest is not to have, and what it has instead, which is as long.
type pair struct {
	secret, shown []byte
	public        int       // how long both begin alike, as the guest may know
	shape         [256]bool // the characters that the rest can have, which say nothing of those it has
}

// newPair returns a pair of which that much at the beginning is no secret.
func newPair(secret, shown string, public int) pair {
	p := pair{secret: []byte(secret), shown: []byte(shown), public: public}
	for c := range p.shape {
		p.shape[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	// What is neither letter nor digit is the same in both, or, in base64, any of these.
	for _, c := range []byte(secret[public:] + shown[public:]) {
		p.shape[c] = true
	}
	return p
}

// newBasicPair returns one of texts in base64.
func newBasicPair(secret, shown string, public int) pair {
	p := newPair(secret, shown, public)
	for _, c := range []byte("+/=") {
		p.shape[c] = true
	}
	return p
}

// scrubber is a stream in which each secret of another one is replaced, also where that comes in pieces. What has come is passed on
// at once, but for what may be the beginning of a secret and would tell of it: that waits for what follows. What waits is all of such a
// shape, whether its letters are a secret's or not: who has texts of his own come in pieces learns nothing from what is passed on when.
type scrubber struct {
	from  io.Reader
	pairs []pair
	buf   []byte // what has come and is not forgotten yet
	ready int    // up to where it is known what it is
	said  int    // up to where it was passed on
	done  int    // up to where secrets were replaced
	err   error  // how the other stream ended

	chunk []byte
}

// Read implements io.Reader.
func (s *scrubber) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for s.said == s.ready {
		if s.err != nil {
			return 0, s.err
		}
		if s.chunk == nil {
			s.chunk = make([]byte, 16<<10)
		}
		n, err := s.from.Read(s.chunk)
		s.forget()
		s.buf, s.err = append(s.buf, s.chunk[:n]...), err
		s.replace()
	}
	n := copy(p, s.buf[s.said:s.ready])
	s.said += n
	return n, nil
}

// forget drops what was passed on, but for what a secret may have begun with.
func (s *scrubber) forget() {
	keep := 0
	for i := range s.pairs {
		keep = max(keep, s.pairs[i].public)
	}
	if from := s.said - keep; from > 0 {
		s.buf = append(s.buf[:0], s.buf[from:]...)
		s.said, s.ready, s.done = s.said-from, s.ready-from, max(0, s.done-from)
	}
}

// replace replaces all secrets that are there as a whole, the earlier and the longer first, and finds up to where nothing can be the
// beginning of one.
func (s *scrubber) replace() {
	for {
		at, p := s.first()
		begun := s.begun()
		if p == nil || begun <= at {
			s.ready = max(s.said, begun)
			return
		}
		// What was passed on of it is alike in both.
		copy(s.buf[at:], p.shown)
		s.done = at + len(p.secret)
	}
}

// first returns the first secret that is there as a whole, or nil.
func (s *scrubber) first() (at int, first *pair) {
	for i := range s.pairs {
		p := &s.pairs[i]
		n := bytes.Index(s.buf[s.done:], p.secret)
		if n += s.done; n >= s.done && (first == nil || n < at || n == at && len(p.secret) > len(first.secret)) {
			at, first = n, p
		}
	}
	return at, first
}

// begun returns where a secret begins of which more may follow, or the end.
func (s *scrubber) begun() int {
	from := len(s.buf)
	for i := range s.pairs {
		p := &s.pairs[i]
		most := min(len(p.secret)-1, len(s.buf)-s.done)
		if s.err != nil || most <= p.public {
			continue
		}
		shaped := 0 // characters at the end
		for shaped < most-p.public && p.shape[s.buf[len(s.buf)-shaped-1]] {
			shaped++
		}
		for ; shaped > 0; shaped-- {
			if at := len(s.buf) - shaped - p.public; bytes.HasPrefix(s.buf[at:], p.secret[:p.public]) {
				from = min(from, at)
				break
			}
		}
	}
	return from
}

// text replaces the secrets in a text.
func text(t string, pairs []pair) string {
	s := scrubber{buf: []byte(t), pairs: pairs, err: io.EOF}
	s.replace()
	return string(s.buf)
}

// scrubHeader replaces the secrets in the values of headers, and drops those that have one for their name.
func scrubHeader(h http.Header, pairs []pair) {
	for name, values := range h {
		if slices.ContainsFunc(pairs, func(p pair) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(string(p.secret))) }) {
			delete(h, name)
			continue
		}
		for i := range values {
			values[i] = text(values[i], pairs)
		}
	}
}
