package output

import (
	"cmp"

	"github.com/riverlytech/art/trace/decode"
)

// Clock is the time in front of each line.
type Clock int

// The clocks are those of strace's options of one to three t.
const (
	NoClock      Clock = iota
	Seconds            // the time of day
	Microseconds       // the time of day
	Unix               // since 1970, with microseconds
)

// Only says which calls are shown, by how they end.
type Only int

// With one of these, a call is shown when it has returned, and one that does not return is not.
const (
	Any Only = iota
	Successful
	Failed
)

func (o Only) has(c *decode.Call) bool {
	return o == Any || (o == Failed) == c.Failed
}

// Style says what a trace shows, by strace's options.
type Style struct {
	Clock    Clock      // when each line began
	Since    bool       // the time since the line before began (-r)
	Duration bool       // the time spent in each call (-T)
	Files    bool       // what descriptors refer to (-y)
	Sockets  bool       // and what sockets are connected to (-yy)
	Whole    bool       // structures are not abbreviated (-v)
	NoExits  bool       // how threads end is not shown (-qq)
	Hex      decode.Hex // which strings are numbers (-x, -xx)
	Strings  int        // how many bytes of strings and buffers (-s); as many as the format shows by itself if 0
	Column   int        // where results stand (-a); 40 if 0
	Only     Only       // -z and -Z
	// Signals tells which signals are shown; all if it is nil.
	Signals func(sig int) bool
}

// apply makes a call be shown in the style, with up to strings bytes of a string where it says nothing of them.
func (s *Style) apply(c *decode.Call, strings int) {
	c.ShowFiles, c.ShowSockets, c.Whole = s.Files || s.Sockets, s.Sockets, s.Whole
	c.Hex, c.Strings = s.Hex, cmp.Or(s.Strings, strings)
}
