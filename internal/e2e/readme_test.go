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

// TestDocuments runs what README.md and the guide show in blocks marked console, one after the
// other in one directory for each.
func TestDocuments(t *testing.T) {
	for name, least := range map[string]int{"README.md": 3, "docs/guide.md": 10} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, dir := document(t, name), exampleDir(t)
			commands := 0
			for _, block := range fenced(text, "console") {
				commands += runSession(t, dir, block)
			}
			if commands < least {
				t.Errorf("only %d commands found in %s", commands, name)
			}
		})
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

// TestDocumentsMake holds every command in a block marked sh to be run somewhere.
func TestDocumentsMake(t *testing.T) {
	ci := document(t, ".ci/run")
	tested := map[string]bool{
		"make install": true, "make demo": true, // below
		"make packages": true, // package_test.go
	}
	for name, text := range documents(t) {
		for _, block := range fenced(text, "sh") {
			for line := range strings.Lines(block) {
				if line = strings.TrimSpace(line); !tested[line] && !strings.Contains(ci, "\n"+line+"\n") && !strings.Contains(ci, "\n"+line+" || ") {
					t.Errorf("%s says %q, which no test runs", name, line)
				}
			}
		}
	}
}

func TestInstall(t *testing.T) {
	builds(t)
	dest := t.TempDir()
	cmd := exec.Command("make", "install", "BIN="+t.TempDir(), "DESTDIR="+dest, "PREFIX=/opt/art", "LIBEXECDIR=/opt/art/lib")
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	for _, name := range []string{"bin/art", "bin/art-fuse", "bin/art-sync", "bin/art-trace", "lib/art/art-fuse", "lib/art/art-trace", "lib/art/art-sync", "lib/art/art-net", "lib/art/art-replicate"} {
		if out, err := exec.Command(filepath.Join(dest, "opt/art", name), "--version").CombinedOutput(); err != nil {
			t.Errorf("%s --version: %v\n%s", name, err, out)
		}
	}
	for _, name := range man.Names() {
		if file := "opt/art/share/man/man" + name[len(name)-1:] + "/" + name; !exists(filepath.Join(dest, file)) {
			t.Errorf("there is no %s", file)
		}
	}
	for _, reader := range []string{"tmpfiles.d", "modprobe.d"} {
		if !exists(filepath.Join(dest, "opt/art/lib", reader, "art.conf")) {
			t.Errorf("there is nothing for %s", reader)
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

// builds skips a test that builds programs, which the compiled tests cannot where other users run them.
func builds(t *testing.T) {
	t.Helper()
	if isClone {
		t.Skip("not in a checkout: run by go test")
	}
}

// document returns a file of this project.
func document(t *testing.T, name string) string {
	t.Helper()
	if repo == "" {
		t.Fatal("not in a checkout: ART_TEST_SRC names none")
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
