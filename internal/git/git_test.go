package git

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesOfReferences(t *testing.T) {
	for name, want := range map[string]bool{
		"refs/heads/main": true, "refs/heads/a/b": true, "refs/heads/main.art": true,
		"refs/heads/../../config": false, "refs/heads/x.lock": false, "refs/heads/.x": false, "HEAD": false, "refs/heads/a b": false,
		"refs/heads/": false, "refs//heads": false, "refs/heads/" + strings.Repeat("x", 300): false,
	} {
		if validRef(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	for _, name := range []string{"refs/replace/x", "refs/bisect/bad", "refs/stash", "refs/worktree/x"} {
		if ours(name) {
			t.Errorf("%q comes over", name)
		}
	}
}

func TestPathsOfTrees(t *testing.T) {
	for name, want := range map[string]bool{"a/b": true, ".gitignore": true, "a/../b": false, ".git/config": false, "a/.GIT/x": false, "/a": false, "": false} {
		if validPath(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestReflogsAreJoined(t *testing.T) {
	line := func(s string) logLine { return logLine{rest: s} }
	h, g := []logLine{line("1"), line("h")}, []logLine{line("1"), line("g")}
	own := lacks(h, g)
	if got := joinLogs(h, own, false); !slices.Equal(got, []logLine{line("1"), line("h"), line("g")}) {
		t.Error(got)
	}
	if got := joinLogs(h, own, true); !slices.Equal(got, []logLine{line("1"), line("g"), line("h")}) {
		t.Error(got)
	}
}

func TestWhatIsGits(t *testing.T) {
	for rel, want := range map[string]bool{
		"HEAD": true, "index": true, "refs/heads/x": true, "objects/ab/cd": true, "logs/HEAD": true, "index.lock": true, "rebase-merge/git-rebase-todo": true,
		"config": false, "hooks/pre-commit": false, "info/exclude": false, "objects/info/alternates": false, "commondir": false, "modules/x/config": false, "lfs/objects/x": false,
	} {
		if Owns(rel) != want {
			t.Errorf("%s: %v", rel, !want)
		}
	}
}
