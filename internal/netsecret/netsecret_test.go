package netsecret

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/placeholder"
)

const (
	host    = "api.example"
	secret  = "sk-test-0123456789abcdefSECRET"
	shown   = "sk-test-zyxwvutsrqponmlkSHOWNX"
	another = "other-secret-for-another-host1"
)

// world is a guest with a way to a host by an Ender.
type world struct {
	host   *httptest.Server
	ender  *Ender
	client *http.Client
	dial   func() (net.Conn, error) // to the host, as the guest
	trust  *x509.CertPool           // what the guest believes
	mu     sync.Mutex
	denied []string // GUARDED_BY(mu)
}

func (w *world) why() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.denied, "; ")
}

// newWorld serves handler as the host. It speaks HTTP/2 where the guest does.
func newWorld(t testing.TB, handler http.HandlerFunc, hosts ...control.NetSecretHost) *world {
	t.Helper()
	w := &world{host: httptest.NewUnstartedServer(handler)}
	upstream, err := NewAuthority([]string{host})
	if err != nil {
		t.Fatal(err)
	}
	own, err := newAuthority(upstream)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := own.of(host)
	if err != nil {
		t.Fatal(err)
	}
	w.host.EnableHTTP2, w.host.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	w.host.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	w.host.StartTLS()
	t.Cleanup(w.host.Close)
	w.through(t, upstream, hosts...)
	return w
}

// through puts an Ender between the guest and the host, which believes the authority of the latter.
func (w *world) through(t testing.TB, upstream *control.NetAuthority, hosts ...control.NetSecretHost) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(upstream.Certificate)
	authority, err := NewAuthority([]string{host})
	if err != nil {
		t.Fatal(err)
	}
	if hosts == nil {
		hosts = []control.NetSecretHost{{Name: host, Port: 443}}
	}
	other, err := placeholder.Make(another)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New([]control.NetSecret{
		{Name: "KEY", Value: secret, Placeholder: shown, Header: "x-api-key", Hosts: hosts},
		{Name: "TOKEN", Value: secret, Placeholder: shown, Header: "authorization", Hosts: hosts},
		{Name: "OTHER", Value: another, Placeholder: other, Header: "authorization", Hosts: []control.NetSecretHost{{Name: "other.example", Port: 443}}},
	}, authority, roots, func(name string, port uint16, why string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.denied = append(w.denied, why)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.ender = e
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dial := func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", w.host.Listener.Addr().String())
			}
			first, err := dial(context.Background())
			if err != nil {
				c.Close()
				continue
			}
			go e.Serve(c, host, 443, first, dial)
		}
	}()
	w.dial = func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
	w.trust = x509.NewCertPool()
	w.trust.AppendCertsFromPEM(authority.Certificate)
	w.client = w.newClient(t, true)
}

func (w *world) newClient(t testing.TB, h2 bool) *http.Client {
	tr := &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return w.dial() },
		TLSClientConfig:   &tls.Config{RootCAs: w.trust},
		ForceAttemptHTTP2: h2, DisableCompression: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

func (w *world) do(t *testing.T, client *http.Client, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, "https://"+host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// The host gets the secret in its header and nowhere else, and the guest hears of it as of its own text.
func TestHeader(t *testing.T) {
	var mu sync.Mutex
	var got *http.Request
	var body []byte
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		got, body = r, b
		mu.Unlock()
		w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
		w.Header().Set("Trailer", "X-Last")
		fmt.Fprintf(w, "you are %s %s", r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"))
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("X-Last", r.Header.Get("X-Api-Key"))
	})
	for _, h2 := range []bool{false, true} {
		client := w.newClient(t, h2)
		for _, c := range []struct{ header, value, want string }{
			{"x-api-key", shown, secret},
			{"Authorization", "Bearer " + shown, "Bearer " + secret},
			{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+shown)), "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+secret))},
			{"Authorization", "Basic d3Jvbmc6", "Basic d3Jvbmc6"},
			{"Authorization", "Bearer other-placeholder-0123456789ab", "Bearer other-placeholder-0123456789ab"},
			{"X-Elsewhere", shown, shown},
			{"Cookie", "key=" + shown, "key=" + shown},
		} {
			r, err := http.NewRequest("POST", "https://"+host+"/v1?key="+shown, strings.NewReader("it is "+shown))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set(c.header, c.value)
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			res.Body.Close()
			mu.Lock()
			if err != nil || res.StatusCode != 200 || got.Header.Get(c.header) != c.want || res.ProtoMajor == 2 != h2 || got.Host != host {
				t.Errorf("%s: %s: %v, %s, the host got %v", c.header, c.value, err, res.Proto, got.Header)
			}
			if string(body) != "it is "+shown || got.URL.RawQuery != "key="+shown {
				t.Errorf("it got %s with %s", got.URL, body)
			}
			mu.Unlock()
			said := fmt.Sprint(res.Header, res.Trailer, string(answer))
			for _, never := range []string{secret, another, base64.StdEncoding.EncodeToString([]byte("user:" + secret))} {
				if strings.Contains(said, never) {
					t.Errorf("the guest heard %s", said)
				}
			}
			if c.header == "Authorization" && !strings.Contains(string(answer), c.value) {
				t.Errorf("the answer is %q, not with %s", answer, c.value)
			}
			if c.header == "x-api-key" && (res.Header.Get("X-Echo") != shown || res.Trailer.Get("X-Last") != shown) {
				t.Errorf("headers %v, trailers %v", res.Header, res.Trailer)
			}
		}
	}
}

