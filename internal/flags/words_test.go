package flags

import "testing"

func TestMeant(t *testing.T) {
	for typed, want := range map[string]string{
		"stauts": "status", "statu": "status", "statuss": "status", "ststus": "status", "tsatus": "status",
		"rn": "run", "runn": "run", "urn": "run", "run": "run", "status": "status", "dif": "diff", "pul": "pull", "psuh": "push", "lis": "list", "lgo": "log",
		"resett": "reset", "doctro": "doctor", "cnofig": "config", "confiq": "config", "trsut": "trust",
		// Programs that a guest may lack.
		"": "", "r": "", "rg": "", "rd": "", "bun": "", "ruby": "", "rustc": "", "git": "", "go": "", "gcc": "", "less": "", "pip": "", "status ": "status",
		"statuses": "", "xstatusx": "", "\xff": "", "löst": "",
	} {
		if got := Meant(typed); got != want {
			t.Errorf("%q: %q, not %q", typed, got, want)
		}
	}
}
