package syscalls

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

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

// The table has the calls of golang.org/x/sys/unix, whose constants are generated from the kernel's headers, by the same
// numbers, and none twice.
func TestTable(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Fatal(err)
	}
	constant := regexp.MustCompile(`(?m)^\s+SYS_([A-Z0-9_]+)\s+= (\d+)$`)
	for _, arch := range []*Arch{&AMD64, &ARM64} {
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "zsysnum_linux_"+arch.GOARCH+".go"))
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]int{}, map[string]int{}
		for _, m := range constant.FindAllSubmatch(source, -1) {
			want[strings.ToLower(string(m[1]))], _ = strconv.Atoi(string(m[2]))
		}
		delete(want, "arch_specific_syscall") // a range reserved for private calls, not a call
		for i := range table {
			if nr := arch.number(&table[i]); nr != none {
				got[table[i].Name] = nr
			}
		}
		for name, nr := range want {
			if back := arch.Name(uint64(nr)); back != name {
				t.Errorf("%s: %s is number %d, which is %s", arch.GOARCH, name, nr, back)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the table's numbers are others than those of x/sys", arch.GOARCH)
		}
	}
	if len(byName()) != len(table) {
		t.Error("a call is in the table twice")
	}
}
