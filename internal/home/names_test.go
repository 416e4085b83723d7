package home

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Workspaces of one base name have different names in a home, the same at each time.
func TestNames(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	one, two := useTest(t, "x"), useTest(t, "x")
	long := strings.Repeat("l", 255)
	for range 2 {
		for _, c := range []struct{ path, want string }{
			{"/a/app", "app"}, {"/b/app", "app-2"}, {"/c/app", "app-3"}, {"/a/app-2", "app-2-2"}, {"/a/other", "other"},
			{"/a/" + long, long}, {"/b/" + long, long[:253] + "-2"}, {"/a/a\nb", "a\nb"},
		} {
			for _, h := range []*Home{one, two} {
				if name, err := h.NameOf(c.path, filepath.Base(c.path)); err != nil || name != c.want {
					t.Errorf("%s is %q, %v, and not %q", c.path, name, err, c.want)
				}
			}
		}
	}
	// A record that was broken off is none.
	f, err := os.OpenFile(one.namesPath(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("half\x00/d/ha"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if name, err := one.NameOf("/d/app", "app"); err != nil || name != "app-4" {
		t.Errorf("after it: %q, %v", name, err)
	}
	list, err := two.names()
	if err != nil || len(list) != 9 || list[8] != (Named{"app-4", "/d/app"}) {
		t.Errorf("the list is %v, %v", list, err)
	}
	if err := os.WriteFile(one.namesPath(), []byte(strings.Repeat("x\x00", maxNames/2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := one.NameOf("/e/app", "app"); err == nil {
		t.Error("there is no bound")
	}
}
