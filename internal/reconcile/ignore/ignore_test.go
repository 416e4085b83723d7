package ignore

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// out tells what git does: what is in a directory that is out, is out.
func out(l List, rel string, isDir bool) bool {
	names := strings.Split(rel, "/")
	for n := range names {
		if l.Match(strings.Join(names[:n+1], "/"), isDir || n+1 < len(names)) == Out {
			return true
		}
	}
	return false
}

// check asks git(1) about paths of files, and compares.
func check(t *testing.T, dir, patterns string, paths []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(patterns), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "check-ignore", "--no-index", "--stdin", "-z")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(paths, "\x00")+"\x00")
	told, _ := cmd.Output() // it fails where nothing is ignored
	ignored := map[string]bool{}
	for p := range bytes.SplitSeq(told, []byte{0}) {
		ignored[string(p)] = true
	}
	l := Parse(strings.Split(patterns, "\n"))
	for _, p := range paths {
		if got := out(l, p, false); got != ignored[p] {
			t.Errorf("%q: %s is out: %v, git says %v", patterns, p, got, ignored[p])
		}
	}
}

var paths = []string{
	"a", "b", "a b", "#c", "!d", "x.py", "x.pyc", "build/x", "build/keep", "src/build/x", "src/a", "src/b/a", "src/x.py",
	"doc/a/b/c", "doc/c", "a.log", "src/a.log", "deep/er/a.log", "node_modules/m/index.js", "src/node_modules/m", "trail ", "x-1", "x-2", "x\\y",
}

func repository(t *testing.T) string {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func TestAsGit(t *testing.T) {
	dir := repository(t)
	for _, patterns := range []string{
		"a", "/a", "src/a", "build/", "/build/", "build", "*.log", "*.py?", "**/a", "doc/**", "doc/**/c", "**/b/a", "a/**/b", "**",
		"*\n!*/\n!*.py", "build/\n!build/keep", "build/*\n!build/keep", "/*\n!/src\n/src/*\n!/src/a", "x-[12]", "x-[!1]", "x-[^1]", "x-[",
		"\\#c", "\\!d", "#c", "!d", "trail", "trail\\ ", "a b  ", "\r\na\r", "", "/", "//", "!", "a//b", "node_modules", "src/*", "doc/*/c", "x\\\\y", "**/", "src/**/a",
	} {
		check(t, dir, patterns, paths)
	}
}

func TestAsGitAtRandom(t *testing.T) {
	dir := repository(t)
	r := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"a", "b", "*", "**", "?", "/", "/", "a*", "src", "doc", "[ab]"}
	for range 150 {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			if r.IntN(4) == 0 {
				b.WriteByte('!')
			}
			last := ""
			for range 1 + r.IntN(5) {
				p := pieces[r.IntN(len(pieces))]
				if strings.HasSuffix(last, "*") && strings.HasPrefix(p, "*") || last == "/" && p == "/" || strings.HasSuffix(last, "**") && p != "/" || p == "**" && last != "" && last != "/" {
					continue // git's own reading of "***", "a**" and "//" is its business
				}
				b.WriteString(p)
				last = p
			}
			b.WriteByte('\n')
		}
		check(t, dir, b.String(), []string{"a", "b", "src/a", "src/b", "doc/a/b", "doc/src/ab", "ab", "src/doc/a/b/a", "a/a", "b/doc"})
	}
}

func TestWithin(t *testing.T) {
	l := Parse([]string{".vscode/", "!.vscode/tasks.json"})
	for rel, want := range map[string]Verdict{".vscode/a": Out, ".vscode/tasks.json": Stays, "x": Silent} {
		if got := l.Within(rel, false); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/a/**/b/**\n!x", "a/b/c/d/a/b")
	f.Fuzz(func(t *testing.T, patterns, rel string) {
		l := Parse(strings.Split(patterns, "\n"))
		l.Match(rel, true)
		l.Within(rel, false)
	})
}
