package netsecret

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// There are no more requests at once than there may be, and the next is told so.
func TestMostRequests(t *testing.T) {
	entered, leave := make(chan bool, 2), make(chan bool)
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { entered <- true; <-leave })
	w.ender.requests = make(chan struct{}, 2)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if res, _ := w.do(t, w.client, "GET", "/"); res.StatusCode != http.StatusOK {
				t.Error(res.Status)
			}
		})
		<-entered
	}
	for _, h2 := range []bool{false, true} {
		if res, body := w.do(t, w.newClient(t, h2), "GET", "/", "X-Api-Key", shown); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "there are 2 requests with secrets already") {
			t.Errorf("%s, %s", res.Status, body)
		}
	}
	close(leave)
	wg.Wait()
	if res, _ := w.do(t, w.client, "GET", "/"); res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", res.Status)
	}
}

// One connection of HTTP/2 has no more at once than its share: for the others, the guest makes another.
func TestMostStreams(t *testing.T) {
	leave := make(chan bool)
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-leave
		}
	})
	var dials, served atomic.Int32
	tr := w.client.Transport.(*http.Transport)
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) { dials.Add(1); return w.dial() }
	w.do(t, w.client, "GET", "/") // the guest knows what there may be
	var wg sync.WaitGroup
	for i := range mostStreams + 8 {
		wg.Go(func() {
			if res, _ := w.do(t, w.client, "GET", "/wait"); res.StatusCode == http.StatusOK {
				served.Add(1)
			}
		})
		for len(w.ender.requests) <= i {
			time.Sleep(time.Millisecond)
		}
	}
	close(leave)
	wg.Wait()
	if dials.Load() < 2 || served.Load() != mostStreams+8 {
		t.Errorf("%d were served over %d connections", served.Load(), dials.Load())
	}
}

// No more connections than there may be speak HTTP/2: the next one is served by HTTP/1.1, until one of them has ended.
func TestMostHTTP2(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	w.ender.http2 = make(chan struct{}, 1)
	clients := []*http.Client{w.newClient(t, true), w.newClient(t, true)}
	for i, want := range []int{2, 1} {
		if res, body := w.do(t, clients[i], "GET", "/"); res.ProtoMajor != want || body != "served" {
			t.Errorf("client %d: %s, %s", i, res.Proto, body)
		}
	}
	clients[0].CloseIdleConnections()
	for until := time.Now().Add(20 * time.Second); len(w.ender.http2) > 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if res, _ := w.do(t, w.newClient(t, true), "GET", "/"); res.ProtoMajor != 2 {
		t.Errorf("when one has ended: %s", res.Proto)
	}
}

// Headers have a size, in both directions.
func TestMostHeaders(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/much" {
			for i := range 8 {
				w.Header().Set(fmt.Sprintf("X-Much-%d", i), strings.Repeat("x", mostHeaders/4))
			}
		}
		_, _ = io.WriteString(w, "served")
	})
	for _, h2 := range []bool{false, true} {
		client := w.newClient(t, h2)
		if res, body := w.do(t, client, "GET", "/", "X-Some", strings.Repeat("x", mostHeaders/2)); res.StatusCode != http.StatusOK || body != "served" {
			t.Errorf("some: %s", res.Status)
		}
		if res, _ := w.do(t, client, "GET", "/much"); res.StatusCode != http.StatusBadGateway {
			t.Errorf("an answer with too much: %s", res.Status)
		}
		r, err := http.NewRequest("GET", "https://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			r.Header.Set(fmt.Sprintf("X-Much-%d", i), strings.Repeat("x", mostHeaders/4))
		}
		if res, err := client.Do(r); err == nil {
			if res.Body.Close(); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("a request with too much: %s", res.Status)
			}
		}
	}
}

// With a secret, no header makes of a request another one, and no name of a trailer holds a value, in any case.
func TestNames(t *testing.T) {
	got := make(chan http.Header, 1)
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		w.Header().Set("Trailer", strings.ToLower(secret)+", X-Last")
		_, _ = io.WriteString(w, "served")
	})
	names := []string{"X-HTTP-Method-Override", "X_HTTP_Method_Override", "x_method-override", "X-Original-URL", "X_Original_URL", "X-Rewrite-URL"}
	for _, h2 := range []bool{false, true} {
		header := []string{"X-Api-Key", shown, "X-Else", "kept"}
		for _, name := range names {
			header = append(header, name, "DELETE")
		}
		res, _ := w.do(t, w.newClient(t, h2), "GET", "/", header...)
		if said := strings.ToLower(fmt.Sprint(res.Header, res.Trailer)); strings.Contains(said, strings.ToLower(secret)) {
			t.Errorf("the guest heard %s", said)
		}
		h := <-got
		for _, name := range names {
			if h.Get(name) != "" {
				t.Errorf("the host got %s", name)
			}
		}
		if h.Get("X-Else") != "kept" {
			t.Error("the host did not get another header")
		}
	}
}
