package decode

import (
	"strconv"
)

// structure describes a struct of the kernel whose members are plain.
type structure struct {
	size    int
	members []member
	// brief is how many members are shown where structures are not to be whole; 0 is all.
	brief int
}

// member is one of a structure: its name, where it stands, and how it is printed.
type member struct {
	name string
	at   int
	show func(p *printer, b []byte)
}

// printStructure prints the struct that an argument points to.
func printStructure(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, a.structure.size); b != nil {
		p.structure(a.structure, b)
	}
	return true
}

func (p *printer) structure(s *structure, b []byte) {
	members := s.members
	brief := s.brief > 0 && !p.call.Whole
	if brief {
		members = members[:s.brief]
	}
	sep := "{"
	for _, m := range members {
		p.str(sep + m.name + "=")
		m.show(p, b[m.at:])
		sep = ", "
	}
	if brief {
		p.str(", ...")
	}
	p.str("}")
}

// How members are printed.
func asInt32(p *printer, b []byte)  { p.dec(int64(int32(u32(b, 0)))) }
func asUint32(p *printer, b []byte) { p.udec(uint64(u32(b, 0))) }
func asInt64(p *printer, b []byte)  { p.dec(int64(u64(b, 0))) }
func asUint64(p *printer, b []byte) { p.udec(u64(b, 0)) }
func asID(p *printer, b []byte)     { p.idElement(b) }
func asUint16(p *printer, b []byte) { p.udec(uint64(order.Uint16(b))) }

func asHex32(p *printer, b []byte) { p.hex(uint64(u32(b, 0))) }
func asHex64(p *printer, b []byte) { p.hex(u64(b, 0)) }

func asTimeval(p *printer, b []byte) { p.timeval(b) }

// asSeconds prints a time in seconds with the date that it is.
func asSeconds(p *printer, b []byte) {
	p.dec(int64(u64(b, 0)))
	p.date(int64(u64(b, 0)), 0)
}

// asTicks prints a time in the ticks of which there are a hundred in a second (USER_HZ).
func asTicks(p *printer, b []byte) { p.ticks(u64(b, 0)) }

func (p *printer) ticks(v uint64) {
	p.udec(v)
	if v != 0 {
		p.str(" /* " + strconv.FormatFloat(float64(v)/100, 'f', 2, 64) + " s */")
	}
}

// asFlags prints the bits of a 32-bit word.
func asFlags(set string) func(p *printer, b []byte) {
	return func(p *printer, b []byte) { p.printSet(flagSets()[set], uint64(u32(b, 0))) }
}

// asName prints the name of a 32-bit value.
func asName(set string) func(p *printer, b []byte) {
	return func(p *printer, b []byte) { p.printName(flagSets()[set], uint64(u32(b, 0))) }
}

// longs makes members of the names, one long after the other from at on.
func longs(at int, show func(p *printer, b []byte), names ...string) []member {
	members := make([]member, len(names))
	for i, name := range names {
		members[i] = member{name, at + 8*i, show}
	}
	return members
}

// ints is longs for members of four bytes.
func ints(at int, show func(p *printer, b []byte), names ...string) []member {
	members := make([]member, len(names))
	for i, name := range names {
		members[i] = member{name, at + 4*i, show}
	}
	return members
}
