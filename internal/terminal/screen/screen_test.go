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
	for seed := range uint64(20) {
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
		s.Answers()
	})
}

// Text that nobody is going to see is passed over, and nobody can tell.
func TestUnseen(t *testing.T) {
	for seed := range uint64(20) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 4)), cols: 10 + int(seed), rows: 2 + int(seed%20)}
		start := g.stream(int(seed % 40))
		var text bytes.Buffer
		lines := 1200 + g.IntN(3000)
		if seed%4 == 0 { // more than waits to be looked at
			lines *= 20
		}
		for range lines {
			switch g.IntN(40) {
			case 0:
				text.WriteString(g.pick("\n", "\r", "\x0e", "\x0f", "\t", "\b", "ä", "日本", "\x85", "\f"))
			default:
				fmt.Fprint(&text, g.word(), "\r\n")
			}
		}
		lazy, eager := New(g.cols, g.rows), New(g.cols, g.rows)
		for _, p := range [][]byte{start, text.Bytes()} {
			for len(p) > 0 {
				n := min(len(p), 1000)
				lazy.Write(p[:n])
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

// What tmux does otherwise, or does not tell.
func TestAsXterm(t *testing.T) {
	for _, test := range []struct{ name, stream, line, want string }{
		{"a line that comes in has the background's colour", "\x1b[41m\x1b[6;1H\n", "primary 5", `"{0 10001 0 {  0}}          "`},
		{"so has what is erased", "abc\x1b[44m\x1b[1;2H\x1b[K", "primary 0", `"{0 0 0 {  0}}a{0 10004 0 {  0}}         "`},
		{"half of a wide character is a space", "日本\x1b[1;2Hx", "primary 0", `"{0 0 0 {  0}} x本>"`},
		{"a wide one does not fit", "123456789日", "primary 1", `"{0 0 0 {  0}}日>"`},
		{"characters combine", "e\u0301x", "primary 0", "\"{0 0 0 {  0}}e\u0301x\""},
		{"a link", "\x1b]8;id=a;https://example.com\x1b\\x\x1b]8;;\x1b\\y", "primary 0", `"{0 0 0 {id=a https://example.com 0}}x{0 0 0 {  0}}y"`},
		{"no link with other characters", "\x1b]8;;https://\u00e4\x1b\\x", "primary 0", `"{0 0 0 {  0}}x"`},
		{"special graphics", "\x1b(0lqk\x1b(Blqk", "primary 0", `"{0 0 0 {  0}}┌─┐lqk"`},
		{"a single shift", "\x1b*0\x1bNqq", "primary 0", `"{0 0 0 {  0}}─q"`},
		{"colours with colons", "\x1b[38:2::1:2:3;48:5:7mx", "primary 0", `"{2010203 1000007 0 {  0}}x"`},
		{"kinds and colours of underlines", "\x1b[4:3;58:2::1:2:3mx", "primary 0", `"{0 0 300 {  33620483}}x"`},
		{"a title", "\x1b]2;one\a\x1b[22;2t\x1b]2;two\x1b\\", "title", `"two", pushed ["one"]`},
		{"a title without controls", "\x1b]2;a\u009bb\xffc\a", "title", `"abc", pushed []`},
		{"erasing the scroll-back", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\x1b[3J", "primary 0", `"{0 0 0 {  0}}2"`},
		{"flags of the keyboard", "\x1b[>1u\x1b[>7u\x1b[<u", "primary saved", `0,0 wrap false "{0 0 0 {  0}} " sets BBBB 0 origin false; keyboard [0 1]`},
		{"a cancelled sequence", "\x1b[31\x18mx", "primary 0", `"{0 0 0 {  0}}mx"`},
		{"a control within a sequence", "ab\x1b[3\r1mx", "primary 0", `"{10001 0 0 {  0}}x{0 0 0 {  0}}b"`},
	} {
		s := New(10, 6)
		s.Write([]byte(test.stream))
		found := false
		for _, line := range describe(s, true) {
			if rest, is := strings.CutPrefix(line, test.line); is {
				found = true
				if got := strings.TrimLeft(rest, ": "); got != test.want {
					t.Errorf("%s: %s, want %s", test.name, got, test.want)
				}
				break
			}
		}
		if !found {
			t.Errorf("%s: no %s", test.name, test.line)
		}
		redrawn(t, s, true)
	}
}

func TestAnswers(t *testing.T) {
	s := New(80, 24)
	s.Write([]byte("\x1b[3;4H\x1b[6n\x1b[5n\x1b[c\x1b[>c\x1b[?2026$p\x1b[?4711$p\x1b[>3u\x1b[?u\x1b[18t"))
	const want = "\x1b[3;4R\x1b[0n\x1b[?62;22c\x1b[>0;0;0c\x1b[?2026;2$y\x1b[?4711;0$y\x1b[?3u\x1b[8;24;80t"
	if got := string(s.Answers()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for range 1000 {
		s.Write([]byte("\x1b[6n"))
	}
	if n := len(s.Answers()); n > maxAnswers {
		t.Errorf("%d bytes of answers are kept", n)
	}
}

// Whatever a guest writes, what is held and written for it is bounded.
func TestBounded(t *testing.T) {
	for name, piece := range map[string]func(i int) string{
		"links": func(i int) string {
			return fmt.Sprintf("\x1b]8;;https://example.com/%d%s\ax", i, strings.Repeat("x", 2000))
		},
		"clusters":   func(i int) string { return fmt.Sprintf("e%c%c", 0x300+i%100, 0x300+i/100%100) },
		"combining":  func(int) string { return "\u0301" },
		"a string":   func(int) string { return "\x1b]52;c;" + strings.Repeat("x", 1000) },
		"parameters": func(i int) string { return "\x1b["[:2*(1-min(i, 1))] + "1;" },
		"titles":     func(i int) string { return fmt.Sprintf("\x1b]2;%d\a\x1b[22t", i) },
		"colours": func(i int) string {
			return fmt.Sprintf("\x1b]4;%d;#%06d\a\x1b[38;2;1;2;%dm\x1b[58:2::1:%d:%dmx\r\n", i%300, i, i%256, i/256%256, i%256)
		},
		"keyboard": func(int) string { return "\x1b[>1u" },
	} {
		s := New(10000, 10000)
		for i := range 20000 {
			s.Write([]byte(piece(i)))
		}
		if n := len(s.Redraw(10000, 10000)); n > 8<<20 {
			t.Errorf("%s: %d bytes redraw it", name, n)
		}
		if n := cap(s.back.text) + s.parser.Held() + cap(s.pending); n > 8<<20 {
			t.Errorf("%s: %d bytes are held", name, n)
		}
		if len(s.clusters.values) > maxPool || len(s.extras.values) > maxPool || len(s.titles) > maxTitles || len(s.colours) > 260 || len(s.keyboard) > maxKeyboard {
			t.Errorf("%s: much is held", name)
		}
	}
}

// However many links a guest shows, to find the numbers of those that are shown no more does not have it wait: all cells are
// looked at once for a thousand new links, also if all but one of those that there may be are on the screen.
func TestManyLinks(t *testing.T) {
	p, sweeps := pool[int]{}, 0
	shown := func(have []bool) {
		sweeps++
		for n := range have {
			have[n] = n != 5
		}
	}
	for i := range 10 * maxPool {
		p.number(i, shown)
	}
	if sweeps == 0 || sweeps > 10 {
		t.Errorf("all cells are looked at %d times", sweeps)
	}
}
