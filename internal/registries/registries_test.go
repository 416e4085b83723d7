package registries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/netrule"
)

// user is one with some files, and variables.
func user(t *testing.T, files map[string]string, environ ...string) *User {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range environ {
		environ[i] = strings.ReplaceAll(environ[i], "ROOT", root)
	}
	return &User{
		Environ: environ, Home: filepath.Join(root, "home"), Root: root,
		Getenv: func(name string) string {
			for _, kv := range environ {
				if n, v, _ := strings.Cut(kv, "="); n == name {
					return v
				}
			}
			return ""
		},
		Guest: func(path string) bool { return strings.HasPrefix(path, filepath.Join(root, "guest")) },
	}
}

// find returns the rules of one tool, those that are configured with a +, and its warnings without the directory of the test.
func find(u *User, tool string) (rules []string, warnings string) {
	places, errs := Find(u)
	for _, p := range places {
		if p.Tool != tool {
			continue
		}
		if p.Configured {
			p.Rule += "+"
		}
		if !slices.Contains(rules, p.Rule) {
			rules = append(rules, p.Rule)
		}
	}
	for _, err := range errs {
		if text, ok := strings.CutPrefix(err.Error(), tool+": "); ok {
			warnings += strings.ReplaceAll(text, u.Root, "") + "\n"
		}
	}
	slices.Sort(rules)
	return rules, warnings
}

