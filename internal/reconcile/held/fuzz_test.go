package held

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What Content decides by is read by another program in the end. These tests ask that program: whatever it
// would run that it did not run before, is held back.

// nodeReader is a program that answers, for each file that it is given, with what npm would run by itself: the
// scripts of its life cycle, as JSON.
const nodeReader = `
const names = ` + "`NAMES`" + `.split(",")
require("readline").createInterface({input: process.stdin}).on("line", line => {
	let runs = {}
	try {
		const p = JSON.parse(Buffer.from(line, "base64").toString("utf8").replace(/^\uFEFF/, ""))
		const s = p && typeof p == "object" && p.scripts
		if (s && typeof s == "object") for (const n of names) if (Object.hasOwn(s, n)) runs[n] = s[n]
	} catch {}
	console.log(JSON.stringify(runs))
})`

// program is one that is asked line by line.
type program struct {
	in  io.Writer
	out *bufio.Reader
}

func start(f *testing.F, name string, args ...string) *program {
	if _, err := exec.LookPath(name); err != nil {
		f.Skip(name, "is not installed")
	}
	cmd := exec.Command(name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &program{in, bufio.NewReader(out)}
}

func (p *program) ask(t *testing.T, data []byte) string {
	line, _ := json.Marshal(data) // a string of base64
	if _, err := io.WriteString(p.in, strings.Trim(string(line), `"`)+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func FuzzPackage(f *testing.F) {
	node := start(f, "node", "-e", strings.Replace(nodeReader, "NAMES", strings.Join(lifecycle, ","), 1))
	const harmless = `{"name": "x", "scripts": {"test": "y"}}`
	for _, after := range []string{
		`{"scripts":{"postinstall":"x"},"Scripts":null}`, `{"scripts":{"postinstall":"x"},"\u017fcripts":null}`, `{"scripts":{"postinstall":"x","POSTINSTALL":null}}`,
		`{"scripts":{},"scripts":{"install":"x"}}`, `{"scripts":{"install":"x"},"scripts":{"a":1}}`, "\xef\xbb\xbf" + `{"scripts":{"install":"x"}}`,
		`{"scripts":{"\u0069nstall":"x"}}`, `{"script\u0073":{"prepare":"x"}}`, `{"scripts":{"install":"x"}} trailing`, `{"__proto__":{"scripts":{"install":"x"}}}`,
		`{"scripts":["install"]}`, `[{"scripts":{"install":"x"}}]`, `{"a":` + strings.Repeat("[", 12000) + strings.Repeat("]", 12000) + `,"scripts":{"install":"x"}}`,
		"{\"a\":\"\xff\",\"scripts\":{\"install\":\"x\"}}", `{"scripts":{"install":"x",}}`, `{"a":1e999,"scripts":{"install":"x"}}`, `{"\ud800":1,"scripts":{"install":"x"}}`, "null", "",
	} {
		f.Add([]byte(harmless), []byte(after))
		f.Add([]byte(after), []byte(harmless))
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if Content("package.json", before, after) == "" {
			if was, is := node.ask(t, before), node.ask(t, after); was != is {
				t.Errorf("%q -> %q is let through; npm runs %s instead of %s", before, after, is, was)
			}
		}
	})
}

func FuzzAttributes(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("git is not installed")
	}
	repo := f.TempDir()
	git(f, repo, "init", "-q")
	paths := []string{"a.c", "b.bin", "sub/a.c", "a b"}
	// drivers are what git would run for each path.
	drivers := func(t testing.TB, content []byte) []string {
		if err := os.WriteFile(filepath.Join(repo, ".gitattributes"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		var list []string
		for line := range strings.Lines(git(t, repo, append([]string{"check-attr", "filter", "diff", "merge", "--"}, paths...)...)) {
			if !slices.ContainsFunc([]string{": unspecified\n", ": set\n", ": unset\n"}, func(none string) bool { return strings.HasSuffix(line, none) }) {
				list = append(list, line)
			}
		}
		return list
	}
	const lfs = "*.bin filter=lfs\n"
	for _, c := range [][2]string{
		{lfs, lfs + "*.c filter=x\n"}, {lfs + "*.bin -filter\n", lfs}, {lfs + "*.bin !filter\n", lfs}, {lfs + "*.bin binary\n", lfs}, {"[attr]m filter=x\n", "[attr]m filter=x\n*.c m\n"},
		{"*.c filter=x\n*.c -filter\n", "*.c -filter\n*.c filter=x\n"}, {"", "\"a\\040b\" filter=x\n"}, {"", "\"\\133attr]m\" filter=x\n*.c m\n"}, {"", "\xef\xbb\xbf*.c\tfilter=x\n"},
		{"", "*.c text\vfilter=x\n"}, {"", "*.c filter=x\r\n"}, {"", "*.c filter\n"}, {"# filter=x", " # filter=x\n*.c filter=y"}, {"", "*.c\u00a0filter=x\n"}, {"", "*.c text\x00 filter=x\n"},
		{"[attr]m -filter\n*.c filter=x\n*.c m\n", "[attr]m -filter\n*.c filter=x\n*.c m\n*.c !m\n"}, {"\"a  b\" merge=x", "\"a b\" merge=x"}, {"", "*.c " + strings.Repeat("x", 3000) + " filter=x\n"},
		{"*.c filter=x\n", "*.c filter=x\n*.c -filter\n"}, {"*.c diff=x\n*.c -diff\n", "*.c -diff\n*.c diff=x\n*.c -diff\n"}, {"", "* text=auto\n"},
	} {
		f.Add([]byte(c[0]), []byte(c[1]))
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if Content(".gitattributes", before, after) != "" {
			return
		}
		was := drivers(t, before)
		for _, d := range drivers(t, after) {
			if !slices.Contains(was, d) {
				t.Errorf("%q -> %q is let through; git runs %s", before, after, d)
			}
		}
	})
}

// FuzzGitConfig finds each path that git takes from its configuration among the names.
func FuzzGitConfig(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("git is not installed")
	}
	dir := f.TempDir()
	file := filepath.Join(dir, "config")
	for _, c := range []string{
		"[core]\n\thooksPath = hooks/dir\n", "[core] hooksPath=a/b", "[CORE]\nHOOKSPATH=\"a/b c\"\n", "[core]\nfsmonitor = a/\\\n\tb\n", "[a \"b\"] c = x/y ; d\n", "[a.b] c = x/y # d\n",
		"[core]\n\tfsmonitor = \"x\"/y\n", "[core]\nfsmonitor\n", "\xef\xbb\xbf[core]\nfsmonitor=a/b\n", "[core]\r\nfsmonitor=a/b\r\n", "[core]\nfsmonitor = a\\\\/b\n", "[core]\nfsmonitor = \"a/b\\tc\"\n",
		"[core]\n\teditor = a/b\n[core]\n\teditor = c/d\n", "[core]\nfsmonitor = ./a/../b/c\n", "[merge \"x\\\"y\"]\ndriver = a/b %O\n", "[filter \"\"]\nclean=a/b\n", "; c\n[core];x\nfsmonitor=a/b",
	} {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "config", "-f", file, "--list", "-z", "--no-includes")
		out, err := cmd.Output()
		if err != nil {
			return // git would not run with it at all
		}
		n := NewNames("/w", []string{"/home/u"}, func(string) (string, error) { return "", errors.New("none") })
		n.AddGit(data, "/w/.git/config", "/w")
		for entry := range strings.SplitSeq(string(out), "\x00") {
			key, value, _ := strings.Cut(entry, "\n")
			section, name := key, key
			if i := strings.IndexByte(key, '.'); i >= 0 {
				section, name = key[:i], key[strings.LastIndexByte(key, '.')+1:]
			}
			if !(gitValue{section, name, value}).names() || section == "include" || section == "includeif" {
				continue
			}
			rel := filepath.Clean(value)
			if value != strings.TrimSpace(value) || !strings.Contains(value, "/") || strings.ContainsAny(value, "\\'\"$~ \t\r\n\v\f") || rel == "." || strings.HasPrefix(rel, "..") || filepath.IsAbs(rel) {
				continue
			}
			if n.Why(rel, false) == "" {
				t.Errorf("%q: git has %s = %q, which is not among the names", data, key, value)
			}
		}
	})
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}
