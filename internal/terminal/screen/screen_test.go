package screen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// What a screen shows is the same on another one to which it is redrawn, however the stream came in pieces.
func TestRedrawRandom(t *testing.T) {
	for seed := range uint64(300) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 1)), cols: 2 + int(seed%30), rows: 2 + int(seed%9)}
		stream := g.stream(5 + g.IntN(150))
		whole, pieces := New(g.cols, g.rows), New(g.cols, g.rows)
		whole.Write(stream)
		for rest := stream; len(rest) > 0; {
			n := min(1+g.IntN(9), len(rest))
			pieces.Write(rest[:n])
			rest = rest[n:]
			if g.IntN(50) == 0 {
				pieces.Events()
			}
		}
		same(t, "in pieces", describe(pieces, true), describe(whole, true))
		redrawn(t, whole, true)
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, stream)
		}
	}
}

// A resized one, too; and one that somebody looks at from a terminal of another size comes to no harm.
func TestResizeRandom(t *testing.T) {
	for seed := range uint64(60) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 2)), cols: 40, rows: 20}
		s := New(20, 10)
		var steps []string
		for range 10 {
			stream := g.stream(20)
			cols, rows := g.number(40), g.number(20)
			steps = append(steps, fmt.Sprintf("%q, %d x %d", stream, cols, rows))
			s.Write(stream)
			s.Resize(cols, rows)
			redrawn(t, s, false)
			cols, rows = g.number(60), g.number(30)
			New(cols, rows).Write(s.Redraw(cols, rows))
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(steps, "\n"))
			}
		}
	}
}

func FuzzWrite(f *testing.F) {
	for seed := range uint64(20) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 3)), cols: 20, rows: 6}
		f.Add(g.stream(30), uint8(20), uint8(6))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cols, rows uint8) {
		s := New(int(cols%64), int(rows%32))
		half := len(stream) / 2
		s.Write(stream[:half])
		redrawn(t, s, true)
		s.Resize(int(rows%64), int(cols%32))
		s.Write(stream[half:])
		redrawn(t, s, false)
		s.Events()
		s.Answers()
	})
}

// Text that nobody is going to see is passed over, and nobody can tell.
func TestUnseen(t *testing.T) {
	for seed := range uint64(60) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 4)), cols: 10 + int(seed), rows: 2 + int(seed%20)}
		start := g.stream(int(seed % 40))
		var text bytes.Buffer
		for range 1200 + g.IntN(3000) {
			switch g.IntN(40) {
			case 0:
				text.WriteString(g.pick("\n", "\r", "\x0e", "\x0f", "\t", "\b", "ä", "日本", "\x85", "\f"))
			default:
				fmt.Fprint(&text, g.word(), "\r\n")
			}
		}
		lazy, eager := New(g.cols, g.rows), New(g.cols, g.rows)
		for _, p := range [][]byte{start, text.Bytes()} {
			lazy.Write(p)
			for len(p) > 0 {
				n := min(len(p), 1000)
				eager.Write(p[:n])
				eager.flush()
				p = p[n:]
			}
		}
		if !same(t, "passed over", describe(lazy, true), describe(eager, true)) {
			t.Fatalf("seed %d", seed)
		}
	}
}
