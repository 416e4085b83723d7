package decode

import (
	"golang.org/x/sys/unix"
)

// Writer is a Memory that can be written.
type Writer interface {
	// Write writes b at addr and returns how many bytes it has written.
	Write(addr uint64, b []byte) int
}

// piece is memory of a tracee as it was.
type piece struct {
	addr uint64
	was  []byte
}

// redZone is the memory below the stack pointer that a function may use (System V
// ABI for x86-64, 3.2.2; arm64 has none).
const redZone = 128

// SetString makes argument n of a call that is about to run point to the string s,
// such as another path, which must not hold NUL. The string is in memory that the thread
// does not use, below its stack; when the call has returned, this memory and
// the argument are what they were. Other threads could change it meanwhile, if they
// know where it is.
func (c *Call) SetString(n int, s string) error {
	w, ok := c.Mem.(Writer)
	if !ok {
		return unix.EFAULT
	}
	sp := c.SP - redZone
	for _, p := range c.replaced { // of another argument
		sp = min(sp, p.addr)
	}
	addr := (sp - uint64(len(s)) - 1) &^ 15
	was := make([]byte, len(s)+1)
	if c.Mem.Read(addr, was) < len(was) || w.Write(addr, append([]byte(s), 0)) < len(was) {
		return unix.EFAULT
	}
	c.replaced = append(c.replaced, piece{addr, was})
	c.Args[n] = addr
	return nil
}

// Restore puts back what SetString has overwritten. The tracer calls it.
func (c *Call) Restore() {
	for _, p := range c.replaced {
		c.Mem.(Writer).Write(p.addr, p.was)
	}
	c.replaced = nil
}
