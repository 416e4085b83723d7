package toolchain

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/locate"
)

// table says how each tool is found, and what of it is shown. Only what its programs need is: beside that, cargo, npm and
// others keep credentials.
var table = map[string]func(*builder){
	// https://github.com/nvm-sh/nvm
	"nvm": func(b *builder) {
		if !b.root("NVM_DIR", ".nvm") || !isDir(b.in("versions/node")) {
			return
		}
		b.see("")
		b.links("versions/node")
		b.set("NVM_DIR", b.tool.Dir)
		b.node(b.current(b.in("versions/node"), locate.Versions(b.in("versions/node"), "bin")...))
	},
	// https://github.com/Schniz/fnm
	"fnm": func(b *builder) {
		if !b.root("FNM_DIR", ".local/share/fnm", ".fnm") || !isDir(b.in("node-versions")) {
			return
		}
		b.see("node-versions", "aliases")
		b.set("FNM_DIR", b.tool.Dir)
		b.node(b.current(b.in("node-versions"), append([]string{b.in("aliases/default/bin")}, locate.Versions(b.in("node-versions"), "installation/bin")...)...))
	},
	// https://docs.volta.sh
	"volta": func(b *builder) {
		if !b.root("VOLTA_HOME", ".volta") || !isDir(b.in("bin")) {
			return
		}
		b.see("bin", "tools", "layout.v4", "hooks.json")
		b.set("VOLTA_HOME", b.tool.Dir)
		b.node(b.in("bin"))
	},
	// https://bun.sh/docs/installation
	"bun": func(b *builder) {
		if b.root("BUN_INSTALL", ".bun") {
			b.see("bin", "install/global")
			b.guest(".bun/bin")
			b.path(b.in("bin"))
		}
	},
	// https://docs.deno.com/runtime/reference/env_variables
	"deno": func(b *builder) {
		if b.root("DENO_INSTALL", ".deno") {
			b.see("bin")
			b.guest(".deno/bin")
			b.path(b.in("bin"))
		}
	},
	// https://github.com/pyenv/pyenv
	"pyenv": func(b *builder) {
		if b.root("PYENV_ROOT", ".pyenv") && isDir(b.in("versions")) {
			b.see("")
			b.links("versions", "bin")
			b.set("PYENV_ROOT", b.tool.Dir)
			b.guest(".local/bin")
			b.path(b.in("shims"), b.in("bin"))
		}
	},
	// https://docs.astral.sh/uv/concepts/storage
	"uv": func(b *builder) {
		if b.root("", ".local/share/uv") {
			b.see("python", "tools")
		}
		b.one(filepath.Join(b.home, ".local/bin"), "uv", "uvx")
		b.one(filepath.Join(b.home, ".cargo/bin"), "uv", "uvx")
		b.guest(".local/bin")
	},
	// https://pipx.pypa.io/stable/explanation/how-pipx-works
	"pipx": func(b *builder) {
		if b.root("PIPX_HOME", ".local/share/pipx", ".local/pipx") {
			b.see("venvs", "shared", "py")
			bin := filepath.Join(b.home, ".local/bin")
			if dir := b.Getenv("PIPX_BIN_DIR"); filepath.IsAbs(dir) {
				bin = filepath.Clean(dir)
			}
			b.leading(bin, b.tool.Dir)
		}
	},
	// https://rust-lang.github.io/rustup/environment-variables.html
	"rustup": func(b *builder) {
		if b.root("RUSTUP_HOME", ".rustup") && isDir(b.in("toolchains")) {
			b.see("toolchains", "settings.toml", "update-hashes")
			b.links("toolchains") // rustup toolchain link
			b.set("RUSTUP_HOME", b.tool.Dir)
		}
	},
	// https://doc.rust-lang.org/cargo/guide/cargo-home.html: what it downloads goes to the guest's own.
	"cargo": func(b *builder) {
		if b.root("CARGO_HOME", ".cargo") {
			b.see("bin")
			b.links("bin")
			b.guest(".cargo/bin")
			b.path(b.in("bin"))
		}
	},
	// https://go.dev/ref/mod#module-cache: what is there already is a proxy for the guest's own.
	"go": func(b *builder) {
		for _, dir := range append(filepath.SplitList(b.Getenv("PATH")), filepath.Join(b.home, ".local/go/bin"), filepath.Join(b.home, "sdk/go/bin")) {
			if strings.HasPrefix(dir, b.home+"/") && exists(filepath.Join(dir, "go")) {
				b.one(filepath.Clean(dir), "go", "gofmt")
				break
			}
		}
		if !b.root("GOPATH", "go") {
			return
		}
		b.see("bin", "pkg/mod/cache/download")
		b.links("bin")
		b.guest("go/bin")
		b.path(b.in("bin"))
		for _, name := range []string{"GOPRIVATE", "GONOPROXY", "GONOSUMDB"} { // or the names of private modules are told to others
			if value := b.goOwn(name); value != "" {
				b.set(name, value)
			}
		}
		if cache := b.in("pkg/mod/cache/download"); isDir(cache) && !strings.ContainsAny(cache, ",|%?# ") {
			if proxy := b.goProxy(); proxy != "" {
				b.set("GOPROXY", "file://"+cache+","+proxy)
			}
		}
	},
	// https://sdkman.io/usage
	"sdkman": func(b *builder) {
		if !b.root("SDKMAN_DIR", ".sdkman") || !isDir(b.in("candidates")) {
			return
		}
		b.see("candidates", "bin", "src", "libexec")
		b.set("SDKMAN_DIR", b.tool.Dir)
		candidates, _ := filepath.Glob(b.in("candidates/*")) // the pattern is well formed
		for _, dir := range candidates {
			b.links("candidates/" + filepath.Base(dir)) // sdk install CANDIDATE NAME PATH
		}
		current, _ := filepath.Glob(b.in("candidates/*/current/bin"))
		b.path(current...)
		if java := b.in("candidates/java/current"); isDir(java) {
			b.set("JAVA_HOME", java)
		}
	},
	// https://www.haskell.org/ghcup/guide
	"ghcup": func(b *builder) {
		if b.root("", ".ghcup") {
			b.see("bin", "ghc", "env")
			b.set("GHCUP_INSTALL_BASE_PREFIX", b.home)
			b.guest(".cabal/bin")
			b.path(b.in("bin"))
		}
	},
}

// node adds the directory of a version of Node.js, whose npm installs programs for all projects into the guest's home
// (npm-config(7), prefix).
func (b *builder) node(bin string) {
	b.guest(".local/bin")
	b.set("NPM_CONFIG_PREFIX", filepath.Join(b.Home, ".local"))
	b.path(bin)
}

// leading shows the links in a directory that lead into another.
func (b *builder) leading(dir, into string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	files, _ := f.Readdirnames(maxPrograms)
	real, err := filepath.EvalSymlinks(into)
	if err != nil {
		return
	}
	for _, file := range files {
		path := filepath.Join(dir, file)
		if to, err := filepath.EvalSymlinks(path); err == nil && strings.HasPrefix(to, real+"/") {
			b.one(dir, file)
		}
	}
}
