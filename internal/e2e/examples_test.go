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

// TestSettings has art read the settings that the guide shows, as those of a workspace that may allow
// what it likes, and those in docs/examples, as the user's.
func TestSettings(t *testing.T) {
	blocks := fenced(document(t, "docs/guide.md"), "json")
	if len(blocks) != 3 || !strings.Contains(blocks[1], `"limits"`) {
		t.Fatalf("the guide shows %d files of settings: %q", len(blocks), blocks)
	}
	for _, c := range []struct {
		text, file, word string
		lines            int // of what art config shows, at least
	}{
		{blocks[1], "project/.art/config/sandbox.json", "trust", 10},
		{blocks[2], ".config/art/sandbox.json", "config", 6},
		{document(t, "docs/examples/sandbox.json"), ".config/art/sandbox.json", "config", 10},
	} {
		dir := exampleDir(t)
		for _, made := range []string{"go/pkg/mod", filepath.Dir(c.file)} {
			if err := os.MkdirAll(filepath.Join(dir, made), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, word := range []string{c.word, "config"} {
			cmd := exec.Command("art", word, "-m", filepath.Join(dir, "project"))
			cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
			out = must(t, cmd)
		}
		if strings.Count(out, filepath.Base(c.file)+":") < c.lines {
			t.Errorf("of %s, art config shows\n%s", c.file, out)
		}
	}
}

// TestAgentInCI runs the steps of docs/examples/agent.yml after those that install something, with a
// program in the agent's place.
func TestAgentInCI(t *testing.T) {
	dir := exampleDir(t)
	for name, content := range map[string]string{
		".local/bin/claude": "#!/bin/sh\necho 'print(\"agent\")' >>main.py\necho \"$@\" >said\n",
		"patched/main.py":   "print(\"hello\")\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	steps := 0
	for _, script := range scripts(document(t, "docs/examples/agent.yml")) {
		if strings.Contains(script, "install") {
			continue
		}
		steps++
		cmd := exec.Command("bash", "-e", "-c", script)
		cmd.Dir = filepath.Join(dir, "project")
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "RUNNER_TEMP="+dir, "TASK=say so", "ANTHROPIC_API_KEY=none")
		must(t, cmd)
	}
	if steps != 2 {
		t.Errorf("%d steps were run", steps)
	}
	must(t, exec.Command("git", "-C", filepath.Join(dir, "patched"), "apply", filepath.Join(dir, "agent.patch")))
	if got := read(t, filepath.Join(dir, "patched/main.py")); got != "print(\"hello\")\nprint(\"agent\")\n" {
		t.Errorf("the patch makes %q", got)
	}
	if got := read(t, filepath.Join(dir, "patched/said")); !strings.Contains(got, "-p say so") {
		t.Errorf("the agent was called with %q", got)
	}
	if exists(filepath.Join(dir, "project/said")) {
		t.Error("the agent has changed the checkout")
	}
}

// scripts returns what the steps of a workflow run, in their order.
func scripts(workflow string) (all []string) {
	lines := strings.Split(workflow, "\n")
	for i, line := range lines {
		_, script, found := strings.Cut(line, "run: ")
		if !found {
			continue
		}
		if script != "|" {
			all = append(all, script)
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		script = ""
		for _, more := range lines[i+1:] {
			if strings.TrimSpace(more) != "" && len(more)-len(strings.TrimLeft(more, " ")) <= indent {
				break
			}
			script += strings.TrimSpace(more) + "\n"
		}
		all = append(all, script)
	}
	return all
}

// TestPolicy runs docs/examples/offline: what it refuses fails, and what is reported has it.
func TestPolicy(t *testing.T) {
	readme(t)
	dir := exampleDir(t)
	cmd := exec.Command(filepath.Join(repo, "docs/examples/offline"), "sh", "-c", "cat main.py; chmod 600 main.py; python3 -c 'import socket; socket.socket()'")
	cmd.Dir = filepath.Join(dir, "project")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, _ := cmd.CombinedOutput() // what python3 exits with
	for _, want := range []string{"hello", "Operation not permitted", "Network is unreachable"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the command does not print %q:\n%s", want, out)
		}
	}
	report := read(t, filepath.Join(cmd.Dir, "offline.txt"))
	for _, want := range []string{"executed", "main.py", "socket"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not have %q:\n%s", want, report)
		}
	}
}

// TestExamplesAreListed holds the table of docs/examples/README.md to the files beside it.
func TestExamplesAreListed(t *testing.T) {
	text := document(t, "docs/examples/README.md")
	entries, err := os.ReadDir(filepath.Join(repo, "docs/examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "README.md" && !strings.Contains(text, "("+name+")") {
			t.Errorf("docs/examples/README.md does not tell of %s", name)
		}
	}
}

// TestTurns has a program in the agent's place that runs the hook of docs/examples/turns.md at the end of a turn, and works with its marks
// as that page shows. Whether the agents themselves run their hooks, package agents tries.
func TestTurns(t *testing.T) {
	page, dir := document(t, "docs/examples/turns.md"), exampleDir(t)
	for name, content := range map[string]string{
		".local/bin/claude": "#!/bin/sh\nfor word; do task=$word; done\necho \"$task\" >>plan.txt\n" +
			"jq -r '.hooks.Stop[].hooks[].command' .claude/settings.json | sh\n",
		"project/.claude/settings.json": fenced(page, "json")[0],
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ART_SEE", bin)
	t.Setenv("ART_ENV", "PATH="+bin+":/usr/bin:/bin")
	commands := 0
	for _, block := range fenced(page, "console") {
		commands += runSession(t, dir, "$ cd project\n"+block)
	}
	if commands != 8 {
		t.Errorf("%d commands were run", commands)
	}
}

// TestModels has a program in the agent's place, which works as well as the model that it is told, do what docs/examples/models.md shows.
func TestModels(t *testing.T) {
	page, dir := document(t, "docs/examples/models.md"), exampleDir(t)
	for name, content := range map[string]string{
		".local/bin/claude": "#!/bin/sh\ncase $2 in\nopus) echo 'echo 5' ;;\nsonnet) echo 'echo $(($1 + $2))' ;;\nhaiku) echo 'expr $1 + $2' && touch notes ;;\nesac >sum.sh\n",
		"project/sum.sh":    "echo $1$2\n",
		"project/Makefile":  "test:\n\t@test \"$$(sh sum.sh 2 5)\" = 7 || { echo sum.sh: $$(sh sum.sh 2 5); exit 1; }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, func() *exec.Cmd {
		cmd := exec.Command("art", "run", "-q", "true")
		cmd.Dir, cmd.Env = filepath.Join(dir, "project"), append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=")
		return cmd
	}())
	commands := 0
	for _, block := range fenced(page, "console") {
		commands += runSession(t, dir, "$ cd project\n"+block)
	}
	if commands != 8 {
		t.Errorf("%d commands were run", commands)
	}
	if got := read(t, filepath.Join(dir, "project/sum.sh")); got != "echo $(($1 + $2))\n" {
		t.Errorf("the pull has brought %q", got)
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
	for _, pattern := range []string{"cmd/*/*.go", "libexec/*.go", "sqlvfs/*.go", "sqlvfs/*/*.go", "sqlvfs/internal/*/*.go", "fs/*.go", "internal/*/*.go", "internal/*/*/*.go"} {
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

// TestUnit has systemd read the unit of docs/examples, and runs what that starts.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatal("systemd-analyze is not installed: run internal/packaging/deps test")
	}
	dir := exampleDir(t)
	const starts = "ExecStart=art "
	text := document(t, "docs/examples/art@.service")
	if !strings.Contains(text, starts) {
		t.Fatalf("it starts something else:\n%s", text)
	}
	art, err := exec.LookPath("art")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(dir, "art@.service")
	whole := strings.NewReplacer(starts, "ExecStart="+art+" ", "#Environment", "Environment").Replace(text)
	if !strings.Contains(whole, "\nEnvironment=ART_REPLICATE=") {
		t.Errorf("it copies nothing:\n%s", whole)
	}
	for path, text := range map[string]string{unit: whole, filepath.Join(dir, "project/agent.sh"): "echo made >made; echo said\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.Command("systemd-analyze", "--user", "--man=no", "verify", unit)
	verify.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	_, line, _ := strings.Cut(text, starts)
	line, _, _ = strings.Cut(line, "\n")
	run := exec.Command("art", strings.Fields(strings.ReplaceAll(line, "%f", filepath.Join(dir, "project")))...)
	run.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "ART_REPLICATE=file://"+dir+"/copy")
	if out := must(t, run); !strings.Contains(out, "said") {
		t.Errorf("it says %q", out)
	}
	if out := must(t, exec.Command("art", "list", "file://"+dir)); !strings.Contains(out, "/copy") {
		t.Errorf("there is no copy: %q", out)
	}
}
