package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

// TestManExamples runs the sessions in the manual pages' EXAMPLES, one after the
// other in one directory for each page.
func TestManExamples(t *testing.T) {
	for _, name := range man.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := man.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			examples, err := page.Section("EXAMPLES")
			if err != nil {
				t.Fatal(err)
			}
			dir := exampleDir(t)
			commands := 0
			for _, block := range examples.Literal() {
				commands += runSession(t, dir, block)
			}
			if commands == 0 {
				t.Error("there is no example")
			}
		})
	}
}

// exampleDir makes the directory in which the examples of the documentation run,
// and the workspace project in it.
func exampleDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"main.py": "print(\"hello\")\n", "old.txt": "old\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runSession runs what a block of the documentation shows, and returns how many
// commands that were: a line that begins with "$ " is a command, which lines that
// begin with "> " continue, and the lines after it are its output, standard error
// included; a line of three dots stands for any lines. A "cd" alone holds to the
// end of the block.
func runSession(t *testing.T, dir, block string) (commands int) {
	t.Helper()
	at := dir
	for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		for strings.HasPrefix(want, "> ") {
			var more string
			more, want, _ = strings.Cut(want[len("> "):], "\n")
			line += "\n" + more
		}
		if to, ok := strings.CutPrefix(line, "cd "); ok {
			at = filepath.Join(at, to)
			continue
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = at
		cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir, "XDG_STATE_HOME=")
		got, err := cmd.CombinedOutput()
		if _, failed := err.(*exec.ExitError); err != nil && !failed {
			t.Fatal(err)
		}
		if !like(strings.ReplaceAll(string(got), dir, "/..."), strings.TrimSuffix(want, "\n")) {
			t.Errorf("$ %s\nprints\n%s\nand not\n%s", line, got, want)
		}
		commands++
	}
	return commands
}

// TestDiagnostics holds the texts that art(7) explains to those in the code.
func TestDiagnostics(t *testing.T) {
	code := sources(t)
	page, err := man.Read("art.7")
	if err != nil {
		t.Fatal(err)
	}
	diagnostics, err := page.Section("DIAGNOSTICS")
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, line := range diagnostics {
		text, found := strings.CutPrefix(line, ".It Li ")
		if !found {
			continue
		}
		texts++
		text, _, _ = strings.Cut(text, " Ar ")
		if !strings.Contains(code, text) {
			t.Errorf("art(7) explains %q, which nothing says", text)
		}
	}
	if texts < 10 {
		t.Errorf("only %d texts found", texts)
	}
}

// sources returns the text of all programs.
func sources(t *testing.T) string {
	readme(t)
	var code strings.Builder
	for _, pattern := range []string{"cmd/*/*.go", "libexec/*.go", "sqlvfs/*.go", "fs/*.go", "internal/*/*.go", "internal/*/*/*.go"} {
		names, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	return code.String()
}
