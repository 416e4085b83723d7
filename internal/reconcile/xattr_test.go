package reconcile

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// File systems differ in how long an extended attribute may be, and the database takes 64 KiB: one that does not fit is named,
// and all else is pulled, once.
func TestAttributeTooLargeForTheHost(t *testing.T) {
	b := newBench(t)
	b.write("tagged", "old")
	b.push()
	long := strings.Repeat("v", 60<<10)
	b.guest(func(g *guest) {
		g.setXattr("tagged", "user.long", long)
		g.setXattr("tagged", "user.short", "v")
		g.write("made", "new")
		g.setXattr("made", "user.long", long)
		g.write("other", "new")
	})
	_, told := b.pull(b.ws)
	wantContent(t, b.path("other"), "new")
	wantContent(t, b.path("made"), "new")
	for _, name := range []string{"tagged", "made"} {
		n, err := unix.Getxattr(b.path(name), "user.long", nil)
		if fits := err == nil && n == len(long); fits == strings.Contains(told, "ws/"+name+": the extended attribute user.long is left out") {
			t.Errorf("%s has %d bytes of it, %v; printed:\n%s", name, n, err, told)
		}
	}
	value := make([]byte, 8)
	if n, err := unix.Getxattr(b.path("tagged"), "user.short", value); err != nil || string(value[:n]) != "v" {
		t.Errorf("user.short is %q, %v", value[:max(n, 0)], err)
	}
	if again, told := b.pull(b.ws); strings.Contains(again, "FILE") || told != "" {
		t.Errorf("pulled again:\n%s%s", again, told)
	}
}
