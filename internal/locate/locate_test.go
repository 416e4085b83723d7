package locate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files and links below a home: "path", "path -> text", or "path: text". A file is a program.
func tree(t *testing.T, entries ...string) (home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		e = strings.ReplaceAll(e, "~", home)
		path, text, link := strings.Cut(e, " -> ")
		if !link {
			path, text, _ = strings.Cut(e, ": ")
		}
		if !strings.HasPrefix(path, "/") {
			path = filepath.Join(home, path)
		}
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			if link {
				err = os.Symlink(text, path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o700)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func host(home string, env ...string) *Host {
	return &Host{Getenv: func(name string) string {
		for _, kv := range append(env, "HOME="+home) {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return strings.ReplaceAll(value, "~", home)
			}
		}
		return ""
	}}
}

// The ways in which agents are installed, each with what has to be seen, in the order of what leads to it.
func TestFind(t *testing.T) {
	const node = "#!/usr/bin/env node"
	for name, test := range map[string]struct {
		tree, env []string
		see, dirs string
		values    string
	}{
		"nvm": {
			tree: []string{".nvm/versions/node/v9.1/bin/agent: old", ".nvm/versions/node/v22.1/bin/node: ELF", ".nvm/versions/node/v22.1/lib/node_modules/@a/b/cli.js: " + node,
				".nvm/versions/node/v22.1/bin/agent -> ../lib/node_modules/@a/b/cli.js"},
			see:  "~/.nvm/versions/node/v22.1/bin/agent ~/.nvm/versions/node/v22.1 ~/.nvm/versions/node/v22.1/bin/node",
			dirs: "~/.nvm/versions/node/v22.1/bin",
		},
		"fnm, by a shell's own link": {
			tree: []string{".local/share/fnm/node-versions/v22/installation/bin/node: ELF", ".local/share/fnm/node-versions/v22/installation/lib/node_modules/b/cli.js: " + node,
				".local/share/fnm/node-versions/v22/installation/bin/agent -> ../lib/node_modules/b/cli.js", "run/fnm_multishells/1_2 -> ~/.local/share/fnm/node-versions/v22/installation"},
			env:  []string{"PATH=~/run/fnm_multishells/1_2/bin"},
			see:  "~/.local/share/fnm/node-versions/v22/installation/bin/agent ~/.local/share/fnm/node-versions/v22/installation ~/.local/share/fnm/node-versions/v22/installation/bin/node",
			dirs: "~/.local/share/fnm/node-versions/v22/installation/bin",
		},
		"volta": {
			tree:   []string{".volta/bin/volta-shim: ELF", ".volta/bin/agent -> volta-shim"},
			see:    "~/.volta/bin/agent ~/.volta",
			dirs:   "~/.volta/bin",
			values: "VOLTA_HOME=~/.volta",
		},
		"npm's prefix, named in .npmrc": {
			tree: []string{".npmrc: prefix=~/packages", "packages/lib/node_modules/b/cli.js: " + node, "packages/bin/agent -> ../lib/node_modules/b/cli.js", "n/bin/node: ELF"},
			env:  []string{"PATH=~/n/bin"},
			see:  "~/packages/bin/agent ~/packages/lib/node_modules ~/n/bin/node",
			dirs: "~/packages/bin ~/n/bin",
		},
		"bun": {
			tree: []string{".bun/bin/bun: ELF", ".bun/install/global/node_modules/b/cli.js: #!/usr/bin/env bun", ".bun/bin/agent -> ../install/global/node_modules/b/cli.js"},
			see:  "~/.bun/bin/agent ~/.bun/install/global/node_modules ~/.bun/bin/bun",
			dirs: "~/.bun/bin",
		},
		"pnpm": {
			tree: []string{".local/share/pnpm/global/5/.pnpm/b@1/node_modules/b/cli.js: " + node, ".local/share/pnpm/agent: #!/bin/sh", ".local/share/pnpm/node: ELF"},
			see:  "~/.local/share/pnpm/agent ~/.local/share/pnpm",
			dirs: "~/.local/share/pnpm",
		},
		"native": {
			tree: []string{".local/share/agent/versions/2.1: ELF", ".local/bin/agent -> ~/.local/share/agent/versions/2.1"},
			see:  "~/.local/bin/agent ~/.local/share/agent/versions/2.1",
			dirs: "~/.local/bin",
		},
		"native, beside its programs": {
			tree: []string{".opencode/bin/agent: ELF"},
			env:  []string{"PATH=~/.opencode/bin"},
			see:  "~/.opencode/bin/agent",
			dirs: "~/.opencode/bin",
		},
		"a script in the program's own directory": {
			tree: []string{".claude/local/agent: #!/bin/bash"},
			see:  "~/.claude/local/agent ~/.claude/local",
			dirs: "~/.claude/local",
		},
		"pipx, with Python of pyenv": {
			tree: []string{".pyenv/versions/3.12/bin/python3.12: ELF", ".pyenv/versions/3.12/lib/python3.12/x: ", "venvs/agent/pyvenv.cfg: home = ~/.pyenv/versions/3.12/bin",
				"venvs/agent/bin/python -> ~/.pyenv/versions/3.12/bin/python3.12", "venvs/agent/bin/agent: #!~/venvs/agent/bin/python", ".local/bin/agent -> ~/venvs/agent/bin/agent"},
			see:  "~/.local/bin/agent ~/venvs/agent ~/venvs/agent/bin/python ~/.pyenv/versions/3.12",
			dirs: "~/.local/bin",
		},
		"uv, with a Python of uv's and a long path": {
			tree: []string{"uv/python/cpython-3.12.1/bin/python3.12: ELF", "uv/python/cpython-3.12.1/lib/python3.12/x: ", "uv/python/cpython-3.12 -> cpython-3.12.1", "uv/tools/agent/pyvenv.cfg: home = ~/uv/python/cpython-3.12/bin",
				"uv/tools/agent/bin/python -> ~/uv/python/cpython-3.12/bin/python3.12", "uv/tools/agent/bin/agent: #!/bin/sh\n'''exec' '~/x' \"$0\"", ".local/bin/agent -> ~/uv/tools/agent/bin/agent",
				"uv/tools/agent/bin/python3 -> python"},
			see:  "~/.local/bin/agent ~/uv/tools/agent",
			dirs: "~/.local/bin",
		},
		"a link into a directory of the user's": {
			tree: []string{"Documents/backup.sh: #!/bin/sh", "Documents/tax: x", ".local/bin/agent -> ../../Documents/backup.sh"},
			see:  "~/.local/bin/agent ~/Documents/backup.sh",
			dirs: "~/.local/bin",
		},
		"a link into a project": {
			tree: []string{"proj/bin/t: #!/bin/sh", "proj/lib/x: ", "proj/.env: KEY=x", ".local/bin/agent -> ~/proj/bin/t"},
			see:  "~/.local/bin/agent ~/proj/bin/t",
			dirs: "~/.local/bin",
		},
		"a directory in PATH": {
			tree: []string{"notes/agent: ELF", "notes/diary: x"},
			env:  []string{"PATH=~/notes"},
			see:  "~/notes/agent",
			dirs: "~/notes",
		},
		"somebody's shims": {
			tree: []string{"work/shims/agent: ELF", "work/x: "},
			env:  []string{"PATH=~/work/shims"},
			see:  "~/work/shims/agent",
			dirs: "~/work/shims",
		},
		"an installation with a name of patterns": {
			tree: []string{"opt/py[1]/bin/agent: ELF", "opt/py[1]/lib/python3.12/x: "},
			env:  []string{"PATH=~/opt/py[1]/bin"},
			see:  "~/opt/py[1]/bin/agent ~/opt/py[1]",
			dirs: "~/opt/py[1]/bin",
		},
		"pyenv's shim": {
			tree:   []string{".pyenv/shims/agent: #!/usr/bin/env bash"},
			see:    "~/.pyenv/shims/agent ~/.pyenv",
			dirs:   "~/.pyenv/shims",
			values: "PYENV_ROOT=~/.pyenv",
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := tree(t, test.tree...)
			p := host(home, test.env...).Find("none", "agent")
			if p == nil {
				t.Fatal("it is not found")
			}
			line := func(list []string) string { return strings.ReplaceAll(strings.Join(list, " "), home, "~") }
			see := slices.DeleteFunc(slices.Clone(p.See), func(path string) bool { return !strings.HasPrefix(path, home) })
			dirs := slices.DeleteFunc(slices.Clone(p.Dirs), func(path string) bool { return !strings.HasPrefix(path, home) })
			if got := line(see); got != test.see {
				t.Errorf("to see:\n got %s\nwant %s", got, test.see)
			}
			if got := line(dirs); got != test.dirs {
				t.Errorf("PATH: got %s, want %s", got, test.dirs)
			}
			if got := line(p.Values); got != test.values {
				t.Errorf("variables: got %s, want %s", got, test.values)
			}
		})
	}
}

