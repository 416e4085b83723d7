package gitdir

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// repositories makes one with a linked worktree, a submodule and a directory.
func repositories(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other", "repo"} {
		path := filepath.Join(dir, name)
		write(t, filepath.Join(path, "sub", "deep", "file"), "x")
		git(t, path, "init", "-q")
		git(t, path, "add", ".")
		git(t, path, "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")
	}
	repo := filepath.Join(dir, "repo")
	git(t, repo, "worktree", "add", "-q", filepath.Join(dir, "tree"))
	git(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(dir, "other"), "libs/mod")
	write(t, filepath.Join(repo, "untracked", "file"), "x")
	return dir
}

func TestFind(t *testing.T) {
	dir := repositories(t)
	for workspace, want := range map[string]Dir{
		"tree":          {Common: Place{Path: "repo/.git"}, Own: "repo/.git/worktrees/tree", Root: Place{Path: "tree"}},
		"tree/sub":      {Common: Place{Path: "repo/.git"}, Own: "repo/.git/worktrees/tree", Root: Place{Path: "tree"}},
		"repo/libs/mod": {Common: Place{Path: "repo/.git/modules/libs/mod"}, Own: "repo/.git/modules/libs/mod", Root: Place{Path: "repo/libs/mod"}},
		"repo/sub/deep": {Common: Place{Path: "repo/.git"}, Own: "repo/.git", Root: Place{Path: "repo"}},
	} {
		got, err := Find(filepath.Join(dir, workspace), nil)
		if err != nil || got == nil {
			t.Errorf("%s: %v, %v", workspace, got, err)
			continue
		}
		if got.Common.Path != filepath.Join(dir, want.Common.Path) || got.Own != filepath.Join(dir, want.Own) || got.Root.Path != filepath.Join(dir, want.Root.Path) {
			t.Errorf("%s: %+v", workspace, got)
		}
	}
	for _, workspace := range []string{"repo", "repo/untracked", ".", "repo/.git", "repo/.git/refs"} {
		if got, err := Find(filepath.Join(dir, workspace), nil); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", workspace, got, err)
		}
	}
	git(t, filepath.Join(dir, "repo"), "update-index", "--split-index")
	if got, err := Find(filepath.Join(dir, "repo/sub"), nil); got != nil || err == nil {
		t.Errorf("a split index: %+v, %v", got, err)
	}
	git(t, filepath.Join(dir, "repo"), "update-index", "--no-split-index")
	// A home that is a repository, or lies in one, is not for each workspace in it.
	for _, home := range []string{"repo", "repo/sub"} {
		if got, err := Find(filepath.Join(dir, "repo/sub/deep"), []string{filepath.Join(dir, home)}); got != nil || err != nil {
			t.Errorf("home %s: %+v, %v", home, got, err)
		}
	}
	files, err := Files(filepath.Join(dir, "repo/.git/index"))
	if got := slices.Sorted(maps.Keys(files)); err != nil || strings.Join(got, " ") != ".gitmodules libs libs/mod sub sub/deep sub/deep/file" {
		t.Errorf("%q, %v", got, err)
	}
}

// What a guest may have written names no directory that does not itself name the workspace.
func TestFindHostile(t *testing.T) {
	dir := repositories(t)
	write(t, filepath.Join(dir, "ssh/HEAD"), "secret")
	for _, name := range []string{"ssh/objects", "ssh/refs"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	workspace := filepath.Join(dir, "ws")
	fake := filepath.Join(workspace, "worktrees", "x") // a way back that a guest can make
	write(t, filepath.Join(fake, "gitdir"), filepath.Join(workspace, ".git"))
	write(t, filepath.Join(fake, "commondir"), dir+"/other/.git")
	write(t, filepath.Join(fake, "HEAD"), "ref: refs/heads/main")
	if err := os.Symlink(dir, filepath.Join(workspace, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "other/.git"), filepath.Join(workspace, "modules")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"gitdir: " + dir + "/ssh",
		"gitdir: ../ssh\n",
		"gitdir: " + dir + "/other/.git",
		"gitdir: " + dir + "/repo/.git/worktrees/tree",
		"gitdir: " + dir + "/repo/.git/modules/libs/mod",
		"gitdir: link/repo/.git/worktrees/tree",
		"gitdir: modules",
		"gitdir: worktrees/x",
		"gitdir: /", "gitdir: ", "gitdir", "", "gitdir: /proc/self/cwd", "gitdir: x\ny", "gitdir: x\x00",
	} {
		write(t, filepath.Join(workspace, ".git"), text)
		if got, err := Find(workspace, nil); got != nil || err == nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	// All of it is in the workspace.
	write(t, filepath.Join(fake, "commondir"), "../..")
	write(t, filepath.Join(workspace, ".git"), "gitdir: worktrees/x")
	if got, err := Find(workspace, nil); got != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A configuration that git would read in another way than the plain one that it writes leads nowhere.
func TestWorktreeOfConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"[core]\n\tbare = false\n\tworktree = ../../x\n[remote \"a\"]\n\tworktree = /y\n": "../../x",
		"[Core]\nWorkTree=/x":                          "/x",
		"[core \"x\"]\n\tworktree = /x\n":              "",
		"[core]\n\tworktree = \"/x\"\n":                "",
		"[core]\n\tworktree = /x \\\n y\n":             "",
		"[core]\n\tworktree = /x ; /y\n":               "",
		"[core]\n\tworktree = /x\n[core]worktree=/y\n": "/x",
	} {
		if got := worktree(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
