package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAllowAlways(t *testing.T) {
	for _, c := range []struct{ before, rule, after, why string }{
		{`{"network": {"allow": ["a.org"]}}`, "b.org:443", `{"network": {"allow": ["a.org", "b.org:443"]}}`, ""},
		{"{\n  \"env\": [\"A\"],\n  \"network\": {\n    \"deny\": [ ],\n    \"allow\": [\n      \"a.org\",\n      \"c.org\"\n    ]\n  },\n  \"mode\": \"direct\"\n}\n", "b.org",
			"{\n  \"env\": [\"A\"],\n  \"network\": {\n    \"deny\": [ ],\n    \"allow\": [\n      \"a.org\",\n      \"c.org\",\n      \"b.org\"\n    ]\n  },\n  \"mode\": \"direct\"\n}\n", ""},
		{`{"network":{"allow":["a.org"]},"hide":["]}"]}`, "b.org", `{"network":{"allow":["a.org", "b.org"]},"hide":["]}"]}`, ""},
		{`{"network": {"ask": true}}`, "b.org", `{"network": {"allow": ["b.org"], "ask": true}}`, ""},
		{"{\"network\": {\n  \"ask\": true\n}}", "b.org", "{\"network\": {\n  \"allow\": [\"b.org\"],\n  \"ask\": true\n}}", ""},
		{`{"network": {"ask": true, "allow": [ ]}}`, "b.org", `{"network": {"ask": true, "allow": ["b.org" ]}}`, ""},
		{`{"network": {"allow": ["*.org"]}}`, "b.org", `{"network": {"allow": ["*.org"]}}`, ""},
		{`{"network": {"allow": ["a.org"], "deny": ["*.org:22"]}}`, "b.org:22", "", "is denied"},
		{`{"network": "none"}`, "b.org", "", `"none" by now`},
		{`{}`, "b.org", "", "nothing of the network"},
		{`{"network": {"allow": ["a.org"]}`, "b.org", "", "JSON"},
		{`// mine`, "b.org", "", "invalid character"},
		{`{"network": {"allow": ["a.org"], "allow": []}}`, "b.org", "", "twice"},
	} {
		dir := t.TempDir()
		target, link := filepath.Join(dir, "dotfiles"), filepath.Join(dir, "sandbox.json")
		if err := os.WriteFile(target, []byte(c.before), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("dotfiles", link); err != nil {
			t.Fatal(err)
		}
		err := AllowAlways(link, []string{c.rule})
		after, want := c.after, err == nil
		if c.why != "" {
			after, want = c.before, err != nil && strings.Contains(err.Error(), c.why)
		}
		got, _ := os.ReadFile(target)
		if !want || string(got) != after {
			t.Errorf("%s with %s: %v\n%s", c.before, c.rule, err, got)
		}
		info, err := os.Stat(target)
		entries, _ := os.ReadDir(dir)
		if _, isLink := os.Readlink(link); err != nil || info.Mode().Perm() != 0o640 || isLink != nil || len(entries) != 2 {
			t.Errorf("%s: mode %v, link %v, %v", c.before, info.Mode(), isLink, entries)
		}
	}
}
