package gitdir

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// Each kind of index that git writes is read, wherever in it the configuration is.
func TestTracks(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		git(t, dir, "init", "-q", "--object-format="+format)
		for i, name := range []string{"!", "-x", ".a", ".artful/x", ".b", "a", "sub/.art/config/x", "sub/x", strings.Repeat("l", 200) + "/" + strings.Repeat("m", 200)} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, fmt.Append(nil, i), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "add", ".")
		git(t, dir, "add", "-N", ".") // nothing more
		for _, version := range []string{"2", "3", "4"} {
			git(t, dir, "update-index", "--index-version", version)
			if Tracks(dir, ".art") {
				t.Errorf("%s version %s: nothing is tracked", format, version)
			}
			if !Tracks(filepath.Join(dir, "sub"), ".art") || Tracks(filepath.Join(dir, "other"), ".art") {
				t.Errorf("%s version %s: a directory within", format, version)
			}
			git(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+strings.Repeat("1", map[string]int{"sha1": 40, "sha256": 64}[format])+",.art/config/binds.json")
			git(t, dir, "update-index", "--skip-worktree", "a") // an extended entry
			if !Tracks(dir, ".art") {
				t.Errorf("%s version %s: it is tracked", format, version)
			}
			git(t, dir, "update-index", "--force-remove", ".art/config/binds.json")
		}
	}
}

func TestTrackedByWorktree(t *testing.T) {
	dir := t.TempDir()
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	if err := os.MkdirAll(filepath.Join(main, ".art"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(main, ".art/x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, main, "init", "-q")
	git(t, main, "add", ".")
	git(t, main, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x")
	git(t, main, "worktree", "add", "-q", tree)
	if !Tracks(tree, ".art") {
		t.Error("a worktree")
	}
	if err := os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+filepath.Join(main, ".git")), 0o644); err != nil {
		t.Fatal(err)
	}
	if Tracks(tree, ".art") {
		t.Error("a file that leads elsewhere")
	}
}

// Whatever is there in the place of an index ends with an answer.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"+strings.Repeat("\x00", 60)+"\x00\x06.art/x\x00\x00\x00\x00"), 20)
	f.Add([]byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff"+strings.Repeat("\x00", 60)+"\x00\x06\xff\xff\xff.art/x\x00"), 20)
	f.Fuzz(func(t *testing.T, text []byte, id int) {
		var last []byte
		_ = scanIndex(bufio.NewReader(bytes.NewReader(text)), 20+12*(id&1), func(name []byte) bool {
			if bytes.Compare(last, name) > 0 {
				t.Errorf("%q: out of order", text)
			}
			last = bytes.Clone(name)
			return true
		})
	})
}
