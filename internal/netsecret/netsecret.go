// Package netsecret sends secrets in the place of what a guest has instead of them. For the hosts that a secret goes to, and no others,
// it ends the guest's TLS as that host, with an authority that this guest alone believes, replaces the guest's text in one header, and
// sends the request on to the host itself, over TLS that is verified as on the host. What comes back is passed on as it comes, with
// the guest's text wherever the secret is.
//
//	netsecret.go  the guest's connections
//	request.go    what is sent on, with which secrets
//	answer.go     what comes back
//	scrub.go      secrets in a stream
//	authority.go  certificates
package netsecret

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/control"
)

const (
	// How long the guest may take to say what it wants, and a host to agree on TLS.
	headTime = 30 * time.Second
	// A connection that nothing is said on is closed after as long.
	idleTime = 5 * time.Minute
	// How large the headers of a request may be, and of an answer.
	mostHeaders = 64 << 10
	// How many connections there are to a host for one of the guest's.
	mostConns = 100
	// How many of the guest's are ended at once: one takes some 100 KB of memory.
	mostEnded = 500
	// How many requests there are at once, over all of these, and over one of HTTP/2.
	mostRequests = 256
	mostStreams  = 32
	// How many of the guest's may be of HTTP/2 at once, each of which takes up to 2 MB where the guest hears nothing of what it asks for:
	// thousands of short answers wait then. The others speak HTTP/1.1. And how much of it is read at once.
	mostHTTP2 = 64
	mostFrame = 16 << 10
	// How much of a request may wait for the host, over HTTP/2, and of one connection's.
	requestBuffer  = 64 << 10
	requestsBuffer = 128 << 10
	// How much of an answer may wait for the guest.
	answerBuffer  = 512 << 10
	answersBuffer = 1 << 20
)

// Ender ends the TLS of a guest.
type Ender struct {
	secrets   []control.NetSecret
	pairs     []pair
	authority *authority
	roots     *x509.CertPool
	sessions  tls.ClientSessionCache
	deny      func(name string, port uint16, why string)
	proxy     *httputil.ReverseProxy
	accepted  chan net.Conn
	ended     chan struct{} // holds one for each connection
	http2     chan struct{} // holds one for each that may be of HTTP/2
	http1     *tls.Config   // of the others
	requests  chan struct{} // holds one for each request
}

// New returns what ends the TLS of a guest for the hosts of some secrets, which it believes by roots. What is refused goes to deny.
func New(secrets []control.NetSecret, a *control.NetAuthority, roots *x509.CertPool, deny func(name string, port uint16, why string)) (*Ender, error) {
	e := &Ender{secrets: secrets, roots: roots, deny: deny, sessions: tls.NewLRUClientSessionCache(0), accepted: make(chan net.Conn), ended: make(chan struct{}, mostEnded), http2: make(chan struct{}, mostHTTP2), requests: make(chan struct{}, mostRequests)}
	var err error
	if e.authority, err = newAuthority(a); err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	for i := range secrets {
		s := &secrets[i]
		if s.Value == "" || len(s.Placeholder) != len(s.Value) {
			return nil, errors.New("read the secrets: a placeholder is not as long as its secret")
		}
		e.pairs = append(e.pairs, newPair(s.Value, s.Placeholder, publicOf(s)))
		// As they are in addresses.
		if escaped := url.QueryEscape(s.Value); escaped != s.Value {
			e.pairs = append(e.pairs, newPair(escaped, url.QueryEscape(s.Placeholder), len(url.QueryEscape(s.Value[:publicOf(s)]))))
		}
	}
	e.proxy = &httputil.ReverseProxy{
		Rewrite: e.rewrite, Transport: transports{}, FlushInterval: -1, // at once
		ModifyResponse: e.scrub, ErrorHandler: e.failed, ErrorLog: log.New(io.Discard, "", 0),
	}
	e.serve()
	return e, nil
}

// serve serves all connections, by one server.
func (e *Ender) serve() {
	e.http1 = &tls.Config{GetCertificate: e.certificate, NextProtos: []string{"http/1.1"}}
	server := &http.Server{
		Handler:           e,
		TLSConfig:         &tls.Config{GetConfigForClient: e.checkName, GetCertificate: e.certificate},
		ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeaders,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: mostStreams, MaxReadFrameSize: mostFrame, MaxReceiveBufferPerStream: requestBuffer, MaxReceiveBufferPerConnection: requestsBuffer,
		},
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnContext: withConn,
	}
	go func() { _ = server.ServeTLS(listener{e.accepted}, "", "") }() // it never ends: neither does the listener
}

