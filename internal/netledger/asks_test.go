package netledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

func TestGrants(t *testing.T) {
	k := &kept{}
	l, _ := newLedger(k)
	var asked []string
	l.OnAsked(func(a control.Asking) { asked = append(asked, a.What) })
	say := func(all ...control.NetEvent) {
		if _, err := l.Write(frames(t, &control.NetEvents{Events: all})); err != nil {
			t.Fatal(err)
		}
	}
	denied := event(control.NetDenied, 4, "c.org", "no")
	denied.Allow = "c.org"
	say(control.NetEvent{Kind: control.NetAsked, Number: 1, What: "a.org", Port: 443, Allow: "a.org:443"},
		control.NetEvent{Kind: control.NetAsked, Number: 2, What: "b.org", Port: 443, Allow: "b.org:443"},
		control.NetEvent{Kind: control.NetAnswered, Number: 1}, control.NetEvent{Kind: control.NetAnswered, Number: 77},
		event(control.NetDenied, 3, "private.org", "no"), denied)
	// What holds is kept, with who has granted it; what does not is not.
	grant := func(rule string, answer func(number uint64) error) error {
		return l.Grant(control.Grant{Time: time.Now(), Rule: rule, Scope: control.GrantOnce, PID: 9, Command: []string{"art", "grant"}},
			func(o *control.NetOrders) error { return answer(o.Grant.Number) })
	}
	if err := grant("b.org", func(n uint64) error { say(control.NetEvent{Kind: control.NetGranted, Number: n}); return nil }); err != nil {
		t.Error(err)
	}
	if err := grant("x.org", func(n uint64) error {
		say(control.NetEvent{Kind: control.NetGranted, Number: n + 5}, control.NetEvent{Kind: control.NetGranted, Number: n, Why: "it is denied"})
		return nil
	}); err == nil || err.Error() != "it is denied" {
		t.Errorf("a grant that does not hold: %v", err)
	}
	if err := grant("y.org", func(uint64) error { return unix.EPIPE }); !errors.Is(err, unix.EPIPE) {
		t.Errorf("a grant that nobody hears: %v", err)
	}
	told := l.Grants()
	if got := fmt.Sprint(told.Waiting, told.Denied, told.Granted); len(told.Waiting) != 1 || len(told.Denied) != 1 || len(told.Granted) != 1 ||
		told.Waiting[0].What != "b.org" || told.Denied[0].What != "c.org" || told.Granted[0].Rule != "b.org" || fmt.Sprint(asked) != "[a.org b.org]" {
		t.Errorf("%v was asked about, and there is %s", asked, got)
	}
	l.End()
	var grants []string
	for _, f := range k.list {
		if f.Protocol == GrantProtocol {
			grants = append(grants, fmt.Sprint(f.What, f.Rule, f.PID, f.Command))
		}
	}
	if fmt.Sprint(grants) != "[b.orgfor one connection9 [art grant]]" {
		t.Errorf("%q are kept", grants)
	}
}

// However much waits, what is told of it is one message.
func TestGrantsFit(t *testing.T) {
	l := New(func(*control.NetEvent) (int, []string) {
		return 1, []string{strings.Repeat("x", 5000), strings.Repeat("y", 5000)}
	}, func(uint64) {}, nil)
	name := strings.Repeat("n", control.MaxNetText-9)
	for i := range uint64(2 * mostAsks) {
		what := fmt.Sprint(name, i)
		l.ask(&control.NetEvent{Number: i, What: what, Allow: what, Port: 65535})
		l.deny(&control.NetEvent{Number: i, What: what, Allow: what + "x", Why: name, Port: 65535})
		l.asks.granted = append(l.asks.granted, control.Grant{Rule: what, Command: []string{name, name}})
	}
	told := l.Grants()
	if data := control.Marshal(told); len(data) > 60<<10 || len(told.Waiting)+told.More != mostAsks {
		t.Errorf("%d and %d more wait, which are %d bytes", len(told.Waiting), told.More, len(data))
	}
}
