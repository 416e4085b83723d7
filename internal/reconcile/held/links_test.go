package held

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOutward(t *testing.T) {
	links := map[string][]string{
		"deep/er/link": {"../.."}, "user": {"/etc"}, "up": {"../x"}, "loop": {"loop"}, "a": {"b"}, "b": {"c/d"}, "c/d": {"../user"},
		"two": {"src", "/home"}, "src/odd": {"x/../y"},
	}
	at := func(rel string) []string { return links[rel] }
	for _, c := range []struct {
		rel, target string
		out         bool
	}{
		{"x", "/etc/passwd", true}, {"x", "", false}, {"x", "y", false}, {"x", "./y//z/", false}, {"x", ".", false},
		{"x", "..", true}, {"a/x", "..", false}, {"a/x", "../y", false}, {"a/x", "../../y", true}, {"a/b/x", ".././../y", false},
		{"notes.txt", "deep/er/link/../.bashrc", true}, {"x", "y/../z", true}, {"x", "y/..", true},
		{"x", "deep/er/link", false}, {"x", "deep/er/link/deep", false}, {"x", "deep/er/link/user/passwd", true},
		{"x", "user", true}, {"x", "up/z", true}, {"x", "a", true}, {"x", "loop/y", false}, {"x", "two/y", true},
		{"x", "src/odd", true}, {"d/x", "../two", true},
	} {
		if got := Outward(c.rel, c.target, at); got != c.out {
			t.Errorf("%s -> %s: %t", c.rel, c.target, got)
		}
	}
	// A tree of links whose ways double at each step is given up.
	many := func(rel string) []string { return []string{rel + "x", rel + "y"} }
	if !Outward("l", "a", many) {
		t.Error("too many ways are let through")
	}
}

// TestNoLinkLeadsOut makes trees of directories and links in any order, brings those links that are not held
// back, and follows each as the kernel does: none leaves.
func TestNoLinkLeadsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		dirs := map[string]bool{".": true}
		links := map[string]string{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			// Physical directories only: pull makes nothing below a link.
			in := rapid.SampledFrom(sorted(dirs)).Draw(t, "in")
			at := path.Join(in, names.Draw(t, "name"))
			switch {
			case rapid.Bool().Draw(t, "dir"):
				if links[at] == "" {
					dirs[at] = true
				}
				continue
			case dirs[at]: // an exchange of a directory, with what is in it, for a link
				for d := range dirs {
					if d == at || strings.HasPrefix(d, at+"/") {
						delete(dirs, d)
					}
				}
				for l := range links {
					if strings.HasPrefix(l, at+"/") {
						delete(links, l)
					}
				}
			}
			target := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "a", "b", "c", "d", "e"}), 1, 6).Draw(t, "target"), "/")
			if !Outward(at, target, func(rel string) []string {
				if l, ok := links[rel]; ok {
					return []string{l}
				}
				return nil
			}) {
				links[at] = target
			}
		}
		for at := range links {
			if leaves(dirs, links, at) {
				t.Fatalf("%s -> %s leaves; links: %v", at, links[at], links)
			}
		}
	})
}

// leaves follows a path as path_resolution(7) says.
func leaves(dirs map[string]bool, links map[string]string, at string) bool {
	here, todo, followed := ".", strings.Split(at, "/"), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
		case "..":
			if here == "." {
				return true
			}
			here = path.Dir(here)
		default:
			next := path.Join(here, name)
			if target, ok := links[next]; ok {
				if followed++; followed > 40 {
					return false
				}
				todo = append(strings.Split(target, "/"), todo...)
				continue
			}
			if !dirs[next] {
				return false
			}
			here = next
		}
	}
	return false
}

func sorted(set map[string]bool) (list []string) {
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}