// Ends says whether connections to a name are to be ended here.
func (e *Ender) Ends(name string, port uint16) bool {
	for i := range e.secrets {
		for j := range e.secrets[i].Hosts {
			if h := &e.secrets[i].Hosts[j]; h.Name == name && h.Port == int(port) {
				return true
			}
		}
	}
	return false
}

// Serve serves a connection of the guest's to a name, until it ends. first is one to that host, and dial makes others.
func (e *Ender) Serve(guest net.Conn, name string, port uint16, first net.Conn, dial func(context.Context) (net.Conn, error)) {
	select {
	case e.ended <- struct{}{}:
		defer func() { <-e.ended }()
	default:
		e.deny(name, port, fmt.Sprintf("there are %d connections with secrets already", cap(e.ended)))
		guest.Close()
		first.Close()
		return
	}
	c := &conn{Conn: guest, name: name, port: port, first: first, closed: make(chan struct{})}
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if first := c.takeFirst(); first != nil {
				return first, nil
			}
			return dial(ctx)
		},
		TLSClientConfig:     &tls.Config{RootCAs: e.roots, ServerName: name, MinVersion: tls.VersionTLS12, ClientSessionCache: e.sessions},
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: headTime, IdleConnTimeout: idleTime, ExpectContinueTimeout: time.Second,
		MaxConnsPerHost: mostConns, MaxResponseHeaderBytes: mostHeaders,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: answerBuffer, MaxReceiveBufferPerConnection: answersBuffer},
	}
	e.accepted <- c
	<-c.closed
	if c.http2 {
		<-e.http2
	}
	c.transport.CloseIdleConnections()
	if first := c.takeFirst(); first != nil {
		first.Close()
	}
}

// conn is a connection of the guest's.
type conn struct {
	net.Conn
	name      string
	port      uint16
	transport *http.Transport
	closed    chan struct{}
	once      sync.Once
	http2     bool // it may be of HTTP/2; of who serves it, until it is closed

	mu    sync.Mutex
	first net.Conn // GUARDED_BY(mu); a connection to the host that nobody has used yet
}

func (c *conn) takeFirst() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.first
	c.first = nil
	return first
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

// is says whether what a request is for is the host of the connection.
func (c *conn) is(host string) bool {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		name, port = host[:i], host[i+1:]
	}
	return strings.TrimSuffix(strings.ToLower(name), ".") == c.name && (name == host || port == strconv.Itoa(int(c.port)))
}

type connKey struct{}

func withConn(ctx context.Context, nc net.Conn) context.Context {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, nc)
}

func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// transports sends each request over the connections that belong to the guest's own.
type transports struct{}

// RoundTrip implements http.RoundTripper.
func (transports) RoundTrip(r *http.Request) (*http.Response, error) {
	return connOf(r.Context()).transport.RoundTrip(r)
}

// checkName refuses who asks for another host than it has connected to, and says who may speak HTTP/2.
func (e *Ender) checkName(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c, ok := hello.Conn.(*conn)
	if !ok {
		return nil, errors.New("it is no connection of the guest's")
	}
	if asked := strings.TrimSuffix(strings.ToLower(hello.ServerName), "."); asked != "" && asked != c.name {
		e.deny(c.name, c.port, fmt.Sprintf("the first bytes are for %q", asked))
		return nil, errors.New("it is for another host")
	}
	if !slices.Contains(hello.SupportedProtos, "h2") {
		return nil, nil // as it is
	}
	select {
	case e.http2 <- struct{}{}:
		c.http2 = true
		return nil, nil
	default:
		return e.http1, nil
	}
}

func (e *Ender) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return e.authority.of(hello.Conn.(*conn).name)
}

// listener accepts the connections that are served.
type listener struct{ conns chan net.Conn }

func (l listener) Accept() (net.Conn, error) { return <-l.conns, nil }
func (l listener) Close() error              { return nil }
func (l listener) Addr() net.Addr            { return &net.TCPAddr{} }
