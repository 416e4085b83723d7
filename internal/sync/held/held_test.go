package held

import (
	"strings"
	"testing"
)

func TestWhy(t *testing.T) {
	for _, path := range []string{
		".git/hooks/pre-commit", "sub/.git/hooks/post-checkout", ".git/config", ".git/modules/a/b/config", ".git/modules/x/hooks/update",
		".envrc", "deep/er/.envrc", ".vscode/tasks.json", ".idea/workspace.xml", ".claude/settings.json", ".claude", ".mcp.json",
		".GIT/Hooks/pre-commit", "x.code-workspace", ".yarn/releases/yarn.cjs", ".bashrc", ".art/config/binds.json", "a/.cargo/config.toml",
	} {
		if Why(path) == "" {
			t.Errorf("%s is not held back", path)
		}
	}
	for _, path := range []string{
		"main.go", ".git/HEAD", ".git/refs/heads/config2", ".git/hooks/pre-commit.sample", "hooks/pre-commit", "config", ".gitignore",
		"vscode/x", ".git/modules/config", ".git/index", ".github/workflows/ci.yml", "package.json",
	} {
		if why := Why(path); why != "" {
			t.Errorf("%s is held back: %s", path, why)
		}
	}
}

// TestRules finds what each pattern is about, at the top and below, in either case.
func TestRules(t *testing.T) {
	for _, r := range rules {
		for _, p := range r.patterns {
			fits := strings.NewReplacer("**", "a/b", "*", "x").Replace(p)
			if strings.HasSuffix(p, "/") {
				fits += "in/it"
			}
			for _, at := range []string{fits, "a/b/" + fits, strings.ToUpper(fits)} {
				if Why(at) == "" {
					t.Errorf("%s: %s is not held back", p, at)
				}
			}
		}
	}
}

func TestContent(t *testing.T) {
	for _, c := range []struct {
		path, before, after string
		held                bool
	}{
		{"package.json", `{}`, `{"scripts": {"test": "x"}}`, false},
		{"package.json", `{"scripts": {"prepare": "x"}}`, `{"version": "2", "scripts": {"prepare": "x"}}`, false},
		{"a/package.json", ``, `{"scripts": {"postinstall": "curl"}}`, true},
		{"package.json", `{"scripts": {"prepare": "x"}}`, `{"scripts": {"prepare": "y"}}`, true},
		{"package.json", `{}`, `no JSON`, true},
		{".gitattributes", "", "*.go text\n", false},
		{".gitattributes", "*.bin filter=lfs\n", "*.go text\n*.bin filter=lfs\n", false},
		{"x/.gitattributes", "", "*.c filter=evil\n", true},
		{"main.go", "", "filter=x", false},
	} {
		if got := Content(c.path, []byte(c.before), []byte(c.after)); (got != "") != c.held {
			t.Errorf("%s: %q -> %q: %q", c.path, c.before, c.after, got)
		}
		if c.held && !Reads(c.path) {
			t.Errorf("%s is not read", c.path)
		}
	}
}
