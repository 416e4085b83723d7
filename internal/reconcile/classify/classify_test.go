package classify

import (
	"fmt"
	"testing"
)

// states are all the states that an object can be in, with two values of each aspect but content, which
// has three: the base's, and one of each side.
func states() (all []State) {
	all = append(all, State{})
	for _, kind := range []Kind{File, Dir, Symlink} {
		for content := range Content(3) {
			for _, mode := range []uint32{0o600, 0o644} {
				for uid := range uint32(2) {
					for _, xattrs := range []string{"", "user.a=b"} {
						all = append(all, State{kind, content, mode, Owner{uid, 0}, xattrs})
					}
				}
			}
		}
	}
	return all
}

// TestAll holds, for each combination of three states, what a decision promises.
func TestAll(t *testing.T) {
	list := states()
	for _, base := range list {
		for _, host := range list {
			for _, guest := range list {
				d := Classify(base, host, guest)
				if err := promises(d, base, host, guest); err != "" {
					t.Fatalf("base %v host %v guest %v: %+v: %s", base, host, guest, d, err)
				}
			}
		}
	}
}

func promises(d Decision, base, host, guest State) string {
	forHost, forGuest := d.Resolve(Host), d.Resolve(Guest)
	switch {
	case host == guest && (d.Conflict() || d.Pull() || d.Push()):
		return "there is work between equal sides"
	case host != guest && !d.Conflict() && !d.Pull() && !d.Push():
		return "there is no work between different sides"
	case guest == base && (d.Conflict() || d.Pull() || d.Merge(host, guest) != host):
		return "the host alone changed it, and its version does not count"
	case host == base && (d.Conflict() || d.Push() || d.Merge(host, guest) != guest):
		return "the guest alone changed it, and its version does not count"
	case forHost.Conflict() || forGuest.Conflict():
		return "a conflict is left though it was resolved"
	case d.Conflict() && (d.Host == 0 || d.Guest == 0):
		return "a conflict with a side that changed nothing"
	case d.Conflict() != Classify(base, guest, host).Conflict():
		return "a conflict seen from one side only"
	}
	// What no side changed stays, and what one changed is not lost unless the other's was chosen.
	merged := d.Merge(host, guest)
	if !d.Conflict() && host.Kind == guest.Kind {
		for _, c := range []Change{Written, Chmod, Chown, Xattr} {
			h, g, m := Changed(base, host)&c, Changed(base, guest)&c, Changed(base, merged)&c
			if base.Kind == host.Kind && m != h|g {
				return fmt.Sprintf("change %d: merged has %d", c, m)
			}
		}
	}
	return ""
}

var (
	file    = State{Kind: File, Mode: 0o644}
	written = State{Kind: File, Mode: 0o644, Content: 1}
	other   = State{Kind: File, Mode: 0o644, Content: 2}
	private = State{Kind: File, Mode: 0o600}
	public  = State{Kind: File, Mode: 0o666}
	dir     = State{Kind: Dir, Mode: 0o755}
	closed  = State{Kind: Dir, Mode: 0o700}
	link    = State{Kind: Symlink, Content: 2}
	none    = State{}
)

// TestTable are the cases that a reader asks about, in words.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		what              string
		base, host, guest State
		conflict          string // in words
		merged            State  // if there is none
	}{
		{"nobody did anything", file, file, file, "", file},
		{"the guest made it", none, none, file, "", file},
		{"the host made it", none, file, none, "", file},
		{"both made it, equal", none, written, written, "", written},
		{"both made it", none, written, other, "made by the guest and made on the host", none},
		{"both made it, with other modes", none, private, public, "made by the guest and made on the host", none},
		{"both made it, of other kinds", none, dir, file, "made by the guest and made on the host", none},
		{"the guest wrote", file, file, other, "", other},
		{"both wrote the same", file, written, written, "", written},
		{"both wrote", file, written, other, "changed by the guest and changed on the host", none},
		{"both deleted", file, none, none, "", none},
		{"the guest deleted", file, file, none, "", none},
		{"deleted and written", file, written, none, "deleted by the guest and changed on the host", none},
		{"written and deleted", file, none, other, "changed by the guest and deleted on the host", none},
		{"deleted, and a new mode", file, private, none, "deleted by the guest and changed on the host", none},
		{"chmod on one side, written on the other", file, private, other, "", State{Kind: File, Mode: 0o600, Content: 2}},
		{"written on one side, chmod on the other", file, written, private, "", State{Kind: File, Mode: 0o600, Content: 1}},
		{"both chmod, equal", file, private, private, "", private},
		{"both chmod", file, private, public, "mode changed by the guest and changed on the host", none},
		{"a directory's mode", dir, dir, closed, "", closed},
		{"another kind", file, file, link, "", link},
		{"another kind, and written", file, written, link, "changed by the guest and changed on the host", none},
		{"both another kind", file, dir, link, "changed by the guest and changed on the host", none},
		{"another kind, and deleted", file, none, dir, "changed by the guest and deleted on the host", none},
	} {
		d := Classify(c.base, c.host, c.guest)
		switch {
		case d.Conflict() != (c.conflict != ""):
			t.Errorf("%s: %+v", c.what, d)
		case d.Conflict() && d.Why() != c.conflict:
			t.Errorf("%s: %q, not %q", c.what, d.Why(), c.conflict)
		case !d.Conflict() && d.Merge(c.host, c.guest) != c.merged:
			t.Errorf("%s: merged %+v", c.what, d.Merge(c.host, c.guest))
		}
	}
}

func TestUnknownXattrs(t *testing.T) {
	base, host, guest := file, file, file
	base.Xattrs, host.Xattrs = Unknown, "user.a=b"
	if d := Classify(base, host, guest); d.Xattrs != Conflict {
		t.Errorf("%+v", d)
	}
	if d := Classify(base, guest, guest); d.Conflict() || d.Pull() || d.Push() {
		t.Errorf("%+v", d)
	}
}

func TestContents(t *testing.T) {
	for _, c := range []struct{ host, guest, equal, conflict bool }{
		{false, false, false, false}, {true, false, false, false}, {false, true, false, false},
		{true, true, true, false}, {true, true, false, true},
	} {
		compared := false
		h, g := Contents(c.host, c.guest, func() bool { compared = true; return c.equal })
		if compared != (c.host && c.guest) {
			t.Errorf("%+v: compared: %v", c, compared)
		}
		if conflict := Of(0, h, g) == Conflict; conflict != c.conflict {
			t.Errorf("%+v: %d and %d", c, h, g)
		}
	}
}

// Merge is what a decision means: what both sides are to have. Where there is a conflict, it is the host's.
func (d Decision) Merge(host, guest State) State {
	if d.Kind == Guest {
		return guest
	}
	if d.Content == Guest {
		host.Content = guest.Content
	}
	if d.Mode == Guest {
		host.Mode = guest.Mode
	}
	if d.Owner == Guest {
		host.Owner = guest.Owner
	}
	if d.Xattrs == Guest {
		host.Xattrs = guest.Xattrs
	}
	return host
}
