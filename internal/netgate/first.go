package netgate

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostFirst is how much a program may send before it has said whom it speaks to.
const mostFirst = 64 << 10

// said is what the first bytes of a connection say about whom they are for.
type said struct {
	names []string // all that they name
	http  bool     // they are a request in clear
	err   error    // why they cannot be understood
}

// contradicts returns a name that they say and that is not name, or "".
func (s *said) contradicts(name string) string {
	for _, n := range s.names {
		whole := n
		if host, port, err := net.SplitHostPort(n); err == nil {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
				return whole
			}
			n = host
		}
		if n = strings.TrimSuffix(strings.ToLower(n), "."); n != name {
			return n
		}
	}
	return ""
}

// first are the first bytes of a connection, as they come. Each is looked at once, and all of them once more when they are complete.
type first struct {
	text []byte
	at   int // up to here it was looked at

	kind  kind
	line  int  // where a line of HTTP begins
	blank bool // there was one in the first line
	http  bool // the first line is that of a request
	part  int  // how much of the message of TLS is in the records before at
}

type kind byte

const (
	unknown kind = iota
	isTLS
	isText // a line, which may be that of a request
)

// Write implements io.Writer. It takes no more than mostFirst.
func (f *first) Write(b []byte) (int, error) {
	n := min(len(b), mostFirst-len(f.text))
	f.text = append(f.text, b[:n]...)
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// understand returns false if more is needed.
func (f *first) understand() (said, bool) {
	s, enough := f.look()
	if !enough && len(f.text) >= mostFirst {
		return said{err: errMuch, http: f.http}, true
	}
	return s, enough
}

// ended is understand where no more will come. It returns false where what there is means nothing to any server.
func (f *first) ended() (said, bool) {
	s, enough := f.understand()
	if !enough && f.kind != isTLS && !f.http && !mayBeHTTP(f.text) {
		return readOldest(f.text), true
	}
	return s, enough
}

func (f *first) look() (said, bool) {
	if f.kind == unknown {
		// Servers pass over empty lines before a request (RFC 9112, 2.2).
		for f.at < len(f.text) && strings.IndexByte("\r\n\t ", f.text[f.at]) >= 0 {
			f.at++
		}
		switch {
		case f.at == len(f.text):
			return said{}, false
		case f.text[0] >= 0x14 && f.text[0] <= 0x18: // a record of TLS, which only a handshake's may begin
			f.kind, f.at = isTLS, 0
		default:
			f.kind, f.line = isText, f.at
		}
	}
	if f.kind == isTLS {
		return f.lookTLS()
	}
	if f.text[0] >= 0x80 {
		return f.lookSSL2()
	}
	return f.lookHTTP()
}

const (
	recordHead = 5        // kind, version, length
	mostRecord = 16 << 10 // of what is not encrypted
	helloHead  = 4        // kind, length
)

// lookTLS looks at records until the first message is complete.
func (f *first) lookTLS() (said, bool) {
	if len(f.text) > 1 && f.text[1] != 3 {
		return f.lookOther()
	}
	for {
		rest := f.text[f.at:]
		if len(rest) < recordHead {
			return said{}, false
		}
		n := int(rest[3])<<8 | int(rest[4])
		if rest[0] != 0x16 || n == 0 || n > mostRecord || f.at == 0 && n < helloHead {
			return said{err: errHello}, true
		}
		if len(rest) < recordHead+n {
			return said{}, false
		}
		f.at += recordHead + n
		f.part += n
		if head := f.text[recordHead:]; f.part >= helloHead+int(head[1])<<16+int(head[2])<<8+int(head[3]) {
			return readHello(f.text), true
		}
	}
}

var (
	errHello = errors.New("it is no beginning of TLS")
	errMore  = errors.New("more is needed")
	errStop  = errors.New("enough is known")
)

// readHello reads the beginning of TLS as Go's own server does, up to where that would answer.
func readHello(b []byte) said {
	var s said
	err := tls.Server(&replay{Reader: bytes.NewReader(b)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.ServerName != "" {
				s.names = []string{hello.ServerName}
			}
			return nil, errStop
		},
	}).Handshake()
	if errors.Is(err, errStop) {
		return s
	}
	return said{err: err}
}

// replay is a connection whose other side has said so much, and hears nothing.
type replay struct{ *bytes.Reader }

