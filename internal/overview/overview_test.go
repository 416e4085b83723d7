package overview

import (
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

func TestForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "?", 0: "0s", 123456 * time.Microsecond: "120ms", 75 * time.Second: "1m15s", 3*time.Hour + 75*time.Second: "3h1m",
	} {
		if got := took(d); got != want {
			t.Errorf("%v: %s, not %s", d, got, want)
		}
	}
	for _, sec := range []int64{-1, 1 << 62} {
		if at := moment(&sqlvfs.Timespec{Sec: sec}); at != nil {
			t.Errorf("%d is %v", sec, at)
		}
	}
}
