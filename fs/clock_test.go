package fs

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// What is written and what is touched get their times of one clock: nothing is ever older than what was changed before it.
func TestLaterChangeIsNeverOlder(t *testing.T) {
	m := newMounted(t)
	mtime := func(name string) sqlvfs.Timespec {
		var st unix.Stat_t
		m.must(t, unix.Lstat(m.at(name), &st))
		return sqlvfs.Timespec{Sec: st.Mtim.Sec, Nsec: int32(st.Mtim.Nsec)}
	}
	for range 200 {
		m.must(t, os.WriteFile(m.at("written"), []byte("x"), 0o644))
		written := mtime("written")
		m.must(t, os.WriteFile(m.at("touched"), nil, 0o644))
		m.must(t, unix.UtimesNanoAt(unix.AT_FDCWD, m.at("touched"), nil, 0))
		touched := mtime("touched")
		m.must(t, os.WriteFile(m.at("again"), []byte("x"), 0o644))
		again := mtime("again")
		if written.After(touched) || touched.After(again) {
			t.Fatalf("written at %v, another file touched afterwards at %v, a third one written at %v", written, touched, again)
		}
	}
}
