package decode

import "golang.org/x/sys/unix"

// Terminals: struct termios, termios2 and termio (include/uapi/asm-generic/termbits.h and termios.h).

func printTermios(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 36); b != nil {
		p.termios(b, 19, false)
	}
	return true
}

func printTermios2(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 44); b != nil {
		p.termios(b, 19, true)
	}
	return true
}

// printTermio prints the oldest of the structs, with flags of 16 bits.
func printTermio(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 18)
	if b == nil {
		return true
	}
	wide := make([]byte, 36)
	for i := range 4 {
		copy(wide[4*i:], b[2*i:2*i+2])
	}
	copy(wide[16:], b[8:17])
	p.termios(wide, 8, false)
	return true
}

// terminalCharacters are the names of special characters by their index.
var terminalCharacters = []string{
	"VINTR", "VQUIT", "VERASE", "VKILL", "VEOF", "VTIME", "VMIN", "VSWTC", "VSTART", "VSTOP", "VSUSP", "VEOL", "VREPRINT", "VDISCARD",
	"VWERASE", "VLNEXT", "VEOL2",
}

// termios prints four words of flags, of which some bits are numbers, and if it is to be whole what is behind.
func (p *printer) termios(b []byte, n int, speeds bool) {
	p.str("{c_iflag=")
	p.bits("tty_input", uint64(u32(b, 0)))
	p.str(", c_oflag=")
	p.fields("tty_output", u32(b, 4), "tty_nl", "tty_cr", "tty_tab", "tty_bs", "tty_vt", "tty_ff")
	p.str(", c_cflag=")
	p.control32(u32(b, 8))
	p.str(", c_lflag=")
	p.bits("tty_local", uint64(u32(b, 12)))
	if !p.call.Whole {
		p.str(", ...}")
		return
	}
	p.str(", c_line=")
	p.printName(terminalFlags["tty_line"], uint64(b[16]))
	p.str(", c_cc=[")
	for i, c := range b[17 : 17+n] {
		if i > 0 {
			p.str(", ")
		}
		p.str("[")
		if i < len(terminalCharacters) {
			p.str(terminalCharacters[i])
		} else {
			p.dec(int64(i))
		}
		p.str("]=")
		p.hex(uint64(c))
	}
	p.str("]")
	if speeds {
		p.str(", c_ispeed=")
		p.udec(uint64(u32(b, 36)))
		p.str(", c_ospeed=")
		p.udec(uint64(u32(b, 40)))
	}
	p.str("}")
}

// bits is printSet for flags that stand alone or behind others, where what has no name is a number.
func (p *printer) bits(set string, v uint64) {
	if s := terminalFlags[set]; v&s.all() != 0 || v == 0 {
		p.printSet(s, v)
	} else {
		p.hex(v)
	}
}

// fields prints the numbers within a word, by the bits that their names have, and then its flags.
func (p *printer) fields(flags string, v uint32, numbers ...string) {
	for _, name := range numbers {
		set := terminalFlags[name]
		bits := uint32(set.all())
		p.printName(set, uint64(v&bits))
		if v &^= bits; v != 0 || name != numbers[len(numbers)-1] {
			p.str("|")
		}
	}
	if v != 0 {
		p.bits(flags, uint64(v))
	}
}

// control32 prints c_cflag: two speeds and a size of characters, and flags.
func (p *printer) control32(v uint32) {
	const shift = 16 // IBSHIFT
	set := terminalFlags["tty_speed"]
	p.printName(set, uint64(v&unix.CBAUD))
	p.str("|")
	if input := v >> shift & unix.CBAUD; input != 0 {
		p.printName(set, uint64(input))
		p.str("<<IBSHIFT|")
	}
	p.fields("tty_control", v&^(unix.CBAUD|unix.CBAUD<<shift), "tty_size")
}
