package paths

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		path, dir string
		want      bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/", "/", true}, {"/a", "/", true},
	} {
		if got := WithinAny(test.path, []string{"/x", test.dir}); got != test.want {
			t.Errorf("%s within %s: %v", test.path, test.dir, got)
		}
	}
}

func TestResolve(t *testing.T) {
	top := Resolve(t.TempDir())
	if err := os.Mkdir(filepath.Join(top, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"link": "dir", "link/none/x": "dir/none/x", "none/../link": "dir", "none": "none"} {
		if got := Resolve(top + "/" + path); got != filepath.Join(top, want) {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
