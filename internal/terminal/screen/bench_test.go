package screen

import (
	"bytes"
	"testing"
)

// Output as it comes from a terminal: in pieces of 4 KiB (N_TTY_BUF_SIZE in drivers/tty/n_tty.c).
func BenchmarkWrite(b *testing.B) {
	for _, of := range []struct{ name, line string }{
		{"plain", "The quick brown fox jumps over the lazy dog, again and again and again.\r\n"},
		{"colour", "\x1b[31mThe quick\x1b[0m brown \x1b[1;38;5;208mfox jumps\x1b[m over the lazy dog, again and again.\r\n"},
		{"endless", "The quick brown fox jumps over the lazy dog, again and again and again. "},
		{"utf8", "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich: 日本語.\r\n"},
		{"tui", "\x1b[?2026h\x1b[3;10H\x1b[38;2;10;20;30m│\x1b[39m some text in a box \x1b[38;2;10;20;30m│\x1b[K\x1b[?2026l"},
	} {
		b.Run(of.name, func(b *testing.B) {
			data := bytes.Repeat([]byte(of.line), (32<<20)/len(of.line))
			b.SetBytes(int64(len(data)))
			s := New(120, 40)
			for b.Loop() {
				for p := data; len(p) > 0; {
					n := min(len(p), 4096)
					s.Write(p[:n])
					p = p[n:]
				}
			}
		})
	}
}

func BenchmarkRedraw(b *testing.B) {
	s := New(120, 40)
	s.Write(bytes.Repeat([]byte("\x1b[31mThe quick\x1b[0m brown fox jumps over the lazy dog, again and again.\r\n"), 2000))
	b.ReportAllocs()
	for b.Loop() {
		s.Redraw(120, 40)
	}
}