func TestParseShebang(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ELF": "", "#!": "", "#! \n": "", "#!python\n": "",
		"#!/bin/sh -e\necho": "/bin/sh", "#! /usr//bin/python3 \n": "/usr/bin/python3",
		"#!/usr/bin/env node\n": "node named", "#!/usr/bin/env -S node --x\n": "node named", "#!/usr/bin/env -Snode --x\n": "node named",
		"#!/usr/bin/env -S A=b node\n": "node named", "#!/usr/bin/env /opt/node\n": "/opt/node", "#!/usr/bin/env\n": "", "#!/bin/env -i\n": "",
		"#!/bin/sh\n'''exec' \"/a b/python\" \"$0\" \"$@\"\n": "/a b/python", "#!/bin/sh\n'''exec' /a/python \"$0\"\n": "/a/python",
		"#!/bin/sh\n'''exec' ": "/bin/sh", "#!/bin/sh\n'''exec' \"": "/bin/sh", "#!/a\x00b\n": "",
	} {
		got, named := parseShebang([]byte(text))
		if named {
			got += " named"
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzParseShebang(f *testing.F) {
	f.Add([]byte("#!/usr/bin/env -S A=b node\n"))
	f.Add([]byte("#!/bin/sh\n'''exec' \"/a b/python\" \"$0\" \"$@\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, named := parseShebang(text)
		if got != "" && (strings.ContainsRune(got, 0) || filepath.Clean(got) != got || filepath.IsAbs(got) == named) {
			t.Errorf("%q: got %q, named %v", text, got, named)
		}
	})
}

func TestHops(t *testing.T) {
	home := tree(t, "a/b/file: x", "link -> a/b", "a/up -> ../link/file", "loop -> loop", "gone -> nowhere/x")
	links, real, err := Hops(home + "/a/up")
	if err != nil || real != home+"/a/b/file" || len(links) != 2 || links[0] != (Link{home + "/a/up", "../link/file"}) || links[1] != (Link{home + "/link", "a/b"}) {
		t.Errorf("got %v, %s, %v", links, real, err)
	}
	for _, path := range []string{"/loop", "/gone", "/none/x", "/a/b/file/x"} {
		if _, _, err := Hops(home + path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
