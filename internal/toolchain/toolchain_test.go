package toolchain

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What each tool brings, given the files of a home.
func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		files, env        []string
		see, dirs, values string
	}{
		"nvm":    {[]string{".nvm/versions/node/v9.1.0/bin/node", ".nvm/versions/node/v22.1.0/bin/node"}, nil, "~/.nvm", "/guest/.local/bin ~/.nvm/versions/node/v22.1.0/bin", "NVM_DIR=~/.nvm NPM_CONFIG_PREFIX=/guest/.local"},
		"fnm":    {[]string{".local/share/fnm/node-versions/v22/installation/bin/node"}, nil, "~/.local/share/fnm/node-versions", "/guest/.local/bin ~/.local/share/fnm/node-versions/v22/installation/bin", "FNM_DIR=~/.local/share/fnm NPM_CONFIG_PREFIX=/guest/.local"},
		"volta":  {[]string{"v/bin/node"}, []string{"VOLTA_HOME=~/v"}, "~/v/bin", "/guest/.local/bin ~/v/bin", "VOLTA_HOME=~/v NPM_CONFIG_PREFIX=/guest/.local"},
		"bun":    {[]string{".bun/bin/bun", ".bun/install/cache/x"}, nil, "~/.bun/bin", "/guest/.bun/bin ~/.bun/bin", ""},
		"deno":   {[]string{".deno/bin/deno"}, nil, "~/.deno/bin", "/guest/.deno/bin ~/.deno/bin", ""},
		"pyenv":  {[]string{".pyenv/versions/3.12/bin/python", ".pyenv/shims/python"}, nil, "~/.pyenv", "/guest/.local/bin ~/.pyenv/shims", "PYENV_ROOT=~/.pyenv"},
		"uv":     {[]string{".local/share/uv/python/x", ".local/bin/uv", ".local/bin/other"}, nil, "~/.local/share/uv/python ~/.local/bin/uv", "~/.local/bin /guest/.local/bin", ""},
		"pipx":   {[]string{".local/share/pipx/venvs/a/bin/a", ".local/bin/other"}, nil, "~/.local/share/pipx/venvs ~/.local/bin/a", "~/.local/bin", ""},
		"rustup": {[]string{".rustup/toolchains/stable/bin/rustc", ".rustup/tmp/x"}, nil, "~/.rustup/toolchains", "", "RUSTUP_HOME=~/.rustup"},
		"cargo":  {[]string{".cargo/bin/cargo", ".cargo/credentials.toml"}, nil, "~/.cargo/bin", "/guest/.cargo/bin ~/.cargo/bin", ""},
		"go":     {[]string{"sdk/bin/go", "go/bin/x", "go/pkg/mod/cache/download/x"}, []string{"PATH=~/sdk/bin", "GOPROXY=off"}, "~/go/bin ~/go/pkg/mod/cache/download ~/sdk/bin/go", "~/sdk/bin /guest/go/bin ~/go/bin", "GOPROXY=file://~/go/pkg/mod/cache/download,off"},
		"sdkman": {[]string{".sdkman/candidates/java/current/bin/java"}, nil, "~/.sdkman/candidates", "~/.sdkman/candidates/java/current/bin", "SDKMAN_DIR=~/.sdkman JAVA_HOME=~/.sdkman/candidates/java/current"},
		"ghcup":  {[]string{".ghcup/bin/ghc", ".ghcup/cache/x"}, nil, "~/.ghcup/bin", "/guest/.cabal/bin ~/.ghcup/bin", "GHCUP_INSTALL_BASE_PREFIX=~"},
		"~/bin":  {[]string{"bin/a", "bin/b"}, nil, "~/bin/a ~/bin/b", "~/bin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range test.files {
				path := filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if name == "pipx" {
				if err := os.Symlink("../share/pipx/venvs/a/bin/a", filepath.Join(home, ".local/bin/a")); err != nil {
					t.Fatal(err)
				}
			}
			h := &Host{Home: "/guest", Getenv: func(variable string) string {
				if variable == "HOME" {
					return home
				}
				for _, kv := range test.env {
					if value, ok := strings.CutPrefix(kv, variable+"="); ok {
						return strings.ReplaceAll(value, "~", home)
					}
				}
				return ""
			}}
			tool := h.Find(name)
			if tool == nil {
				t.Fatal("it is not found")
			}
			line := func(list []string) string { return strings.ReplaceAll(strings.Join(list, " "), home, "~") }
			for what, values := range map[string][2]string{
				"to see": {line(slices.Concat(tool.See, tool.Programs)), test.see}, "PATH": {line(tool.Dirs), test.dirs}, "variables": {line(tool.Values), test.values},
			} {
				if values[0] != values[1] {
					t.Errorf("%s:\n got %s\nwant %s", what, values[0], values[1])
				}
			}
			if (&Host{Home: "/guest", Getenv: func(variable string) string {
				if variable == "HOME" {
					return t.TempDir()
				}
				return ""
			}}).Find(name) != nil {
				t.Error("it is found in an empty home")
			}
		})
	}
	for name := range table {
		if !slices.Contains(names, name) {
			t.Errorf("%s is in the table alone", name)
		}
	}
}

// What leads out of a tool's directory is told apart from what stays in it, and from what leads nowhere.
func TestLinks(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".rustup/toolchains/stable", "src/stage1"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"dev": "../../src/stage1", "absolute": home + "/src", "same": "stable", "up": "..", "root": "../../.rustup", "gone": "none", "loop": "loop"} {
		if err := os.Symlink(text, filepath.Join(home, ".rustup/toolchains", name)); err != nil {
			t.Fatal(err)
		}
	}
	h := &Host{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	want := []string{home + "/.rustup/toolchains/absolute", home + "/.rustup/toolchains/dev"}
	if got := h.Find("rustup").Links; !slices.Equal(got, want) {
		t.Errorf("%q lead out", got)
	}
}

// Without GOPROXY, go's own default is in its root, and `go env -w` writes to a file of the user's.
func TestGoProxy(t *testing.T) {
	home := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		file = filepath.Join(home, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"PATH": filepath.Join(home, "bin")}
	b := &builder{Host: &Host{Home: home, Getenv: func(name string) string { return env[name] }}, home: home}
	want := func(proxy string) {
		t.Helper()
		if got := b.goProxy(); got != proxy {
			t.Errorf("modules come from %q, want %q", got, proxy)
		}
	}
	want("")
	write("sdk/bin/go", "")
	write("sdk/go.env", "# defaults\nGOSUMDB=off\nGOPROXY=https://modules.example.org,direct\n")
	if err := os.Symlink("sdk/bin", filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	want("https://modules.example.org,direct")
	write(".config/go/env", "GOPROXY=direct\n")
	want("direct")
	write(".config/go/env", "GOPROXY=https://me:word@modules.example.org/x|https://b.example.org,direct\n")
	want("https://modules.example.org/x|https://b.example.org,direct")
	write(".config/go/env", "GOPROXY=https://me:%zz@modules.example.org,direct\n")
	want("off,direct")
	write("xdg/go/env", "GOPROXY=https://xdg.example.org\n")
	env["XDG_CONFIG_HOME"] = filepath.Join(home, "xdg")
	want("https://xdg.example.org")
	write("goenv", "GOPROXY=https://goenv.example.org\n")
	env["GOENV"] = filepath.Join(home, "goenv")
	want("https://goenv.example.org")
	env["GOENV"] = "off"
	want("https://modules.example.org,direct")
	env["GOPROXY"] = "https://token@modules.example.org"
	want("https://modules.example.org")
}
