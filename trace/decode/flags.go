package decode

import (
	"maps"
	"slices"
	"sync"
)

// flag is one bit or value with its name.
type flag struct {
	value int64
	name  string
}

// flagSet is the names that an argument's bits, or its value, may have, in the
// order in which strace prints them.
type flagSet struct {
	unknown string // stands beside a value that has no name
	flags   []flag
}

// has reports whether v has a name.
func (s *flagSet) has(v uint32) bool {
	return slices.ContainsFunc(s.flags, func(f flag) bool { return uint32(f.value) == v })
}

// all returns the bits that have a name.
func (s *flagSet) all() uint64 {
	var all uint64
	for _, f := range s.flags {
		all |= uint64(f.value)
	}
	return all
}

// flagSets are all sets by their names in package syscalls' table.
var flagSets = sync.OnceValue(func() map[string]*flagSet {
	all := map[string]*flagSet{}
	for _, part := range []map[string]*flagSet{fileFlags, processFlags, networkFlags, rareFlags, prctlFlags, terminalFlags} {
		maps.Copy(all, part)
	}
	return all
})

// printSet prints v as flags joined by |, what is left over as a number.
func (p *printer) printSet(set *flagSet, v uint64) {
	if v == 0 {
		p.name(set, 0, "0")
		return
	}
	sep := ""
	for _, f := range set.flags {
		bits := uint64(f.value)
		if bits != 0 && v&bits == bits {
			p.str(sep)
			p.str(f.name)
			sep, v = "|", v&^bits
		}
	}
	switch {
	case v == 0:
	case sep == "":
		p.hex(v)
		p.str(" /* " + set.unknown + " */")
	default:
		p.str(sep)
		p.hex(v)
	}
}

// printName prints v as the one name that has exactly this value.
func (p *printer) printName(set *flagSet, v uint64) {
	for _, f := range set.flags {
		if uint32(f.value) == uint32(v) {
			p.str(f.name)
			return
		}
	}
	p.hex(uint64(uint32(v)))
	p.str(" /* " + set.unknown + " */")
}

// printLongName is printName for a value of 64 bits.
func (p *printer) printLongName(set *flagSet, v uint64) {
	if v>>32 == 0 {
		p.printName(set, v)
		return
	}
	p.hex(v)
	p.str(" /* " + set.unknown + " */")
}

// name prints the name of v, or otherwise.
func (p *printer) name(set *flagSet, v uint64, otherwise string) {
	for _, f := range set.flags {
		if uint64(f.value) == v {
			p.str(f.name)
			return
		}
	}
	p.str(otherwise)
}

func printFlags(p *printer, a *argument, v uint64) bool {
	p.printSet(a.flags, uint64(uint32(v))) // every flag word of the kernel's is an int
	return true
}

// printLongFlags prints the few words of flags that are a long.
func printLongFlags(p *printer, a *argument, v uint64) bool {
	p.printSet(a.flags, v)
	return true
}

func printEnum(p *printer, a *argument, v uint64) bool {
	p.printName(a.flags, v)
	return true
}