// Events come as they are sent, with the guest's text in them.
func TestEvents(t *testing.T) {
	next := make(chan bool)
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		key := r.Header.Get("X-Api-Key")
		for i, piece := range []string{"data: 1\n\n", "data: " + key[:15], key[15:] + "\n\n", "data: ends with " + key[:8]} {
			_, _ = io.WriteString(w, piece)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			if i != 1 {
				<-next
			}
		}
	})
	for _, h2 := range []bool{false, true} {
		r, err := http.NewRequest("GET", "https://"+host+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", shown)
		res, err := w.newClient(t, h2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"data: 1\n\n", "data: " + shown + "\n\n", "data: ends with sk-test-"} {
			buf := make([]byte, len(want))
			if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != want {
				t.Fatalf("%q, %v", buf, err)
			}
			next <- true
		}
		res.Body.Close()
	}
}

// A WebSocket is one of the host's.
func TestUpgrade(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			http.Error(w, "no upgrade", http.StatusTeapot)
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 it is %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: %[1]s\r\nX-Packs: %q\r\n\r\n\x81\x1e%[1]s", r.Header.Get("X-Api-Key"), r.Header.Get("Sec-Websocket-Extensions"))
		_ = rw.Flush()
		_, _ = io.Copy(c, rw)
	})
	raw, err := w.dial()
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, &tls.Config{RootCAs: w.trust, ServerName: host})
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Api-Key: %s\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", host, shown)
	br := bufio.NewReader(c)
	res, err := http.ReadResponse(br, nil)
	if err != nil || res.StatusCode != 101 || strings.Contains(res.Status, secret) || res.Header.Get("X-Echo") != shown || res.Header.Get("X-Packs") != `""` {
		t.Fatalf("%v, %v", res, err)
	}
	fmt.Fprint(c, "pings")
	buf := make([]byte, 2+len(shown)+5)
	if _, err := io.ReadFull(br, buf); err != nil || string(buf) != "\x81\x1e"+shown+"pings" {
		t.Errorf("%q, %v", buf, err)
	}
	if res, _ := w.do(t, w.newClient(t, false), "GET", "/", "Connection", "Upgrade", "Upgrade", "h2c"); res.StatusCode != http.StatusTeapot {
		t.Errorf("another protocol: %v", res.Status)
	}
}

func TestLimits(t *testing.T) {
	served := 0
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { served++ },
		control.NetSecretHost{Name: host, Port: 443, Methods: []string{"GET", "HEAD"}, Paths: []string{"/v1", "/files/"}},
		control.NetSecretHost{Name: host, Port: 443, Methods: []string{"POST"}, Paths: []string{"/upload"}})
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/v1", 200}, {"GET", "/v1/", 200}, {"GET", "/v1/x?y=../", 200}, {"HEAD", "/files/a", 200}, {"POST", "/upload", 200},
		{"POST", "/v1", 403}, {"GET", "/", 403}, {"GET", "/v11", 403}, {"GET", "/files", 403}, {"DELETE", "/upload", 403}, {"GET", "/V1", 403},
		{"GET", "/v1/../admin", 403}, {"GET", "/v1/%2e%2e/admin", 403}, {"GET", "/v1/..%2fadmin", 403}, {"GET", "/v1%2fadmin", 403}, {"GET", "/v1//x", 403},
		{"GET", "/v1/%252e%252e/admin", 403}, {"GET", `/v1/..%5cadmin`, 403}, {"GET", "/v1/..;/admin", 403}, {"GET", "//v1", 403},
		{"GET", "/v1/..%20/admin", 403}, {"GET", "/v1/%20/x", 403}, {"GET", "/v1/..%00/admin", 403}, {"GET", "/v1/..%0a/admin", 403},
		{"GET", "/v1/%c0%ae%c0%ae/admin", 403}, {"GET", "/v1/%ef%bc%8e%ef%bc%8e/admin", 403}, {"GET", "/v1/.../x", 403},
	} {
		res, _ := w.do(t, w.client, c.method, c.path, "X-Api-Key", shown)
		if res.StatusCode != c.code {
			t.Errorf("%s %s: %s", c.method, c.path, res.Status)
		}
	}
	if served != 5 {
		t.Errorf("%d were served", served)
	}
	// Without a secret nothing is limited.
	if res, _ := w.do(t, w.client, "DELETE", "/anything"); res.StatusCode != 200 {
		t.Errorf("without a secret: %s", res.Status)
	}
	if why := w.why(); !strings.Contains(why, "KEY does not go there with POST /v1") {
		t.Error(why)
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
	if res, body := w.do(t, w.client, "GET", "/", "Host", "other.example", "X-Api-Key", shown); res.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(body, `a request is for "other.example"`) {
		t.Errorf("%s %s", res.Status, body)
	}
	for _, request := range []string{
		"GET https://other.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n", "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n", "GET / HTTP/1.1\r\nHost: api.example:80\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: api.example\r\nHost: other.example\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "hello\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 4\r\nTransfer-Encoding: gzip\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
	} {
		raw, err := w.dial()
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(raw, &tls.Config{RootCAs: w.trust, ServerName: host})
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(c, request)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode < 400 {
			t.Errorf("%q: %v, %v", request, res, err)
		}
		c.Close()
	}
	// Neither another name of TLS, nor none of it at all.
	raw, err := w.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: "other.example"}).Handshake(); err == nil {
		t.Error("it ends TLS as another host")
	}
	if why := w.why(); !strings.Contains(why, `the first bytes are for "other.example"`) {
		t.Error(why)
	}
}

