package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes up what programs write.
type generator struct {
	*rand.Rand
	cols, rows int
	plain      bool // only what tmux does as xterm does
}

func (g generator) stream(n int) []byte {
	var b strings.Builder
	for range n {
		b.WriteString(g.piece())
	}
	if g.plain && g.IntN(3) == 0 {
		b.WriteString("\x1b[49m\r\x1b[?1049h")
		for range n / 2 {
			b.WriteString(g.piece())
		}
	}
	return []byte(b.String())
}

func (g generator) number(n int) int {
	if !g.plain && g.IntN(40) == 0 {
		return []int{0, 1, 65535, 100000}[g.IntN(4)]
	}
	return 1 + g.IntN(n)
}

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) csi(c string, args ...int) string {
	return "\x1b[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(args), " ", ";"), "[]") + c
}

func (g generator) piece() string {
	at := g.csi("H", g.number(g.rows), g.number(g.cols)) // after which no wrap is pending
	switch k := g.IntN(30); {
	case k < 8:
		return g.word()
	case k < 10:
		return "\r\n"
	case k < 12:
		return at
	case k < 15:
		return g.style()
	case k < 18:
		if g.plain && g.IntN(9) == 0 { // and inserts not more than there is room for
			return at + "\r" + g.csi("@", g.number(g.cols/2))
		}
		return at + g.csi(g.pick("A", "B", "C", "D", "E", "F", "G", "d", "X", "P", g.pick2("X", "@")), g.number(12))
	case k == 18:
		return at + g.csi(g.pick("J", "K"), g.IntN(3))
	case k == 19:
		return at + g.csi(g.pick("S", "T"), g.number(4))
	case k == 20:
		reset := "" // tmux moves lines outside of the margins, too
		if g.plain {
			reset = "\x1b[r"
		}
		return reset + at + "\r" + g.csi(g.pick("L", "M"), g.number(4))
	case k == 21 && g.rows > 1:
		top := 1 + g.IntN(max(g.rows-1, 1))
		return g.csi("r", top, top+1+g.IntN(max(g.rows-top, 1))) + at // tmux does not go to the margin with origin mode
	case k == 22:
		return at + g.pick("\x1bM", "\x1bD", "\x1bE", "\t", "\x1b7"+at+g.word()+"\x1b8", "\x1b[Z", "\x1bH", "\x1b[g", "\x1b[r"+at, "\b\b")
	case k == 23 && g.plain && g.IntN(4) == 0: // nor has it the mode with a saved cursor
		return "\x1b[?6h" + at + g.word() + "\x1b[?6l" + at
	case k == 23 && g.plain && g.IntN(4) == 0: // and inserts before it wraps
		return "\x1b[4h" + at + "\r" + g.word() + "\x1b[4l"
	case k == 23 && g.plain:
		return g.pick("\x1b[?7l", "\x1b[?7h", "\x1b[?25l", "\x1b[?25h", "\x1b[?1h", "\x1b[?1l", "\x1b=", "\x1b>")
	case k == 23:
		return g.pick("\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b[4l", "\x1b[?25l", "\x1b[?25h", "\x1b[?1h", "\x1b[?1l", "\x1b=", "\x1b>")
	case k == 24 && g.plain: // tmux restores no cursor on the primary screen
		return g.pick("\x1b[49m\r\x1b[?1049h"+g.word()+"\x1b[?1049l", "\x1b[?2004h", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?1000l", "\x1b[?1004h")
	case k == 24:
		return g.pick("\x1b[?1049h", "\x1b[?1049l", "\x1b[?1049l", "\x1b[?2004h", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?1000l", "\x1b[?1004h")
	case k == 25:
		return g.pick("\x1b]2;a title\a", "\x1b]2;\a", "\x1b]0;ein Titel ä\x1b\\", "\x1b(0qqxlmk\x1b(B", "\x1b)0\x0elqk\x0f", "\ra\x1b[5b")
	}
	if g.plain {
		return g.word()
	}
	return g.pick("\x1b7", "\x1b8", "\x1b[?6l", "\x1b[?6h", "\x1b[?47h", "\x1b[?47l", "\x1b[?1047h", "\x1b[?1047l", "\x1b[?1048h", "\x1b[?1048l", "\x1b[20h", "\x1b[20l", "\n", "\x0e", "\x0f", "\x1bN", "\x1bO",
		"\x1b[>1u", "\x1b[>5u", "\x1b[<u", "\x1b[=3;2u", "\x1b[=0u", "\x1b[>4;2m", "\x1b[>4m", "\x1b[3 q", "\x1b[ q", "\x1b[!p", "\x1b#8", "\x1b[3g", "\x1b[3J",
		"\x1b]8;id=1;https://example.com/ä\a", "\x1b]8;id=1;https://example.com\alink", "\x1b]8;;https://example.org\x1b\\other", "\x1b]8;;\a",
		"\x1b[22;2t", "\x1b[23t", "\x1b]11;#102030\a", "\x1b]4;1;red;2;green\a", "\x1b]104;1\a", "\x1b]111\a", "\x1b[?2026h", "\x1b[?2026l", "\x1b[?5h",
		"\x1b*0\x1bn", "\x1bo", "\x1b)A", "\x1bP1$r0m", "\x1b]0;cut off", "\x1b[?25", "\x1b[3\n", "\x1b", "\x18", "\xe2\x82", "\xff", "\x1bc", "\x1b[?45h", "\x1b_Gf=100;AAAA\x1b\\",
		"\x1b[48:2::1:2:3m", "\x1b[58:2::9:8:7m", "\x1b[58;5;9m", "\x1b[59m", "e\u0301", "👩\u200d🚀", "❤\ufe0f", "🇩🇪", "\x1b[?2027h")
}

func (g generator) word() string {
	switch {
	case g.IntN(4) > 0:
	case g.plain: // terminals differ in what becomes of half a wide character
		return g.pick("äöü", "─│┌", "é", "✓", "…")
	default:
		return g.pick("日本語", "äöü", "─│┌", "한", "é", "✓", "…")
	}
	return strings.Repeat(string(rune('a'+g.IntN(26))), g.number(12)) + g.pick("", " ", "  ")
}

func (g generator) style() string {
	switch g.IntN(6) {
	case 0:
		return "\x1b[m"
	case 1:
		return g.csi("m", g.pick1(1, 2, 3, 4, 5, 7, 8, 9, 21, 22, 23, 24, 25, 27, 28, 29))
	case 2:
		return g.csi("m", g.pick1(30, 40, 90, 100)+g.IntN(8))
	case 3:
		return g.csi("m", g.pick1(38, 48), 5, g.IntN(256))
	case 4:
		return g.csi("m", g.pick1(38, 48), 2, g.IntN(256), g.IntN(256), g.IntN(256))
	}
	return g.pick("\x1b[39m", "\x1b[49m", "\x1b[4:3m", "\x1b[4:5m", "\x1b[4:0m", "\x1b[38:5:9m", "\x1b[53m", "\x1b[55m", "\x1b[0;1;3;44m")
}

// pick2 picks one for tmux, or another.
func (g generator) pick2(plain, other string) string {
	if g.plain {
		return plain
	}
	return other
}

func (g generator) pick1(of ...int) int { return of[g.IntN(len(of))] }
