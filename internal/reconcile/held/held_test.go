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
		".git/commondir", ".git/gitdir", "sub/.git", ".git/worktrees/x/gitdir", ".git/worktrees/x/commondir", ".git/objects/info/alternates",
		".git/modules/a/b/commondir", ".config/art/sandbox.json", "x/.CONFIG/art/trust", "mise.local.toml", "lefthook.json", ".lefthook-local.yml",
		".venv/lib/python3.11/site-packages/evil.pth", "sitecustomize.py", "node_modules/x/.git/config", ".venv/bin/python3", "binding.gyp",
		".kateproject.local", ".v\u017fcode/tasks.json", ".g\u200cit/config", ".git/con\ufb01g", ".GIT/config. ", ".git./hooks/x", ".\ufeffenvrc", ".vscode/node_modules/x",
		".vscode/tasks.sample", ".vscode/.git/hooks/x.sample", ".husky/x.sample", ".git/hooks/sub/x.sample", ".github/hooks/x.sample", ".git/hooks/x.sample/y",
		".git/remotes/origin", ".git/branches/x", ".git/modules/a/b/remotes/x", ".git/modules/refs/branches/x", "sub/.lfsconfig",
		".git/worktrees/w/rebase-merge/git-rebase-todo", ".git/modules/a/sequencer/todo", ".git/modules/a/worktrees/w/rebase-apply/x",
	} {
		if Why(path) == "" {
			t.Errorf("%s is not held back", path)
		}
	}
	for _, path := range []string{
		"main.go", ".git/HEAD", ".git/refs/heads/config2", ".git/hooks/pre-commit.sample", "hooks/pre-commit", "config", ".gitignore",
		"vscode/x", ".git/modules/config", ".git/index", ".github/workflows/ci.yml", "package.json", "AGENTS.md", "CLAUDE.md",
		"node_modules/x/package.json", "node_modules/x/.vscode/settings.json", "node_modules/x/.npmrc", "node_modules/.bin/x", "model.pth",
		"a/node_modules/@s/x/binding.gyp", ".venv/lib/python3.11/site-packages/pkg/.envrc", "lefthook", ".tool-versions",
		".git/modules/a/b/hooks/x.sample", ".git/HOOKS/x.Sample", ".git/refs/remotes/origin/main", ".git/modules/a/refs/remotes/origin/main",
		".git/modules/a/b/logs/refs/remotes/origin/main", ".git/modules/a/refs/heads/branches/x", "remotes/x", "branches/x", "sequencer/x",
	} {
		if why := Why(path); why != "" {
			t.Errorf("%s is held back: %s", path, why)
		}
	}
}

func TestAbove(t *testing.T) {
	for _, path := range []string{".config", "a/.git/info", ".git/worktrees/x", ".yarn", ".bundle", ".git/modules", ".git/modules/x", ".local/share", ".GIT"} {
		if Above(path) == "" {
			t.Errorf("a link at %s is let through", path)
		}
	}
	for _, path := range []string{"src", "a/b", "README", "config", "node_modules/.bin", ".git/refs"} {
		if why := Above(path); why != "" {
			t.Errorf("a link at %s is held back: %s", path, why)
		}
	}
}

