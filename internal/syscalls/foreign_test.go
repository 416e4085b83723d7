package syscalls

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		audit uint32
		nr    uint64
		want  string
	}{
		{AuditI386, 5, "open"}, {AuditI386, 295, "openat"}, {AuditI386, 1, "exit"}, {AuditI386, 222, ""}, {AuditI386, 1 << 40, ""},
		{AMD64.Audit, X32Bit | 257, "openat"}, {AMD64.Audit, X32Bit | 520, "execve"}, {AMD64.Audit, X32Bit | 9999, ""},
		{AuditARM, 248, "exit_group"}, {1, 1, ""},
	} {
		if got := Foreign(tc.audit, tc.nr); got != tc.want {
			t.Errorf("%#x, %d: %q, want %q", tc.audit, tc.nr, got, tc.want)
		}
	}
}

// The names are those of golang.org/x/sys/unix, which come from the kernel's headers.
func TestTableI386(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "zsysnum_linux_386.go"))
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_([A-Z0-9_]+)\s+= (\d+)$`).FindAllStringSubmatch(string(source), -1) {
		nr, _ := strconv.ParseUint(m[2], 10, 64)
		if got := Foreign(AuditI386, nr); got != strings.ToLower(m[1]) {
			t.Errorf("%d is %q, want %s", nr, got, strings.ToLower(m[1]))
		}
		known++
	}
	if known < 400 {
		t.Errorf("%d calls are compared", known)
	}
}
