package held

import "testing"

func TestBare(t *testing.T) {
	dir := func(names ...string) (p Parts) {
		for _, n := range names {
			p.Add(n)
		}
		return p
	}
	none, head, repo := dir(), dir("HEAD"), dir("HEAD", "objects", "refs")
	for _, c := range []struct {
		rel        string
		isDir      bool
		now, after Parts
		held       bool
	}{
		{"x/HEAD", false, none, repo, true}, {"x/head", false, none, dir("head", "Refs"), true}, {"x/HEAD", false, none, dir("HEAD", "commondir"), true},
		{"x/HEAD", false, none, head, false}, {"HEAD", false, none, repo, true}, {"x/HEAD", false, repo, repo, false},
		{"x/objects", true, none, repo, false}, {"x/objects", true, head, repo, true}, {"x/Refs", true, head, repo, true}, {"x/refs/heads/main", false, head, repo, true},
		{"x/objects/aa/bb", false, repo, repo, false}, {"x/config", false, repo, repo, true}, {"x/config", false, none, head, false}, {"x/commondir", false, head, dir("HEAD", "commondir"), true},
		{"x/hooks/update", false, repo, repo, true}, {"x/objects/info/alternates", false, repo, repo, true}, {"x/HE\u00adAD", false, none, repo, true}, {"src/hooks/use.ts", false, none, none, false}, {"x/info/attributes", false, repo, repo, true},
		{"x/hooks", true, repo, repo, false}, {".git/HEAD", false, none, repo, false}, {".git/refs/remotes/origin/HEAD", false, none, repo, false},
		{"x/config/app.json", false, repo, repo, false}, {"x/main.go", false, repo, repo, false},
	} {
		got := Bare(c.rel, c.isDir, func(string) (now, after Parts) { return c.now, c.after })
		if (got != "") != c.held {
			t.Errorf("%s, with %+v now and %+v afterwards: %q", c.rel, c.now, c.after, got)
		}
	}
}
