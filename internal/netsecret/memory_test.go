package netsecret

import (
	"crypto/tls"
	"encoding/binary"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// BenchmarkHostileMemory gives what a guest takes of memory that has all connections there may be, and on each, where it may speak HTTP/2,
// asks for what is answered at once and hears nothing of that, within a frame as large as there may be.
func BenchmarkHostileMemory(b *testing.B) {
	w := newWorld(b, func(http.ResponseWriter, *http.Request) {})
	for b.Loop() {
		before := inUse()
		var conns []*tls.Conn
		for range mostEnded {
			raw, err := w.dial()
			if err != nil {
				b.Fatal(err)
			}
			c := tls.Client(raw, &tls.Config{ServerName: host, RootCAs: w.trust, NextProtos: []string{"h2", "http/1.1"}})
			if err := c.Handshake(); err != nil {
				b.Fatal(err)
			}
			conns = append(conns, c)
			if c.ConnectionState().NegotiatedProtocol == "h2" {
				flood(c)
			}
		}
		time.Sleep(time.Second)
		b.ReportMetric(float64(inUse()-before)/(1<<20), "MiB")
		for _, c := range conns {
			c.NetConn().Close()
		}
		time.Sleep(time.Second)
	}
	b.ReportMetric(0, "ns/op")
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// flood says as much over HTTP/2 as is kept of it.
func flood(c *tls.Conn) {
	frame := func(kind, flags byte, length int, payload []byte) []byte {
		head := binary.BigEndian.AppendUint32(nil, uint32(length)<<8|uint32(kind))
		return append(append(head, flags, 0, 0, 0, 0), payload...)
	}
	text := append([]byte(http2Preface), frame(4, 0, 0, nil)...)
	for range 9900 { // PING
		text = append(text, frame(6, 0, 8, make([]byte, 8))...)
	}
	text = append(text, frame(0xaa, 0, 1<<20, make([]byte, 1<<16))...) // and the beginning of one of no kind
	_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, _ = c.Write(text) // as far as it is taken
}

const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