func (r *replay) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err == io.EOF {
		err = errMore
	}
	return n, err
}
func (r *replay) Write(b []byte) (int, error)      { return len(b), nil }
func (r *replay) Close() error                     { return nil }
func (r *replay) LocalAddr() net.Addr              { return nil }
func (r *replay) RemoteAddr() net.Addr             { return nil }
func (r *replay) SetDeadline(time.Time) error      { return nil }
func (r *replay) SetReadDeadline(time.Time) error  { return nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }

// lookOther looks at what would be TLS but for its version. Go's own server takes any below 16: a beginning of it, or a warning before it.
func (f *first) lookOther() (said, bool) {
	switch b := f.text; {
	case b[0] != 0x15 && b[0] != 0x16 || b[1] >= 0x10:
		return said{}, true // something else
	case len(b) <= recordHead:
		return said{}, false
	case b[recordHead] == 1 && int(b[3])<<8|int(b[4]) <= mostRecord:
		return said{err: errHello}, true
	}
	return said{}, true
}

// lookSSL2 refuses a beginning of TLS in the form of SSL 2 (RFC 5246, E.2), which names nobody.
func (f *first) lookSSL2() (said, bool) {
	b := f.text
	switch {
	case len(b) > 2 && b[2] != 1, len(b) > 3 && b[3] != 0 && b[3] != 3, len(b) > 4 && b[3] == 0 && b[4] != 2:
		return said{}, true // something else
	case len(b) < recordHead:
		return said{}, false
	}
	return said{err: errHello}, true
}

// lookHTTP looks for the end of a request's head, if it is one. That is more than what the standard calls one: whatever some server
// could take for a request, and is none, is refused.
func (f *first) lookHTTP() (said, bool) {
	for ; f.at < len(f.text); f.at++ {
		c := f.text[f.at]
		if !f.http && !f.mayBeRequest(c) {
			return said{}, true
		}
		if c != '\n' {
			continue
		}
		line := bytes.TrimRight(f.text[f.line:f.at], "\r")
		if !f.http {
			if f.http = mayBeHTTP(line); !f.http {
				return readOldest(line), true
			}
		} else if len(line) == 0 {
			return readRequest(f.text), true
		}
		f.line = f.at + 1
	}
	return said{}, false
}

// mayBeRequest says whether the next byte can be one of a request's first line: a word, a blank, and text.
func (f *first) mayBeRequest(c byte) bool {
	switch {
	case c == '\n':
		return f.blank
	case c == ' ' || c == '\t':
		f.blank = true
		return true // that the line does not begin with one is known
	}
	return f.blank && c > ' ' || isToken(c) || c == '\r'
}

func isToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// mayBeHTTP says whether some server could take a line for the first of a request with headers. The preface of HTTP/2 is none.
func mayBeHTTP(line []byte) bool {
	return bytes.Contains(bytes.ToLower(line), []byte("http/")) && !bytes.HasPrefix(line, []byte("PRI * HTTP/2.0"))
}

// readOldest reads a line that may be a request without a version (HTTP/0.9): such a one may hold the address of another host too.
func readOldest(line []byte) said {
	fields := strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' })
	if len(fields) < 2 {
		return said{}
	}
	_, address, ok := strings.Cut(fields[1], "://")
	if !ok {
		return said{}
	}
	if i := strings.IndexAny(address, `/?#\`); i >= 0 {
		address = address[:i]
	}
	return said{names: []string{address}, http: true}
}

// readRequest reads the head of a request.
func readRequest(b []byte) said {
	s := said{http: true}
	b = bytes.TrimLeft(b, "\r\n")
	for i, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && (c != '\r' || i+1 == len(b) || b[i+1] != '\n') {
			s.err = errors.New("there are control characters in it")
			return s
		}
		if c == '\n' && (bytes.HasPrefix(b[i+1:], []byte("\n")) || bytes.HasPrefix(b[i+1:], []byte("\r\n"))) {
			break // of the head
		}
	}
	r, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(b), len(b)))
	if err != nil {
		s.err = err
		return s
	}
	// Of an absolute address in the first line ReadRequest makes the host, whatever the header says.
	for _, name := range append(headers(b), r.Host, r.URL.Host) {
		if name != "" {
			s.names = append(s.names, name)
		}
	}
	return s
}

// headers returns the values of all Host headers of a request.
func headers(b []byte) (values []string) {
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "host") {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}