func TestFind(t *testing.T) {
	type files = map[string]string
	const nothing = ": nothing of it is allowed\n"
	for name, c := range map[string]struct {
		tool     string
		files    files
		environ  []string
		want     string
		warnings string
	}{
		"npm by default": {tool: "npm", want: "registry.npmjs.org:443"},
		"npm": {tool: "npm", files: files{
			"home/.npmrc": "; mine\nregistry = \"https://npm.corp.example/all/\"\n@a:registry=http://localhost:4873\n//npm.corp.example/:_authToken=${NOTHING}\n[x]\nregistry=https://no.example\n",
			"etc/npmrc":   "registry=https://not.example\n@b:registry=http://10.0.0.7:4873/\n",
		}, want: "10.0.0.7:4873+ host:4873+ npm.corp.example:443+"},
		"npm with a token": {tool: "npm", files: files{"home/.npmrc": "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n//proxy.example/:_password=${NOT}\n"},
			want: "registry.npmjs.org:443"},
		"npm with a scope of a variable": {tool: "npm", files: files{"home/.npmrc": "@a:registry=https://${WHERE}/\n"}, warnings: `/home/.npmrc:1: the variable "WHERE" is not set` + nothing},
		"npm by a variable": {tool: "npm", environ: []string{"NPM_CONFIG_REGISTRY=https://${HOST}", "npm_config_registry=https://env.example"},
			files: files{"home/.npmrc": "registry=https://npm.corp.example\n"}, warnings: `$NPM_CONFIG_REGISTRY: "https://${HOST}" is no address of a registry` + nothing},
		"npm with a variable in a file": {tool: "npm", environ: []string{"WHERE=npm.example:8443"}, files: files{"home/.npmrc": "registry=https://me:secret@${WHERE}/${NOT?}\n"}, want: "npm.example:8443+"},
		"npm without that variable":     {tool: "npm", files: files{"home/.npmrc": "\nregistry=https://${WHERE}/\n"}, warnings: `/home/.npmrc:2: the variable "WHERE" is not set` + nothing},
		"npm by way of a proxy": {tool: "npm", files: files{"home/.npmrc": "https-proxy=http://u:p@proxy.example:3128\n"}, want: "registry.npmjs.org:443",
			warnings: "/home/.npmrc:1: it fetches by way of proxy.example:3128, which leads to anything: name it if the session is to have that\n"},
		"npm of the guest": {tool: "npm", environ: []string{"NPM_CONFIG_USERCONFIG=ROOT/guest/npmrc"}, files: files{"guest/npmrc": "registry=https://evil.example\n"},
			warnings: "/guest/npmrc: it lies where a guest may have written it" + nothing},
		"npm of a relative path":   {tool: "npm", environ: []string{"NPM_CONFIG_USERCONFIG=npmrc"}, warnings: "npmrc: the path is not absolute" + nothing},
		"npm at another's tongue":  {tool: "npm", files: files{"home/.npmrc": "registry=javascript:alert(1)\n"}, warnings: `/home/.npmrc:1: "javascript:alert(1)" is no address of a registry` + nothing},
		"npm without its password": {tool: "npm", files: files{"home/.npmrc": "registry=gopher://me:secret@a.example\n"}, warnings: `/home/.npmrc:1: "a.example" is no address of a registry` + nothing},
		"npm at the metadata":      {tool: "npm", files: files{"home/.npmrc": "registry=http://169.254.169.254/\n"}, warnings: "/home/.npmrc:1: no registry is at 169.254.169.254" + nothing},
		"npm called host":          {tool: "npm", files: files{"home/.npmrc": "registry=http://host:22/\n"}, warnings: `/home/.npmrc:1: a name "host" cannot be told from the host's loopback` + nothing},
		"npm that is no text":      {tool: "npm", files: files{"home/.npmrc": "registry=https://a.example\x00\n"}, warnings: "/home/.npmrc: it is not a text" + nothing},
		"npm with all names":       {tool: "npm", files: files{"home/.npmrc": "registry=https://*\n"}, warnings: `/home/.npmrc:1: "https://*" is no address of a registry` + nothing},

		"pip by default": {tool: "pip", want: "files.pythonhosted.org:443 pypi.org:443"},
		"pip": {tool: "pip", files: files{
			"home/.config/pip/pip.conf": "[global]\nindex_url = https://pip.corp.example/simple\nextra-index-url =\n\thttps://one.example/simple\n    http://192.168.1.4:8080\n[install]\nfind-links: /srv/wheels\n",
			"etc/pip.conf":              "[global]\nindex-url=https://not.example\n",
		}, want: "192.168.1.4:8080+ one.example:443+ pip.corp.example:443+"},
		"pip with one more":  {tool: "pip", environ: []string{"PIP_EXTRA_INDEX_URL=https://test.pypi.org/simple"}, want: "files.pythonhosted.org:443 pypi.org:443 test-files.pythonhosted.org:443 test.pypi.org:443+"},
		"pip of nothing":     {tool: "pip", environ: []string{"PIP_NO_INDEX=1"}, want: ""},
		"pip that is broken": {tool: "pip", files: files{"etc/pip.conf": "[global\n"}, warnings: "/etc/pip.conf:1: the section has no end" + nothing},
		"pip with a rest":    {tool: "pip", files: files{"etc/pip.conf": "  https://a.example\n"}, warnings: "/etc/pip.conf:1: it goes on with nothing" + nothing},
		"uv": {tool: "pip", files: files{"home/.config/uv/uv.toml": "extra-index-url = ['https://a.example']\n[[index]]\nurl = \"https://b.example:8443/simple\"\ndefault = true # not pypi\n"},
			want: "a.example:443+ b.example:8443+"},
		"uv by variables":   {tool: "pip", environ: []string{"UV_INDEX=corp=https://a.example https://b.example/?x=1"}, want: "a.example:443+ b.example:443+ files.pythonhosted.org:443 pypi.org:443"},
		"uv that is broken": {tool: "pip", files: files{"home/.config/uv/uv.toml": "a = 1\n[[index]\n"}, warnings: "/home/.config/uv/uv.toml:2: the name of a table has no end" + nothing},

		"cargo by default": {tool: "cargo", want: "index.crates.io:443 static.crates.io:443"},
		"cargo": {tool: "cargo", files: files{
			"home/.cargo/config.toml":                                  "[source.crates-io]\nreplace-with = 'a'\n[source]\na = {replace-with = \"b\"}\nb.registry = \"sparse+https://mirror.example/index/\"\n[registries.corp]\nindex = \"ssh://git@git.corp.example/index\"\n",
			"home/.cargo/registry/index/mirror.example-0a/config.json": `{"dl": "https://files.example/{crate}/{version}", "api": "https://api.example"}`,
			"home/.cargo/registry/index/other.example-0a/config.json":  `{"dl": "https://no.example/"}`,
		}, want: "files.example:443 git.corp.example:22+ mirror.example:443+"},
		"cargo of a directory": {tool: "cargo", files: files{"home/.cargo/config": "[source]\ncrates-io = {replace-with = 'v'}\nv = {directory = 'vendor'}\n"}, want: ""},
		"cargo in a circle":    {tool: "cargo", files: files{"home/.cargo/config": "[source]\na = {replace-with = 'crates-io'}\ncrates-io = {replace-with = 'a'}\n"}, warnings: `/home/.cargo/config: the source "crates-io" is in its own place` + nothing},
		"cargo by git":         {tool: "cargo", environ: []string{"CARGO_REGISTRIES_CRATES_IO_PROTOCOL=git", "CARGO_REGISTRIES_X_INDEX=sparse+http://127.0.0.1:8000/"}, want: "github.com:443 host:8000+ static.crates.io:443"},
		"cargo to the host": {tool: "cargo", files: files{
			"home/.cargo/config.toml":                            "registries.x.index = 'sparse+https://x.example/'",
			"home/.cargo/registry/index/x.example-1/config.json": `{"dl": "http://127.0.0.1:5432/"}`,
		}, want: "index.crates.io:443 static.crates.io:443 x.example:443+"},
		"cargo that is broken": {tool: "cargo", files: files{"home/.cargo/config.toml": "\n\n[a]\nb = \"x"}, warnings: "/home/.cargo/config.toml:4: a string has no end" + nothing},

		"go by default": {tool: "go", want: "proxy.golang.org:443 sum.golang.org:443"},
		"go": {tool: "go", files: files{"home/.config/go/env": "GOPROXY=https://goproxy.corp.example|http://[fd12::1]:3000,direct\nGOSUMDB=sum.golang.org https://goproxy.corp.example/sum\nGOPRIVATE=github.com/corp,*.corp.example,*/x\n"},
			want:     "*.corp.example:443+ [fd12::1]:3000+ github.com:443+ goproxy.corp.example:443+",
			warnings: "/home/.config/go/env:3: no host can be told from the pattern \"*/x\": name it if the session is to reach it\n"},
		"go without":         {tool: "go", environ: []string{"GOPROXY=off"}, want: ""},
		"go without sums":    {tool: "go", environ: []string{"GOSUMDB=off", "GOENV=off"}, files: files{"home/.config/go/env": "GOPROXY=https://a.example\n"}, want: "proxy.golang.org:443"},
		"go with other sums": {tool: "go", environ: []string{"GOSUMDB=sums.example+0a+Ab/c=", "GOPROXY=direct"}, want: "sums.example:443+"},
		"go with no sums":    {tool: "go", environ: []string{"GOSUMDB=a b c"}, warnings: `$GOSUMDB: "a b c" is no database of checksums` + nothing},

		"apt by default": {tool: "apt", want: ""},
		"apt": {tool: "apt", files: files{
			"etc/apt/sources.list":               "# old\ndeb [arch=amd64 signed-by=/a b] http://deb.example/debian stable main # x\ndeb-src\thttps://src.example stable main\ndeb cdrom:[Debian]/ stable main\n",
			"etc/apt/sources.list.d/a.sources":   "Types: deb\nURIs: https://one.example/\n  http://10.9.0.1:3142/debian\nSuites: x\n\nEnabled: no\nURIs: https://off.example\n\n# c\nURIs: mirror+file:/etc/apt/mirrors.txt\n",
			"etc/apt/sources.list.d/b.list.save": "deb https://no.example x y\n",
			"etc/apt/mirrors.txt":                "https://mirror.example/debian\tpriority:1\n\n#x\n",
		}, want: "10.9.0.1:3142+ deb.example:80+ mirror.example:443+ one.example:443+ src.example:443+"},
		"apt by way of a proxy": {tool: "apt", files: files{"etc/apt/apt.conf.d/01p": "Acquire {\n http {\n  Proxy \"http://10.0.0.1:3142\"; // x\n }\n}\nAcquire::https::Proxy \"DIRECT\";\n"},
			warnings: "/etc/apt/apt.conf.d/01p:3: it fetches by way of 10.0.0.1:3142, which leads to anything: name it if the session is to have that\n"},
		"apt that is broken":     {tool: "apt", files: files{"etc/apt/sources.list.d/x.list": "rpm https://a.example x\n"}, warnings: `/etc/apt/sources.list.d/x.list:1: "rpm" is no kind of source` + nothing},
		"apt with half a source": {tool: "apt", files: files{"etc/apt/sources.list": "deb [a https://a.example x\n"}, warnings: "/etc/apt/sources.list:1: the options have no end" + nothing},
		"apt with half a stanza": {tool: "apt", files: files{"etc/apt/sources.list.d/x.sources": "URIs\n"}, warnings: "/etc/apt/sources.list.d/x.sources:1: it is no field" + nothing},
	} {
		t.Run(name, func(t *testing.T) {
			rules, warnings := find(user(t, c.files, c.environ...), c.tool)
			if got := strings.Join(rules, " "); got != c.want || warnings != c.warnings {
				t.Errorf("it found %q and said %q; want %q, %q", got, warnings, c.want, c.warnings)
			}
		})
	}
}

