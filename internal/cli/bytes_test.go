package cli

import "testing"

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0K", 491520: "480.0K", 1 << 20: "1.0M", 1<<20 - 1: "1.0M", 5 << 40: "5.0T"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes: %s, not %s", n, got, want)
		}
	}
}
