package redact

import (
	"strings"
	"testing"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// pages are a tracee's memory from base on, of which nothing else can be read.
type pages struct {
	base uint64
	text string
}

func (p pages) Read(addr uint64, buf []byte) int {
	if addr < p.base || addr >= p.base+uint64(len(p.text)) {
		return 0
	}
	return copy(buf, p.text[addr-p.base:])
}

func (p pages) Path(int) string { return "/tmp/hunter2hunter2/x" }
func (p pages) Dir() string     { return "/" }
func (p pages) Process(int) int { return 77 }

// reader reads from a call's memory when it is told of its entry.
type reader struct {
	trace.Ignore
	at   uint64
	n    int
	got  string
	path string

	process int
}

func (r *reader) Enter(c *decode.Call) error {
	buf := make([]byte, r.n)
	r.got = string(buf[:c.Mem.Read(r.at, buf)])
	r.path = c.Files.Path(3) + c.Files.Dir()
	r.process = c.Files.(decode.Processes).Process(3)
	return nil
}

func TestRead(t *testing.T) {
	const base = 0x7000
	values := []string{"hunter2hunter2", "swordfish", "sword\nfish\x00", "", "1", "yes"}
	text := "TOKEN=hunter2hunter2hunter2\x00A=swordfish B=1 yes sword\nfish\x00 sword"
	plain := strings.ReplaceAll(text, "hunter2hunter2hunter2", strings.Repeat("*", 21))
	plain = strings.ReplaceAll(plain, "swordfish", "*********")
	plain = strings.ReplaceAll(plain, "sword\nfish\x00", "***********")
	for at := range len(text) {
		for n := 1; n <= len(text)-at+2; n++ {
			next := &reader{at: base + uint64(at), n: n}
			c := &decode.Call{Mem: pages{base, text}, Files: pages{}}
			if err := New(values, next).Enter(c); err != nil {
				t.Fatal(err)
			}
			if want := plain[at:min(at+n, len(text))]; next.got != want {
				t.Fatalf("%d bytes at %d: %q, want %q", n, at, next.got, want)
			}
			if next.path != "/tmp/**************/x/" {
				t.Fatalf("path %q", next.path)
			}
			if next.process != 77 {
				t.Fatalf("process %d", next.process)
			}
		}
	}
}

// Without secrets nothing is between the tracer and its handler.
func TestNone(t *testing.T) {
	next := &reader{}
	if New([]string{"", "yes"}, next) != trace.Handler(next) {
		t.Error("there is")
	}
}
