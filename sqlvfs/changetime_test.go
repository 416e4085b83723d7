package sqlvfs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// An inode that was changed never has the change time of its origin's object, by which it would count as unchanged: not when the host
// changes that in the same tick of the clock, before or afterwards.
func TestChangeTimeIsNotTheOrigins(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	tick := Now()
	tick.Sec++
	origin := &Origin{Base: "ws", Path: "f", Fingerprint: Fingerprint{Ctime: tick}}
	unchanged := func() bool { return in.Baseline().RowCtime == in.Attr.Ctime }
	step(s, func(tx *Tx) { tx.SetOrigin(in, origin) })
	step(s, func(tx *Tx) { must(t, tx.WriteAt(in, []byte("x"), 0, tick)) })
	if unchanged() {
		t.Error("it was written in the tick in which the host's was")
	}
	step(s, func(tx *Tx) {
		again := *origin
		again.Ctime = in.Attr.Ctime
		tx.Refer(in, &again)
	})
	if unchanged() {
		t.Error("it refers to a version of the tick in which it was written")
	}
	put(s, in)
	must(t, s.Close())
}

// Nor when a pull beside the session has put the host's object elsewhere in that tick.
func TestChangeTimeIsNotTheNewPlaces(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	was := Origin{Base: "ws", Path: "f", Fingerprint: Fingerprint{Ctime: Timespec{Sec: 1}}}
	step(s, func(tx *Tx) { tx.SetOrigin(in, &was) })
	step(s, func(tx *Tx) { in.Change(Now()); tx.Dirty(in) })
	is := Origin{Base: "ws", Path: "g", Fingerprint: Fingerprint{Ctime: in.Attr.Ctime}}
	step(s, func(tx *Tx) {
		must(t, tx.amendPlaces(&Changes{FirstIno: in.Ino, Places: []Place{{Was: was, Is: is}}}, &Amended{}))
	})
	if in.Origin.Path != "g" || in.Baseline().RowCtime == in.Attr.Ctime {
		t.Errorf("origin %+v, changed at %v", in.Origin, in.Attr.Ctime)
	}
	put(s, in)
	must(t, s.Close())
}
