package sysnum

import "testing"

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		arch *Arch
		name string
		nr   int
	}{
		{&AMD64, "read", 0}, {&AMD64, "open", 2}, {&AMD64, "openat", 257}, {&AMD64, "clone3", 435},
		{&ARM64, "read", 63}, {&ARM64, "openat", 56}, {&ARM64, "io_setup", 0}, {&ARM64, "clone3", 435},
	} {
		if nr, ok := tc.arch.Number(tc.name); !ok || nr != tc.nr {
			t.Errorf("%s: Number(%q) = %d, %v, want %d", tc.arch.GOARCH, tc.name, nr, ok, tc.nr)
		}
		if name := tc.arch.Name(uint64(tc.nr)); name != tc.name {
			t.Errorf("%s: Name(%d) = %q, want %q", tc.arch.GOARCH, tc.nr, name, tc.name)
		}
	}
}

func TestUnknown(t *testing.T) {
	if _, ok := ARM64.Number("open"); ok {
		t.Error("arm64 has a call named open")
	}
	if _, ok := ARM64.Number(""); ok {
		t.Error("an unassigned number was found by the empty name")
	}
	for nr, want := range map[uint64]string{400: "syscall_0x190", ^uint64(0): "syscall_0xffffffffffffffff"} {
		if got := AMD64.Name(nr); got != want {
			t.Errorf("Name(%d) = %q, want %q", nr, got, want)
		}
	}
}

// Every number of a table leads back to itself: no name stands twice.
func TestRoundTrip(t *testing.T) {
	for _, arch := range []*Arch{&AMD64, &ARM64} {
		for _, name := range arch.Names() {
			nr, _ := arch.Number(name)
			if back := arch.Name(uint64(nr)); back != name {
				t.Errorf("%s: %s is number %d, which is %s", arch.GOARCH, name, nr, back)
			}
		}
	}
}