// What could hold a secret where nobody looks is asked for otherwise, or refused.
func TestPacked(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			t.Error("it asks for a part")
		}
		packed := r.URL.Path[1:]
		w.Header().Set("Content-Encoding", packed)
		if packed == "gzip" && r.Header.Get("Accept-Encoding") == "gzip" {
			z := gzip.NewWriter(w)
			fmt.Fprint(z, r.Header.Get("X-Api-Key"))
			z.Close()
			return
		}
		fmt.Fprint(w, "??", r.Header.Get("X-Api-Key"))
	})
	res, body := w.do(t, w.client, "GET", "/gzip", "X-Api-Key", shown, "Accept-Encoding", "gzip, br", "Range", "bytes=3-")
	if body != shown || res.Header.Get("Content-Encoding") != "" {
		t.Errorf("%v %q", res.Header, body)
	}
	if res, body := w.do(t, w.client, "GET", "/br", "X-Api-Key", shown, "Accept-Encoding", "br"); res.StatusCode != 502 || strings.Contains(body, secret) {
		t.Errorf("%s %q", res.Status, body)
	}
}

// What comes before the answer is looked at too.
func TestEarlyHints(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</"+r.Header.Get("X-Api-Key")+">; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprint(w, "done")
	})
	raw, err := w.dial()
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, &tls.Config{RootCAs: w.trust, ServerName: host})
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nConnection: close\r\n\r\n", host, shown)
	all, _ := io.ReadAll(c)
	if !bytes.Contains(all, []byte("103 Early Hints")) || !bytes.Contains(all, []byte(shown)) || bytes.Contains(all, []byte(secret)) {
		t.Errorf("%s", all)
	}
}

// A host that cannot prove who it is gets no secret, and the guest hears why.
func TestCertificate(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
	other, err := NewAuthority([]string{host})
	if err != nil {
		t.Fatal(err)
	}
	w.through(t, other)
	res, body := w.do(t, w.client, "GET", "/", "X-Api-Key", shown)
	if res.StatusCode != http.StatusBadGateway || !strings.Contains(body, "its certificate is not believed: x509: ") || !strings.Contains(w.why(), "its certificate is not believed") {
		t.Errorf("%s %s", res.Status, body)
	}
}

// Many requests at once over one connection of HTTP/2, to a host that speaks only HTTP/1.1 too.
func TestMany(t *testing.T) {
	for _, h2 := range []bool{true, false} {
		w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("n"))
			_, _ = w.Write(bytes.Repeat([]byte(r.Header.Get("Authorization")), n))
		})
		w.host.TLS.NextProtos = map[bool][]string{true: {"h2", "http/1.1"}, false: {"http/1.1"}}[h2]
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				n := 1 + i*50
				r, _ := http.NewRequest("GET", fmt.Sprintf("https://%s/?n=%d", host, n), nil)
				r.Header.Set("Authorization", shown)
				res, err := w.client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				if err != nil || string(body) != strings.Repeat(shown, n) {
					t.Errorf("%d: %d bytes, %v", n, len(body), err)
				}
			})
		}
		wg.Wait()
	}
}

// The authority speaks for its hosts alone, whoever gets its key.
func TestAuthorityIsLimited(t *testing.T) {
	a, err := NewAuthority([]string{host})
	if err != nil {
		t.Fatal(err)
	}
	own, err := newAuthority(a)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.Certificate)
	for name, want := range map[string]bool{host: true, "bank.example": false} {
		c, err := own.of(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots})
		if (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
