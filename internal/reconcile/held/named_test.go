package held

import (
	"errors"
	"testing"
)

func newTestNames(links map[string]string) *Names {
	return NewNames("/w", []string{"/home/u"}, func(p string) (string, error) {
		if to, ok := links[p]; ok {
			return to, nil
		}
		return "", errors.New("no such file")
	})
}

func TestGitNames(t *testing.T) {
	n := newTestNames(map[string]string{"/w/linked": "/w/real/place", "/home/u/hook": "/w/by/home"})
	includes := n.AddGit([]byte(`
[core]
	hooksPath = .githooks
	fsmonitor = tools/watch.sh --v2
	sshCommand = ssh -F ssh.conf
	attributesFile = "attr ibutes"
	worktree = /w/sub
[include]
	path = ../.gitshared
[includeIf "gitdir:~/x"]
	path = ~/more
[alias]
	co = checkout
	st = "!f() { ./scripts/st \\"$@\\"; }; f"
	al = !scripts/al --x
	ga = !cd gone && ./al2
	sp = "!'spa ce/al'"
	up = !$(git rev-parse --show-toplevel)/bin/up
[filter "x"]
	clean = python3 clean.py
	smudge = "'with space/smudge' %f"
[diff "y"]
	textconv = linked/conv
[merge "z"]
	driver = /w/Abs/Driver %O %A
[credential]
	helper = ~/hook
	helper = !creds/cred
	helper = "!f() { for i in helpers/*.sh; do . ./$i; done; }; f"
[submodule "s"]
	update = !upds/upd
[diff "re"]
	xfuncname = "^(src/.*)$"
[branch "main"]
	merge = refs/heads/main
[user]
	name = src/main
[init]
	defaultBranch = main
`), "/w/.git/config", "/w")
	if len(includes) != 2 || includes[0] != "/w/.gitshared" || includes[1] != "/home/u/more" {
		t.Errorf("included: %q", includes)
	}
	for _, rel := range []string{".githooks/pre-commit", ".GitHooks", ".githooks/a/b", "tools/watch.sh", "tools", "ssh.conf", "attr ibutes", ".gitshared", "scripts/st", "bin/up",
		"clean.py", "with space/smudge", "linked/conv", "abs/driver", "by/home",
		"scripts/al", "gone/al2", "spa ce/al", "creds/cred", "helpers/new.sh", "s/upds/upd"} {
		if n.Why(rel, false) == "" {
			t.Errorf("%s is not held back", rel)
		}
		if n.Why(rel, true) != "" {
			t.Errorf("the directory %s is held back", rel)
		}
	}
	for _, rel := range []string{"main", "src/main", "checkout", "sub/x", "refs/heads/main", "a/clean.py", "python3", "x", "bin/other", "src/x"} {
		if why := n.Why(rel, false); why != "" {
			t.Errorf("%s is held back: %s", rel, why)
		}
	}
	// Of what is for all repositories, relative paths count in each of them; a file that this reader cannot
	// read counts by its lines.
	n.AddGit([]byte("[core]\n\thooksPath = .hooks\n"), "/home/u/.gitconfig", "")
	n.AddGit([]byte("[core\n\tfsmonitor = odd/one\n[include]\npath = odd/two\n"), "/w/.git/config", "/w")
	for _, rel := range []string{".hooks/x", "a/b/.hooks/x", "odd/one", ".git/odd/two"} {
		if n.Why(rel, false) == "" {
			t.Errorf("%s is not held back", rel)
		}
	}
}

func TestScriptNames(t *testing.T) {
	n := newTestNames(nil)
	n.AddScript([]byte("#!/bin/sh\n# see docs/hooks.md\nexec \"$(dirname \"$0\")/../../scripts/check\" src || python run.py\nnpx lint\n"), "/w/.git/hooks", "x")
	n.AddEnvironment([]byte("export A=main\nsource_env env\nPATH_add bin\nuse flake\nlayout node\n. ./x.sh\n"), "/w/sub/.envrc")
	n.AddEnvironment([]byte("[env]\n_.path = [\"tools\", \"{{config_root}}/more\"]\n"), "/w/mise.toml")
	for _, rel := range []string{"scripts/check", ".git/hooks/run.py", "sub/env", "sub/bin/ls", "sub/flake.nix", "sub/node_modules/.bin/x", "sub/x.sh", "tools/x"} {
		if n.Why(rel, false) == "" {
			t.Errorf("%s is not held back", rel)
		}
	}
	for _, rel := range []string{"docs/hooks.md", "src/x", "sub/main", "node_modules/.bin/x", "main"} {
		if why := n.Why(rel, false); why != "" {
			t.Errorf("%s is held back: %s", rel, why)
		}
	}
}

func TestScriptDirectories(t *testing.T) {
	n := newTestNames(nil)
	n.AddScript([]byte(`#!/bin/sh
cd tools && ./x a.txt
(cd -P deeper; . y.sh)
cd "$(git rev-parse --show-toplevel)/abs" || exit
./z
for f in hooks.d/*.sh; do . ./$f; done
for f in "$ROOT"/more.d/?[0-9]; do sh $f; done
for f in *; do . ./$f; done
for f in check-*.sh ./lint?; do . ./$f; done
run-parts parts
for f in $(git diff --name-only -- '*.go' "*.ts" | grep 'src/.*\.go'); do gofmt -l "$f"; done
find . -name \*.rs
bash -c 'for f in later/*; do . $f; done'
case "$f" in
*.py) sh -n "$f";;
esac
`), "/w", "x")
	n.AddEnvironment([]byte("for f in env.d/*; do source $f; done\ncd in\n. ./it\n"), "/w/sub/.envrc")
	for _, rel := range []string{"tools/x", "tools/a.txt", "tools/new", "tools/deeper/y.sh", "deeper/y.sh", "abs/z", "hooks.d/new.sh", "hooks.d/deep/x", "more.d/01", "check-new.sh", "lint1",
		"parts/new", "later/x", "tools", "sub/env.d/x", "sub/in/it"} {
		if n.Why(rel, false) == "" {
			t.Errorf("%s is not held back", rel)
		}
	}
	for _, rel := range []string{"main.go", "src/main.go", "main.py", "tools/deep/main.c", "main.ts", "main.rs", "README.md", "check.sh", "src/check-x.sh", "env.d/x", "sub/y.sh", "parts2/x"} {
		if why := n.Why(rel, false); why != "" {
			t.Errorf("%s is held back: %s", rel, why)
		}
	}
}
