package fs

import "testing"

// An owner with other ids in the mount than on the host shows with the former, and is kept with the latter.
func TestOwnerAppearsAsAnother(t *testing.T) {
	s := newSession(t)
	host, guest, other := Caller{UID: 7, GID: 8}, Caller{UID: 1000, GID: 1001}, Caller{UID: 33, GID: 34}
	s.overlay.owner = &host
	s.overlay.Appear(guest)
	kept := func(ino Ino) Caller {
		a := s.overlay.nodes[ino].in.Attr
		return Caller{UID: a.UID, GID: a.GID}
	}
	for _, c := range []struct{ by, want Caller }{{guest, host}, {other, other}, {Caller{UID: 1000, GID: 34}, Caller{UID: 7, GID: 34}}} {
		e, err := s.overlay.Mkdir(c.by, RootIno, "d", 0o755)
		s.must(err)
		if shown := (Caller{UID: e.Attr.UID, GID: e.Attr.GID}); shown != guest || kept(e.Ino) != c.want {
			t.Errorf("by %v: shown as %v, kept as %v, want %v", c.by, shown, kept(e.Ino), c.want)
		}
		// chown(2), by whoever may.
		e, err = s.overlay.Setattr(guest, e.Ino, SetAttr{UID: &other.UID, GID: &other.GID})
		s.must(err)
		if kept(e.Ino) != other {
			t.Errorf("given to %v, kept as %v", other, kept(e.Ino))
		}
		_, err = s.overlay.Setattr(guest, e.Ino, SetAttr{UID: &guest.UID, GID: &guest.GID})
		s.must(err)
		if kept(e.Ino) != host {
			t.Errorf("taken back, kept as %v", kept(e.Ino))
		}
		s.overlay.Forget(e.Ino, 1)
		s.must(s.rmdir("d"))
	}
}
