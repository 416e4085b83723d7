// Package agents runs real agents in art, against the stand-in for model servers. It needs what the script install puts into
// a directory, which ART_TEST_AGENTS names: `make test-agents` does both.
package agents

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/e2e/modelserver"
	"github.com/riverlytech/art/internal/preset"
)

//go:embed versions
var versions string

// command is what the model runs, and prompt what it is asked for.
const command = "echo ran >ran.txt"

var prompt = modelserver.Prompt("hello", "goodbye", "greeting.txt", command, 300)

// An agent is one of the file versions.
type agent struct {
	name        string
	layouts     []layout
	args        []string // for the task; {url} in them and in env is the stand-in's address
	env         []string
	key         string            // name of the variable with the key
	files       map[string]string // what its home has to hold for the stand-in's sake
	steps       []string          // of the conversation
	versionArgs []string
}

// A layout is a way to install: the home directory below ART_TEST_AGENTS, and the directories in the caller's PATH.
type layout struct {
	name, path string
}

var (
	node   = []layout{{"prefix", ".npm-global/bin"}, {"nvm", ".nvm/versions/node/v22.21.1/bin"}, {"native", ".local/bin:.opencode/bin:.bun/bin"}}
	python = []layout{{"pipx", ".local/bin"}, {"uv", ".local/bin"}, {"venv", "aider-chat/bin:mini-swe-agent/bin"}}
)

// all are the agents.
var all = []agent{
	{name: "claude", layouts: node, args: []string{"-p", prompt}, key: "ANTHROPIC_API_KEY", env: []string{"ANTHROPIC_BASE_URL={url}"},
		steps: []string{"read", "edit", "shell", "explain"}},
	{name: "codex", layouts: node, args: []string{"exec", "-c", `openai_base_url="{url}/v1"`, prompt}, key: "CODEX_API_KEY",
		steps: []string{"edit", "shell", "explain"}},
	{name: "gemini", layouts: node, args: []string{"-p", prompt}, key: "GEMINI_API_KEY", env: []string{"GOOGLE_GEMINI_BASE_URL={url}"},
		files: map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`},
		steps: []string{"edit", "shell", "explain"}},
	{name: "opencode", layouts: node, args: []string{"run", "-m", "anthropic/claude-sonnet-4-5", prompt}, key: "ANTHROPIC_API_KEY",
		env: []string{"ANTHROPIC_BASE_URL={url}/v1"}, steps: []string{"read", "edit", "shell", "explain"}},
	{name: "aider", layouts: python, args: []string{"--model", "openai/gpt-4o", "--auto-test", "--test-cmd", command, "--message", prompt, "greeting.txt"},
		key: "OPENAI_API_KEY", env: []string{"OPENAI_API_BASE={url}/v1"}, steps: []string{"edit"}},
	{name: "mini", layouts: python, args: []string{"--exit-immediately", "-m", "openai/gpt-4o", "-t", prompt},
		key: "OPENAI_API_KEY", env: []string{"OPENAI_API_BASE={url}/v1"}, steps: []string{"edit", "shell", "explain"}, versionArgs: []string{"--help"}},
}

// TestVersions holds the table above to the file that install reads.
func TestVersions(t *testing.T) {
	for _, a := range all {
		if pinned(a.name) == "" {
			t.Errorf("%s has no version", a.name)
		}
		p, err := preset.Load(a.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range append(a.env, a.key) {
			name, _, _ := strings.Cut(kv, "=")
			if !slices.ContainsFunc(p.Settings.Env, func(e entry) bool { return e.Value == name }) {
				t.Errorf("the preset %s does not pass %s", a.name, name)
			}
		}
	}
}

func pinned(name string) string {
	for _, line := range strings.Split(versions, "\n") {
		if f := strings.Fields(line); len(f) > 3 && f[0] == name {
			return f[3]
		}
	}
	return ""
}

// TestAgents has every agent of every layout finish its task in art, with no flag or setting but the key's variable, leave the
// host as it was, and do the same in a second workspace, by itself. It prints the versions, and the time from the start to the
// first prompt that reaches the model beside the host's: the median of ART_TEST_AGENTS_RUNS (1).
func TestAgents(t *testing.T) {
	dir := installed(t)
	runs := 1
	if n, err := strconv.Atoi(os.Getenv("ART_TEST_AGENTS_RUNS")); err == nil && n > 0 {
		runs = n
	}
	table := []string{fmt.Sprintf("%-9s %-8s %-7s %12s %12s", "agent", "version", "layout", "in art", "on the host")}
	for _, a := range all {
		for _, l := range a.layouts {
			t.Run(a.name+"/"+l.name, func(t *testing.T) {
				in, host := newTrial(t, a, l, dir).all(runs)
				table = append(table, fmt.Sprintf("%-9s %-8s %-7s %10.2f s %10.2f s", a.name, pinned(a.name), l.name, in.Seconds(), host.Seconds()))
			})
		}
	}
	t.Log("time to the first prompt\n" + strings.Join(table, "\n"))
}

// TestLogin has a login in one workspace hold in another.
func TestLogin(t *testing.T) {
	dir := installed(t)
	codex := all[slices.IndexFunc(all, func(a agent) bool { return a.name == "codex" })]
	tr := newTrial(t, codex, node[0], dir)
	if got := tr.art(tr.workspace(), "run", "-q", "--preset", "codex", "sh", "-c", "echo sk-of-the-test-123 | codex login --with-api-key; codex login status"); !strings.Contains(got, "sk-of-th") {
		t.Errorf("after the login, %q", got)
	}
	if got := tr.art(tr.workspace(), "run", "-q", "codex", "login", "status"); !strings.Contains(got, "sk-of-th") {
		t.Errorf("in a second workspace, %q", got)
	}
}

// installed returns the directory with the agents, and has the programs under test found.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ART_TEST_AGENTS")
	if dir == "" {
		t.Skip("ART_TEST_AGENTS names no directory with agents: make test-agents installs them, and runs this")
	}
	if bin := os.Getenv("ART_TEST_BIN"); bin != "" {
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	}
	return dir
}

// TestReadme holds the versions that README.md says have passed to those that are tried.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if row := "`art " + a.name + "` | " + pinned(a.name) + " |"; !strings.Contains(string(text), row) {
			t.Errorf("README.md lacks %q", row)
		}
	}
}
