package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/e2e/screen"
	"github.com/riverlytech/art/internal/processes"
)

// A face is an agent's terminal interface.
type face struct {
	args  string
	ready string // is on the screen when it waits for words
	keys  string // that suspend it
	setup string // commands, in its home, after which it asks nothing first
}

var faces = map[string]face{
	"claude": {ready: "❯", keys: "\x1a",
		setup: `echo '{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true, "customApiKeyResponses": {"approved": ["12345678901234567890"]}}' >~/.claude.json`},
	"codex": {args: `-c openai_base_url="$URL/v1"`, ready: "Ask Codex", keys: "\x1a",
		setup: `echo sk-of-the-test-123 | codex login --with-api-key; printf '[projects."/home/agent/project"]\ntrust_level = "trusted"\n' >>~/.codex/config.toml`},
	"gemini": {ready: "Type your message", keys: "\x1a\x1a",
		setup: `mkdir -p ~/.gemini; echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}}' >~/.gemini/settings.json; echo '{"/home/agent/project": "TRUST_FOLDER"}' >~/.gemini/trustedFolders.json`},
	"opencode": {args: "-m anthropic/claude-sonnet-4-5", ready: "Ask anything", keys: "\x1a"},
}

// TestTerminal has each agent that has a terminal interface suspended, continued on a screen of another size, and given words by
// pasting, as a job of a shell.
func TestTerminal(t *testing.T) {
	dir := installed(t)
	for _, a := range all {
		f, ok := faces[a.name]
		if !ok {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			tr := newTrial(t, a, node[0], dir)
			work := tr.workspace()
			if f.setup != "" {
				tr.art(work, "run", "-q", "--preset", a.name, "sh", "-c", f.setup)
			}
			env := tr.environment(tr.home, "URL="+tr.url, "XDG_STATE_HOME="+tr.state+"/state", "XDG_DATA_HOME="+tr.state+"/data", "XDG_CONFIG_HOME="+tr.state+"/config")
			s := screen.JobShell(t, work, env)
			s.Patience = 2 * time.Minute
			t.Cleanup(func() { end(s) })
			s.Resize(30, 100)
			s.Enter(strings.TrimSpace("art run " + a.name + " " + f.args))
			s.Shows(f.ready)
			time.Sleep(time.Second) // what it shows first is not what takes keys
			for _, key := range f.keys {
				s.Keys(string(key))
				time.Sleep(300 * time.Millisecond) // a second key is a key of its own
			}
			s.Shows("Stopped")
			s.Keys("\x0cecho so the sh''ell reads lines\r")
			s.Shows("so the shell reads lines")
			s.Resize(40, 80)
			s.Keys("\x0cfg\r")
			s.Shows(f.ready)
			if lines := strings.Split(s.Text(), "\n"); slices.ContainsFunc(lines, func(line string) bool { return len([]rune(line)) > 80 }) {
				t.Errorf("the screen is\n%s", s.Text())
			}
			time.Sleep(time.Second)
			s.Keys("\x1b[200~words that were pasted\x1b[201~")
			s.Shows("words that were pasted")
		})
	}
}

// end ends art, so that nothing of it is left before what it works in is removed.
func end(s *screen.Screen) {
	art := func(p processes.Process) bool { return p.Comm == "art" }
	for {
		tree := processes.Tree(s.Cmd.Process.Pid)
		i := slices.IndexFunc(tree, art)
		if i < 0 {
			return
		}
		unix.Kill(tree[i].PID, unix.SIGTERM)
		unix.Kill(tree[i].PID, unix.SIGCONT)
		time.Sleep(100 * time.Millisecond)
	}
}
