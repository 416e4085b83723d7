package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/packaging/completions"
)

// completionTest is a line, and what becomes of it.
type completionTest struct {
	line string
	want []string // what all shells offer, among others
	not  []string // what none offers
}

// start starts a session in the background, which ends with the test, and returns its id.
func start(t *testing.T) string {
	t.Helper()
	id, err := exec.Command("art", "run", "-q", "-b", "-m", "ws", "-d", "ws.db", "sleep", "1000").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSpace(string(id))
	t.Cleanup(func() {
		must(t, exec.Command("art", "kill", "-s", "KILL", name))
		_ = exec.Command("art", "wait", name).Run() // 137
	})
	return name
}

// TestCompletion asks each shell to complete what is no flag.
func TestCompletion(t *testing.T) {
	readme(t)
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("ws/src/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ws/main.go", "ws/src/lib.go", "ws/src/an odd; name"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exec.Command("art", "push", "--quiet", "-m", "ws", "-d", "ws.db"))

	tests := []completionTest{
		{"art pu", []string{"push", "pull"}, []string{"diff"}},
		{"art r", []string{"run"}, nil},
		{"art run --network ", []string{"host", "none"}, []string{"push"}},
		{"art run -d ws.db -- tou", []string{"touch"}, nil},
		{"art run tou", []string{"touch"}, nil},
		{"art config pu", nil, []string{"push"}},
		{"art --network ", []string{"host", "none"}, []string{"push"}},
		{"art -m w", []string{"ws"}, []string{"ws.db"}},
		{"art -d w", []string{"ws", "ws.db"}, nil},
		{"art -d ws.db -- tou", []string{"touch"}, nil},
		{"art -d ws.db touch w", []string{"ws.db"}, []string{"pull"}},
		{"art-trace --log x tou", []string{"touch"}, nil},
		{"art-fuse l", []string{"ls"}, []string{"tree"}},
		{"art-fuse ls w", []string{"ws.db"}, []string{"ls"}},
		{"art-fuse ls ws.db ", []string{"ws"}, []string{"ws.db"}},
		{"art-fuse cat ws.db /ws/src/", []string{"/ws/src/deep", "/ws/src/lib.go", "/ws/src/an odd; name"}, []string{"/ws/src/main.go"}},
		{"art-fuse stat ws.db ws/m", []string{"ws/main.go"}, []string{"ws/src"}},
		{"art pull -m ws -d ws.db s", []string{"src"}, []string{"main.go", "ws"}},
		{"art diff -d ws.db -m ws src/l", []string{"src/lib.go"}, []string{"src/deep"}},
		{"art push -d ws.db -m ws ", nil, []string{"src"}},
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	must(t, exec.Command("mkdir", "an odd; one"))
	must(t, exec.Command("art", "push", "--quiet", "-m", "an odd; one"))
	odd, err := exec.Command("sh", "-c", `art list --json | sed -n 's/^{"name":"\(an odd[^"]*\).*/\1/p'`).Output()
	if err != nil {
		t.Fatal(err)
	}
	tests = append(tests, completionTest{"art rm ", []string{strings.TrimSpace(string(odd))}, []string{"an"}})
	running := start(t)
	for _, word := range []string{"attach", "kill", "logs", "wait"} {
		tests = append(tests, completionTest{"art " + word + " ", []string{running}, []string{"sessions", "ID"}})
	}
	var lines []string
	for _, test := range tests {
		lines = append(lines, test.line)
	}
	for _, shell := range completions.Shells {
		answers, err := completions.Ask(shell, lines...)
		if err != nil {
			t.Fatal(err)
		}
		for i, test := range tests {
			offers := plain(answers[i])
			for _, want := range test.want {
				if !slices.Contains(offers, want) {
					t.Errorf("%s: %q does not become %q, but one of %q", shell, test.line, want, offers)
				}
			}
			for _, not := range test.not {
				if slices.Contains(offers, not) {
					t.Errorf("%s: %q becomes %q", shell, test.line, not)
				}
			}
		}
	}
}

// plain returns what is offered without the differences between shells: some quote by
// themselves, and some let the shell put the slash behind a directory.
func plain(offers []string) []string {
	var names []string
	for _, offer := range offers {
		names = append(names, strings.TrimSuffix(strings.ReplaceAll(offer, `\`, ""), "/"))
	}
	return names
}
