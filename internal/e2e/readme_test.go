package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

// TestReadme runs what README.md shows in blocks marked console, one after the other
// in one directory.
func TestReadme(t *testing.T) {
	text := readme(t)
	dir := exampleDir(t)
	commands := 0
	for _, block := range fenced(text, "console") {
		commands += runSession(t, dir, block)
	}
	if commands < 10 {
		t.Errorf("only %d commands found in README.md", commands)
	}
}

// like tells whether got is what want shows, where "..." alone on a line is any
// number of lines.
func like(got, want string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(want) {
		if strings.TrimSuffix(line, "\n") == "..." {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")) + `\n`)
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got)
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		got, want string
		like      bool
	}{
		{"", "", true},
		{"a\n", "a", true},
		{"a\n", "", false},
		{"a\nb\n", "a", false},
		{"a\nb\nc\n", "a\n...\nc", true},
		{"a\nc\n", "a\n...\nc", true},
		{"a\nb\n", "a\n...\nc", false},
		{"a(1)\n", "a(1)", true},
	} {
		if like(c.got, c.want) != c.like {
			t.Errorf("like(%q, %q) is not %v", c.got, c.want, c.like)
		}
	}
}

// TestReadmeMake holds every command in a block marked sh to be run somewhere.
func TestReadmeMake(t *testing.T) {
	text := readme(t)
	ci, err := os.ReadFile(filepath.Join(repo, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{
		"make install": true, "make demo": true, // below
		"make packages": true, // package_test.go
	}
	for _, block := range fenced(text, "sh") {
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); !tested[line] && !strings.Contains(string(ci), "\n"+line+"\n") {
				t.Errorf("README.md says %q, which no test runs", line)
			}
		}
	}
}

// TestReadmeSettings has art read the settings that README.md shows, as those of a
// workspace that may allow what it likes.
func TestReadmeSettings(t *testing.T) {
	dir := exampleDir(t)
	for _, made := range []string{"go/pkg/mod", ".config/art", "project/.art/config"} {
		if err := os.MkdirAll(filepath.Join(dir, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	blocks := fenced(readme(t), "json")
	if len(blocks) != 2 || !strings.Contains(blocks[1], `"limits"`) {
		t.Fatalf("README.md shows %d files of settings: %q", len(blocks), blocks)
	}
	if err := os.WriteFile(filepath.Join(dir, "project/.art/config/sandbox.json"), []byte(blocks[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	var cmd *exec.Cmd
	var out []byte
	var err error
	for _, word := range []string{"trust", "config"} {
		cmd = exec.Command("art", word, "-m", filepath.Join(dir, "project"))
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
		if out, err = cmd.CombinedOutput(); err != nil {
			break
		}
	}
	if err != nil || strings.Count(string(out), "/.art/config/sandbox.json:") < 10 {
		t.Errorf("%v: %v\n%s", cmd, err, out)
	}
}

// TestReadmeMessages holds the messages that README.md explains to those in the code.
func TestReadmeMessages(t *testing.T) {
	code := sources(t)
	_, table, _ := strings.Cut(readme(t), "| message | what to do |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	messages := 0
	for row := range strings.Lines(table) {
		cell := strings.Split(row, "|")[1]
		if strings.HasPrefix(cell, " in the session") {
			continue // programs' own words
		}
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			messages++
			for part := range strings.SplitSeq(message[1], "...") {
				if part = strings.TrimSpace(part); !strings.Contains(code, part) {
					t.Errorf("README.md explains %q, which nothing says", part)
				}
			}
		}
	}
	if messages < 5 {
		t.Errorf("only %d messages found", messages)
	}
}

func TestInstall(t *testing.T) {
	readme(t)
	dest := t.TempDir()
	cmd := exec.Command("make", "install", "BIN="+t.TempDir(), "DESTDIR="+dest, "PREFIX=/opt/art", "LIBEXECDIR=/opt/art/lib")
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	for _, name := range []string{"bin/art", "bin/art-fuse", "bin/art-sync", "bin/art-trace", "lib/art/art-fuse", "lib/art/art-trace", "lib/art/art-sync"} {
		if out, err := exec.Command(filepath.Join(dest, "opt/art", name), "--version").CombinedOutput(); err != nil {
			t.Errorf("%s --version: %v\n%s", name, err, out)
		}
	}
	for _, name := range man.Names() {
		if file := "opt/art/share/man/man" + name[len(name)-1:] + "/" + name; !exists(filepath.Join(dest, file)) {
			t.Errorf("there is no %s", file)
		}
	}
	// Moved as a whole, art still finds its helpers: they do not depend on PREFIX.
	out, err := exec.Command(filepath.Join(dest, "opt/art/bin/art"), "-m", dest, "-d", filepath.Join(t.TempDir(), "db"), "--", "echo", "found").CombinedOutput()
	if err != nil || string(out) != "found\n" {
		t.Errorf("the installed art does not run: %v\n%s", err, out)
	}
}

func TestDemo(t *testing.T) {
	readme(t)
	cmd := exec.Command(filepath.Join(repo, "internal/packaging/demo"), bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	if lines := strings.Count(string(out), "\n"); lines > 50 {
		t.Errorf("the demo prints %d lines, too many for one screen", lines)
	}
	for _, want := range []string{"/home/agent/hello", "Read-only file system", "and goodbye", "Say goodbye"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out)
		}
	}
}

// readme returns README.md.
func readme(t *testing.T) string {
	t.Helper()
	return document(t, "README.md")
}

// document returns a file of this project. What needs a checkout runs with `go test` only, not
// with the compiled tests that the other users run.
func document(t *testing.T, name string) string {
	t.Helper()
	if repo == "" {
		t.Skip("not in a checkout: run by go test")
	}
	text, err := os.ReadFile(filepath.Join(repo, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fenced returns the blocks of text between ```kind and ``` lines.
func fenced(text, kind string) []string {
	var blocks []string
	for _, part := range strings.Split(text, "\n```"+kind+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block+"\n")
	}
	return blocks
}
