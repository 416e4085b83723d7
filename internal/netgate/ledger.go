package netgate

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

// A guest may ask for any number of things; so many different ones are remembered.
const mostDenials = 1000

// ledger remembers what was denied.
type ledger struct {
	mu     sync.Mutex
	denied map[denial]int // GUARDED_BY(mu); how often
	more   int            // GUARDED_BY(mu); denials that are not in it
}

type denial struct {
	what  string // a name or an address
	port  uint16 // 0 where it was not known yet
	why   string
	allow string // the rule that would allow it, or ""
}

// deny notes a denial of what one end has asked for, and tells art.
func (g *Gate) deny(p peers, d denial) {
	d = d.short()
	g.ledger.deny(d)
	event := p.event()
	event.What, event.Port, event.Why, event.Allow = d.what, int(d.port), d.why, d.allow
	g.events.denied(event, !p.busy)
}

// short is a denial whose texts are as long as art takes them: a guest may have chosen each of them.
func (d denial) short() denial {
	d.what, d.why, d.allow = short(d.what), short(d.why), short(d.allow)
	return d
}

// deny notes a denial, and what would allow it. Its texts are bounded, so that the number of denials bounds the memory too.
func (l *ledger) deny(d denial) {
	d = d.short()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.denied == nil {
		l.denied = map[denial]int{}
	}
	if _, ok := l.denied[d]; !ok && len(l.denied) >= mostDenials {
		l.more++
		return
	}
	l.denied[d]++
}

// allowing returns the rule that would allow what, or "" if there is none, if another one denies it, or if it is of an address that is
// not the Internet's: who allows such a one is to know what is there.
func (g *Gate) allowing(what string, port uint16) string {
	if a, err := netip.ParseAddr(what); err == nil && !netrule.Public(a) {
		return ""
	}
	if strings.Contains(what, ":") {
		what = "[" + what + "]"
	}
	if port != 0 {
		what += ":" + strconv.Itoa(int(port))
	}
	r, err := netrule.Parse(what)
	if err != nil || g.rules().Denies(r) {
		return ""
	}
	return r.String()
}

// report returns what was denied, the most frequent first.
func (l *ledger) report() *control.NetReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &control.NetReport{More: l.more}
	for _, d := range slices.SortedFunc(maps.Keys(l.denied), func(a, b denial) int {
		return cmp.Or(l.denied[b]-l.denied[a], cmp.Compare(a.what, b.what), cmp.Compare(a.port, b.port), cmp.Compare(a.why, b.why))
	}) {
		if len(r.Denied) == mostReported {
			r.More += l.denied[d]
			continue
		}
		r.Denied = append(r.Denied, control.Denial{What: d.what, Port: int(d.port), Why: d.why, Allow: d.allow, Times: l.denied[d]})
	}
	return r
}

// mostReported is how many different denials are told.
const mostReported = 20

// short is a text as far as art takes one. What is cut off is not kept in memory.
func short(text string) string {
	if len(text) <= control.MaxNetText {
		return text
	}
	return strings.Clone(text[:control.MaxNetText])
}
