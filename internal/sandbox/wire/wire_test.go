package wire

import (
	"slices"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	for _, lists := range [][2][]string{
		{{}, {}},
		{{""}, {"", ""}},
		{{"a", "\xff\xfe", "line\nbreak"}, {"3"}},
	} {
		var a, b []string
		if err := Unmarshal(Marshal(lists[0], lists[1]), &a, &b); err != nil {
			t.Fatalf("%q: %v", lists, err)
		}
		if !slices.Equal(a, lists[0]) || !slices.Equal(b, lists[1]) {
			t.Errorf("%q came back as %q, %q", lists, a, b)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, data := range []string{"", "1", "1\x00", "-1\x00", "99999999999\x00", "x\x00", "0\x00", "0\x000\x00more"} {
		var a, b []string
		if Unmarshal([]byte(data), &a, &b) == nil {
			t.Errorf("%q was taken for two lists: %q, %q", data, a, b)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte("1\x00a\x000\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b []string
		if Unmarshal(data, &a, &b) != nil {
			return
		}
		var a2, b2 []string
		if err := Unmarshal(Marshal(a, b), &a2, &b2); err != nil || !slices.Equal(a, a2) || !slices.Equal(b, b2) {
			t.Errorf("%q: %q, %q became %q, %q, %v", data, a, b, a2, b2, err)
		}
	})
}