// TestRules finds what each pattern is about, at the top and below, in either case.
func TestRules(t *testing.T) {
	for _, r := range Table {
		if r.Tool == "" || r.Why == "" || r.Source == "" || len(r.Patterns) == 0 {
			t.Errorf("%+v: something is missing", r)
		}
		for _, p := range r.Patterns {
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
		{"package.json", `{}`, `{"scripts":{"postinstall":"x"},"Scripts":null}`, true},
		{"package.json", `{}`, `{"scripts":{"postinstall":"x"},"scripts":{}}`, true},
		{"package.json", `{}`, `{"scripts":{},"scripts":{"postinstall":"x"}}`, true},
		{"package.json", `{}`, `{"scripts":{"postinstall":"x","PostInstall":null}}`, true},
		{"package.json", `{}`, "\xef\xbb\xbf" + `{"scripts":{"\u0070ostinstall":"x"}}`, true},
		{"package.json", `{}`, `{"\u017fcripts":{"postinstall":"x"}}`, true},
		{"package.json", `{}`, "\xef\xbb\xbf" + `{"scripts":{"test":"x"}}`, false},
		{"package.json", `{"scripts":{"prepare":"x"}}`, `{"scripts":{}}`, true},
		{"package.json", `{"scripts":{"prepare":"x"}}`, `{"scripts":[{"a":1}]}`, true},
		{"package.json", `{}`, `[1]`, false},
		{"package.json", `{}`, `{"packageManager":"yarn@https://x/y.js"}`, true},
		{"package.json", `{}`, `{"dependencies":{"x":"1"},"scripts":{"build":"y"}}`, false},
		{"package.json", `{"pnpm": {"a": 1}}`, `{ "pnpm":{"a":1}, "name": "x" }`, false},
		{"pac\u212aage.json", `{}`, `{"scripts":{"install":"x"}}`, true},
		{"PACKAGE.json", `{}`, `{"scripts":{"install":"x"}}`, true},
		{"node_modules/x/package.json", ``, `{"scripts":{"postinstall":"x"}}`, false},
		{"composer.json", `{}`, `{"scripts":{"post-install-cmd":"x"}}`, true},
		{"a/composer.json", `{}`, `{"config":{"allow-plugins":true}}`, true},
		{"composer.json", `{"config":{"a":1},"scripts":{"test":"x"}}`, `{"require":{"a/b":"1"},"config": {"a": 1},"scripts":{"test":"y","postinstall":"z"}}`, false},
		{"vendor/a/b/composer.json", ``, `{"scripts":{"post-install-cmd":"x"}}`, false},
		{".tool-versions", "go 1.2\n", "go 1.3\n", false},
		{".tool-versions", "go 1.2\n", "go path:./evil\n", true},
		{".gitattributes", "", "*.go text\n", false},
		{".gitattributes", "*.bin filter=lfs\n", "*.go text\n*.bin filter=lfs\n", false},
		{"x/.gitattributes", "", "*.c filter=evil\n", true},
		{".gitattributes", "*.bin filter=lfs\n*.bin -filter\n", "*.bin filter=lfs\n", true},
		{".gitattributes", "*.bin filter=lfs\n", "*.bin filter=lfs\n*.png binary\n*.go -diff\n", false},
		{".gitattributes", "[attr]lfs filter=lfs\n", "[attr]lfs filter=lfs\n*.c lfs\n", true},
		{".gitattributes", "", "\"\\133attr]x\" text\n*.c x\n", true},
		{".gitattributes", "*.a filter=x\n*.b text\n", "*.b text\n", true},
		{".gitattributes", "*.c filter=x\n*.c mac\n", "*.c filter=x\n*.c mac\n*.c !mac\n", true},
		{".gitattributes", "# filter=x\n", "# filter=y\n* text=auto eol=lf\n*.ipynb linguist-vendored\n", false},
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

// FuzzPaths proves that no path that a guest can make does harm to who asks about it.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"\u200c", "a/\u200c/b", ".", "...", ". ./x", "\xff", "\u200c/.git", "objects/\u00ad", "*/[", "HEAD"} {
		f.Add(s)
	}
	n := newTestNames(nil)
	n.AddGit([]byte("[core]\n\thooksPath = a/b\n"), "/g", "")
	f.Fuzz(func(t *testing.T, rel string) {
		if rel == "" || strings.HasPrefix(rel, "/") || strings.HasSuffix(rel, "/") || strings.Contains(rel, "//") {
			return
		}
		folded := fold(rel)
		if strings.Count(folded, "/") != strings.Count(rel, "/") || strings.Contains("/"+folded+"/", "//") {
			t.Fatalf("%q becomes %q", rel, folded)
		}
		if again := fold(folded); again != folded {
			t.Fatalf("%q becomes %q, and then %q", rel, folded, again)
		}
		Why(rel)
		Above(rel)
		Bare(rel, false, func(string) (now, after Parts) { return Parts{Head: true}, Parts{Head: true, Store: true} })
		Content(rel, nil, []byte(rel))
		n.Why(rel, false)
		Outward(rel, rel, func(at string) []string { return []string{at, rel} })
	})
}