// What is no file, or too large, brings nothing, and nobody waits for it.
func TestFindRefuses(t *testing.T) {
	u := user(t, map[string]string{"home/.config/go/env": strings.Repeat("#", maxFile+1), "guest/x": "registry=https://evil.example\n"})
	if err := os.Mkdir(filepath.Join(u.Home, ".npmrc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]string{"npm": "it is not a regular file", "go": "larger than"} {
		if rules, warnings := find(u, tool); rules != nil || !strings.Contains(warnings, want) {
			t.Errorf("%s found %q and said %q", tool, rules, warnings)
		}
	}
	if err := os.Remove(filepath.Join(u.Home, ".npmrc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(u.Root, "guest/x"), filepath.Join(u.Home, ".npmrc")); err != nil {
		t.Fatal(err)
	}
	if rules, warnings := find(u, "npm"); rules != nil || !strings.Contains(warnings, "a guest may have written it") {
		t.Errorf("behind a link, npm found %q and said %q", rules, warnings)
	}
	many := user(t, map[string]string{"etc/apt/sources.list": strings.Repeat("deb https://a.example x y\n", maxPlaces+1)})
	if rules, warnings := find(many, "apt"); rules != nil || !strings.Contains(warnings, "more than 100") {
		t.Errorf("apt found %q and said %q", rules, warnings)
	}
}

// Whatever a file says, what comes of it is rules of one port each, and names that no file has are the defaults.
func FuzzFind(f *testing.F) {
	for _, text := range []string{
		"registry=https://npm.corp.example/\n@a:registry=http://[::1]:4873\nproxy=${A}", "[global]\nindex-url: https://a.example\n  http://b.example\n",
		"[source.crates-io]\nreplace-with = \"a\"\n[source]\na.registry = 'sparse+https://a.example:8443'\n[[index]]\nurl = '''https://b.example'''\n",
		"GOPROXY=https://a.example|direct\nGOPRIVATE=*.a.example/x,github.com/y\n", "deb [a=b] http://a.example/ x y\n", "URIs: http://a.example\n b\nEnabled: no\n",
		"a = [1979-05-27 07:32:00Z, {b.\"c\\u0041\" = [[]]}, \"\"\"\n\\\n x\"\"\"]", "registry=https://*.example", "registry=https://a@b@c:1/",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u := &User{Getenv: func(string) string { return "x" }}
		values, all := map[string]said{}, []said{{text: text}}
		_ = u.npmrc("f", text, func(key string, s said) { values[key] = s }) // each may say why not
		_ = pipConf("f", text, values)
		for _, s := range values {
			all = append(all, s)
		}
		for _, read := range []func(string, string) ([]said, error){aptLines, aptStanzas} {
			list, _ := read("f", text)
			all = append(all, list...)
		}
		found := &found{}
		if table, err := readTOML(text); err == nil {
			_ = (&cargoConfig{table: table}).add(found, "")
		}
		for _, s := range all {
			_ = found.add(s)
			_ = found.sums(map[string]said{"GOSUMDB": s})
		}
		for _, p := range found.places {
			r, err := netrule.Parse(p.Rule)
			if err != nil || r.String() != p.Rule || !strings.Contains(p.Rule, ":") || strings.Contains(p.Rule, "*") {
				t.Errorf("%q brings %+v: %v", text, p, err)
			}
		}
	})
}

func TestTOML(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1":                             "map[a:1]",
		"a.b = 'x'":                         "map[a:map[b:x]]",
		"[a]\nb = true\n[a.c]\n":            "map[a:map[b:true c:map[]]]",
		"[[a]]\nb='1'\n[[a]]\nb='2'\n[a.c]": "map[a:[map[b:1] map[b:2 c:map[]]]]",
		"a = [ 'x', # c\n \"y\\u0041\",\n]": "map[a:[x yA]]",
		"a = \"\"\"\nx\\\n   y\"\"\"\"":     "map[a:xy\"]",
		"a = {b = 1, c = {}}\r\n":           "map[a:map[b:1 c:map[]]]",
		"a = 1979-05-27 07:32:00Z # t":      "map[a:1979-05-27 07:32:00Z]",
		"\"a b\" . 'c' = 0x1f":              "map[a b:map[c:0x1f]]",

		"a = ": "1: a value is missing", "a": "1: a key has no value", "= 1": "1: a key is missing", "a = 1 b": "1: the line goes on after its end",
		"a = 1\na = 2": "2: \"a\" comes twice", "a = 1\n[a]": "2: \"a\" is no table", "a = [1": "1: a list has no end", "a = {b = 1": "1: a table has no end",
		"a = \"\\x\"": "1: it is no escape of a string", "a = 'x\n'": "1: a string has no end", "a = []\n[a.b]": "2: \"a\" is no table", "[a": "1: the name of a table has no end",
		"a = " + strings.Repeat("[", 1000): "1: it is too deep", "a = " + strings.Repeat("{a=", 1000): "1: it is too deep",
	} {
		v, err := readTOML(text)
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.40q is %s; want %s", text, got, want)
		}
	}
}
