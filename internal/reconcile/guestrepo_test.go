package reconcile

import (
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// Both agree no earlier than the later of the guest's row and the host's file; of what is outdated only the latter tells.
func TestSeenUntil(t *testing.T) {
	at := func(sec int64) (p sqlvfs.Timespec) { p.Sec = sec; return p }
	for _, test := range []struct {
		row, ino        int64
		host, rowChange int64
		want            int64
	}{
		{0, 5, 10, 20, 20}, // hidden later
		{3, 5, 10, 20, 20}, // written by the guest, and what the host has is older
		{3, 5, 30, 20, 30}, // pulled
		{3, 5, 20, 20, 20}, // pushed, with the host's time
		{3, 0, 10, 20, 10}, // outdated
		{3, 0, 0, 20, 0},   // outdated, and nobody knows
		{0, 5, 10, 0, 10},
	} {
		b := &sqlvfs.Baseline{Row: sqlvfs.Ino(test.row), RowCtime: at(test.rowChange)}
		b.Ino, b.Ctime = uint64(test.ino), at(test.host)
		got := int64(0)
		until := seenUntil(b)
		if !until.IsZero() {
			got = until.Unix()
		}
		if got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
		if written := test.row != 0 && test.ino != 0 && test.host >= test.rowChange; written != (until.Nanosecond() != 0) {
			t.Errorf("%+v: %v: with the time in which the branch follows the index: %v", test, until, !written)
		}
	}
}
