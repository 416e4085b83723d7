package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Keys of the gateway that is started here.
const gatewayKey, gatewaySecret = "key", "secret"

// prefix begins the names of copies in the bucket.
const prefix = "session-"

// startGateway starts versitygw on a directory.
func (l *load) startGateway() (end func(), err error) {
	objects := filepath.Join(l.dir, "objects")
	if err := os.MkdirAll(filepath.Join(objects, l.bucket), 0o700); err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	l.endpoint = "http://" + address
	log, err := os.Create(filepath.Join(l.dir, "gateway.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(l.gateway, "--port", address, "posix", objects)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+gatewayKey, "ROOT_SECRET_KEY="+gatewaySecret)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the store: %w", err)
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return end, nil
		}
	}
	end()
	return nil, errors.New("the store does not answer: see " + log.Name())
}

// counter stands before the store, and counts what it is asked.
type counter struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	classes map[string]*class // GUARDED_BY(mu)
	copied  map[int][]copied  // by session. GUARDED_BY(mu)
	refused map[string]int    // what was not answered, or by an error. GUARDED_BY(mu)
}

// class is a kind of requests, as stores bill for them.
type class struct {
	requests, sent, received int64 // bytes of bodies: sent to the store, received from it
}

// copied is a file of the log that has arrived.
type copied struct{ read, arrived time.Time }

func (l *load) startProxy() error {
	to, err := url.Parse(l.endpoint)
	if err != nil {
		return fmt.Errorf("read -endpoint: %w", err)
	}
	c := &counter{classes: map[string]*class{}, copied: map[int][]copied{}, refused: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		// The name of the host that was asked is part of what is signed, and stays.
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		Transport:      &http.Transport{MaxIdleConnsPerHost: 1 << 10, DisableCompression: true},
		ModifyResponse: c.answered,
		ErrorHandler:   c.unanswered,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.url = "http://" + listener.Addr().String()
	c.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		class := classOf(r)
		r.Body = &tally{r.Body, func(n int) { c.add(class, 0, int64(n), 0) }}
		c.add(class, 1, 0, 0)
		proxy.ServeHTTP(w, r)
	}), ReadHeaderTimeout: time.Minute}
	l.counted = c
	go func() { _ = c.server.Serve(listener) }()
	return nil
}

// classOf is the class of a request.
func classOf(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && (q.Has("list-type") || q.Has("uploads")):
		return "LIST"
	case r.Method == http.MethodPost && q.Has("delete"), r.Method == http.MethodDelete:
		return "DELETE"
	}
	return r.Method
}

func (c *counter) add(name string, requests, sent, received int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.classes[name] == nil {
		c.classes[name] = &class{}
	}
	is := c.classes[name]
	is.requests, is.sent, is.received = is.requests+requests, is.sent+sent, is.received+received
}

// answered notes what the store has taken. Litestream says in the metadata when it has read the file from the log.
func (c *counter) answered(r *http.Response) error {
	class, now := classOf(r.Request), time.Now()
	r.Body = &tally{r.Body, func(n int) { c.add(class, 0, 0, int64(n)) }}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.StatusCode >= 300 {
		c.refused[fmt.Sprintf("%s %d", class, r.StatusCode)]++
		return nil
	}
	read, err := time.Parse(time.RFC3339Nano, r.Request.Header.Get("X-Amz-Meta-Litestream-Timestamp"))
	if number, ok := numberOf(r.Request.URL.Path); ok && err == nil && class == http.MethodPut {
		c.copied[number] = append(c.copied[number], copied{read, now})
	}
	return nil
}

// unanswered notes that the session has given a request up, or that the store does not answer.
func (c *counter) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	what := classOf(r) + " that was given up"
	if !errors.Is(err, context.Canceled) {
		what = classOf(r) + ": " + err.Error()
	}
	c.mu.Lock()
	c.refused[what]++
	c.mu.Unlock()
	w.WriteHeader(http.StatusBadGateway)
}

// numberOf is that of the session whose copy a path is of: of "/bucket/session-12/...", 12.
func numberOf(path string) (int, bool) {
	_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"+prefix)
	digits, _, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

// behind is how long after each of the lines of a session the store had it. What the end of the session has copied counts, too.
func (c *counter) behind(s *session) (lags []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range s.synced {
		var first time.Time
		for _, f := range c.copied[s.number] {
			if !f.read.Before(at) && (first.IsZero() || f.arrived.Before(first)) {
				first = f.arrived
			}
		}
		if !first.IsZero() {
			lags = append(lags, first.Sub(at))
		}
	}
	return lags
}

// tally is a body whose bytes are counted.
type tally struct {
	io.ReadCloser
	add func(n int)
}

func (t *tally) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		t.add(n)
	}
	return n, err
}
