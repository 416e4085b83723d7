package fs

import (
	"syscall"
	"testing"
)

// The home and the workspace open for a session whatever mode they have, and only they; the database
// keeps that mode.
func TestHomeAndWorkspaceOpen(t *testing.T) {
	s := newSession(t)
	s.overlay.owner = &Caller{UID: 1000, GID: 1000}
	s.must(s.mkdir("other", 0o755))
	s.must(s.mkdir("other/"+workspace, 0o755))
	s.must(s.mkdir(workspace+"/sub", 0o755))
	none := uint32(0)
	for path, want := range map[string]uint32{"": 0o700, workspace: 0o700, "other": 0, "other/" + workspace: 0, workspace + "/sub": 0} {
		s.must(s.setattr(path, SetAttr{Mode: &none}))
		if mode := s.stat(path).Attr.Mode &^ syscall.S_IFMT; mode != want {
			t.Errorf("%q shows mode %o, want %o", path, mode, want)
		}
	}
	if mode := s.overlay.nodes[RootIno].in.Attr.Mode; mode != syscall.S_IFDIR {
		t.Errorf("the database keeps mode %o of the home", mode)
	}
	// What comes into the workspace's place opens too.
	s.must(s.rename(workspace, "moved"))
	s.must(s.mkdir(workspace, 0))
	if mode := s.stat(workspace).Attr.Mode; mode != syscall.S_IFDIR|0o700 {
		t.Errorf("the new workspace shows mode %o", mode)
	}
	if mode := s.stat("moved").Attr.Mode; mode != syscall.S_IFDIR {
		t.Errorf("the one before shows mode %o", mode)
	}
	s.overlay.owner = nil
	if mode := s.stat("").Attr.Mode; mode != syscall.S_IFDIR {
		t.Errorf("an inspector sees mode %o of the home", mode)
	}
}
