package config

import "testing"

func TestParsePort(t *testing.T) {
	for text, want := range map[string]Port{
		"3000": {3000, 3000}, "8080:3000": {8080, 3000}, "0:3000": {0, 3000}, "65535:1": {65535, 1}, "3000:3000": {3000, 3000},
	} {
		got, err := ParsePort(text)
		again, err2 := ParsePort(got.String())
		if err != nil || got != want || err2 != nil || again != got {
			t.Errorf("%q is %v, %v, and again %v, %v", text, got, err, again, err2)
		}
	}
	for _, text := range []string{"", "0", "65536", "x", "1:", ":1", "1:0", "-1:2", "+1", "1:2:3", "127.0.0.1:1:2", " 1"} {
		if p, err := ParsePort(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
}
