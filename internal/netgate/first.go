package netgate

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
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
		if host, _, err := net.SplitHostPort(n); err == nil {
			n = host
		}
		if n = strings.TrimSuffix(strings.ToLower(n), "."); n != name {
			return n
		}
	}
	return ""
}

// understand reads the first bytes of a connection. It returns false if more of them are needed.
func understand(b []byte) (said, bool) {
	switch {
	case len(b) == 0:
		return said{}, false
	case b[0] == 0x16: // a handshake of TLS
		return understandTLS(b)
	}
	return understandHTTP(b)
}

var (
	errMore = errors.New("more is needed")
	errStop = errors.New("enough is known")
)

// understandTLS reads the beginning of TLS as Go's own server does, up to where that would answer.
func understandTLS(b []byte) (said, bool) {
	if len(b) < 2 {
		return said{}, false
	}
	if b[1] != 3 {
		return said{}, true
	}
	var s said
	err := tls.Server(&replay{Reader: bytes.NewReader(b)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.ServerName != "" {
				s.names = []string{hello.ServerName}
			}
			return nil, errStop
		},
	}).Handshake()
	switch {
	case errors.Is(err, errStop):
		return s, true
	case errors.Is(err, errMore):
		return said{}, false
	}
	return said{err: err}, true
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

// understandHTTP reads the head of a request, if it is one.
func understandHTTP(b []byte) (said, bool) {
	line, _, whole := bytes.Cut(b, []byte("\n"))
	letters := 0
	for letters < len(line) && line[letters] >= 'A' && line[letters] <= 'Z' {
		letters++
	}
	switch {
	case letters > 32 || letters < len(line) && (letters == 0 || line[letters] != ' '):
		return said{}, true // no method
	case !whole:
		return said{}, false
	case !bytes.HasSuffix(bytes.TrimRight(line, "\r"), []byte("HTTP/1.1")) && !bytes.HasSuffix(bytes.TrimRight(line, "\r"), []byte("HTTP/1.0")):
		return said{}, true
	case !bytes.Contains(b, []byte("\r\n\r\n")) && !bytes.Contains(b, []byte("\n\n")):
		return said{}, false
	}
	s := said{http: true}
	r, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(b), len(b)))
	if err != nil {
		s.err = err
		return s, true
	}
	// Of an absolute address in the first line ReadRequest makes the host, whatever the header says.
	for _, name := range append(headers(b), r.Host, r.URL.Host) {
		if name != "" {
			s.names = append(s.names, name)
		}
	}
	return s, true
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
