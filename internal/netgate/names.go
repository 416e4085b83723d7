package netgate

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"

	"github.com/riverlytech/art/internal/control"
)

// The first number of a name, and the one after the last.
const (
	firstName = 1 << 8
	endName   = 1<<17 - 1
)

// errNames is that a guest has asked for more names than there are addresses.
var errNames = errors.New("there are no more addresses for names")

// names are those that the guest has been told an address of: it is told addresses that nobody else has, and a connection to one of
// these is one to that name.
type names struct {
	mu      sync.Mutex
	numbers map[string]uint32 // GUARDED_BY(mu)
	list    []string          // GUARDED_BY(mu); the first is number firstName
}

// addresses returns those that stand for a name.
func (n *names) addresses(name string) (v4, v6 netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, ok := n.numbers[name]
	if !ok {
		if number = firstName + uint32(len(n.list)); number >= endName {
			return v4, v6, errNames
		}
		if n.numbers == nil {
			n.numbers = map[string]uint32{}
		}
		n.numbers[name] = number
		n.list = append(n.list, name)
	}
	a4, a6 := control.Range4.Addr().As4(), control.Range6.Addr().As16()
	binary.BigEndian.PutUint32(a4[:], binary.BigEndian.Uint32(a4[:])+number)
	binary.BigEndian.PutUint32(a6[12:], number)
	return netip.AddrFrom4(a4), netip.AddrFrom16(a6), nil
}

// name returns what an address stands for, or "".
func (n *names) name(a netip.Addr) string {
	var number uint32
	switch {
	case control.Range4.Contains(a):
		a4, base := a.As4(), control.Range4.Addr().As4()
		number = binary.BigEndian.Uint32(a4[:]) - binary.BigEndian.Uint32(base[:])
	case control.Range6.Contains(a):
		a16 := a.As16()
		if binary.BigEndian.Uint32(a16[8:]) != 0 {
			return ""
		}
		number = binary.BigEndian.Uint32(a16[12:])
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if number < firstName || number-firstName >= uint32(len(n.list)) {
		return ""
	}
	return n.list[number-firstName]
}
