package output

import (
	"cmp"
	"fmt"

	"github.com/riverlytech/art/trace/decode"
)

// Clock is the time in front of each line.
type Clock int

// The clocks are those of strace's options of one to three t.
const (
	TimeOfDay Clock = iota
	Unix            // the seconds since 1970
)

// Precision is how exactly a time is shown, if it is.
type Precision int

// Each but NotShown is that of three more digits behind the point.
const (
	NotShown Precision = iota
	Seconds
	Milliseconds
	Microseconds
	Nanoseconds
)

// of returns the digits of a fraction of a second, with the point in front.
func (p Precision) of(nanoseconds int) string {
	if p <= Seconds {
		return ""
	}
	return fmt.Sprintf(".%09d", nanoseconds)[:1+3*int(p-Seconds)]
}

// Only says which calls are shown, by how they end.
type Only int

// Any is all calls, each from its entry on. A union of the others is calls that end so, each once it has ended.
const (
	Any        Only = 0
	Successful Only = 1 << (iota - 1)
	Failed
	Unfinished // the thread ended meanwhile
	Detached   // art-trace let go of the thread meanwhile
	Nothing    // no call ends so
)

// has tells whether a call that has returned is shown.
func (o Only) has(c *decode.Call) bool {
	if c.Failed {
		return o.Shows(Failed)
	}
	return o.Shows(Successful)
}

// Shows tells whether a call is shown that ends so.
func (o Only) Shows(how Only) bool { return o == Any || o&how != 0 }

// Style says what a trace shows, by strace's options.
type Style struct {
	Clock    Clock     // how it is shown when each line began
	Began    Precision // and how exactly
	Since    Precision // the time since the line before began (-r)
	Duration Precision // the time spent in each call (-T)
	// Descriptors are those that are shown with what they refer to (-y, -yy).
	Descriptors decode.Descriptors
	Whole       bool       // structures are not abbreviated (-v)
	NoExits     bool       // how threads end is not shown (-qq)
	NoTurns     bool       // that a thread has executed a program in the place of another is not shown (-qqq)
	Hex         decode.Hex // which strings are numbers (-x, -xx)
	Strings     int        // how many bytes of strings and buffers (-s); as many as the format shows by itself if 0
	Column      int        // where results stand (-a); 40 if 0
	Only        Only       // -z, -Z and -e status
	Entries     bool       // the trace is one of entries: a result is known of those calls alone that a policy answers
	// Dump says what is shown whole of what calls read and write, in the format of text (-e read and -e write).
	Dump decode.Dump
	// Signals tells which signals are shown; all if it is nil.
	Signals func(sig int) bool
}

// apply makes a call be shown in the style, with up to strings bytes of a string where it says nothing of them.
func (s *Style) apply(c *decode.Call, strings int) {
	c.Show, c.Whole = s.Descriptors, s.Whole
	c.Hex, c.Strings = s.Hex, cmp.Or(s.Strings, strings)
}
