package inode

import "testing"

// Each change has a later change time than the one before, whatever the clock says.
func TestChange(t *testing.T) {
	a := Attr{Ctime: Timespec{5, 999_999_998}}
	for _, c := range []struct{ now, want Timespec }{
		{Timespec{5, 999_999_998}, Timespec{5, 999_999_999}}, // the clock has not ticked
		{Timespec{5, 0}, Timespec{6, 0}},                     // it is behind the host's
		{Timespec{6, 1}, Timespec{6, 1}},
		{Timespec{4, 7}, Timespec{6, 2}},
	} {
		if a.Change(c.now); a.Ctime != c.want {
			t.Errorf("at %v: %v, want %v", c.now, a.Ctime, c.want)
		}
	}
}
