package netledger

import (
	"fmt"
	"testing"

	"github.com/riverlytech/art/internal/control"
)

func TestUsed(t *testing.T) {
	var u Used
	for _, f := range []control.Flow{
		{What: "b.org", Port: 443, Address: "9.9.9.9:443"}, {What: "b.org", Port: 443, Address: "9.9.9.8:443"}, {What: "a.org", Port: 80, Address: "9.9.9.9:80"},
		{What: "9.9.9.9", Port: 53, Address: "9.9.9.9:53"}, {What: "2001:4860::1", Port: 53, Address: "[2001:4860::1]:53"},
		{What: "denied.org", Port: 443, Denied: true}, {What: "failed.org", Port: 443, Why: "no"}, {What: "open.org", Port: 443, Open: true, Address: "x"},
		{What: "granted.org", Address: "x", Port: 1, Protocol: GrantProtocol}, {What: "\x1b[2J\", \"*", Port: 1, Address: "x"}, {What: "*", Port: 0, Address: "x"},
		{Address: "x", Port: 1},
	} {
		if f.Protocol == "" {
			f.Protocol = "tcp"
		}
		u.Add(&f)
	}
	if got := fmt.Sprint(u.Rules()); got != "[9.9.9.9:53 [2001:4860::1]:53 a.org:80 b.org:443]" || u.More {
		t.Errorf("%s are proposed", got)
	}
	for i := range 2 * mostUsed {
		u.Add(&control.Flow{What: fmt.Sprintf("a%d.org", i), Port: 1, Address: "x", Protocol: "tcp"})
	}
	if len(u.Rules()) != mostUsed || !u.More {
		t.Errorf("%d are remembered", len(u.Rules()))
	}
	text, err := (&Used{rules: map[string]bool{"b.org:2": true, "a.org:1": true}}).Settings()
	if want := "{\n  \"network\": {\n    \"allow\": [\n      \"a.org:1\",\n      \"b.org:2\"\n    ]\n  }\n}\n"; err != nil || text != want {
		t.Errorf("%v: %s", err, text)
	}
}
