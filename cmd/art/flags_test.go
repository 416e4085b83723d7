package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/sandbox"
	"github.com/riverlytech/art/internal/terminal"
)

func parse(args ...string) (*sandbox.Options, error) {
	o, _, err := session(flags.Art, args, map[string]any{"version": new(bool)})
	return o, err
}

func TestFlags(t *testing.T) {
	t.Setenv("ART_MOUNT", "from-env")
	t.Setenv("ART_QUIET", "true")
	t.Setenv("ART_D", "no variable of a short name")
	trace := &sandbox.Trace{Format: "json", Log: "l", Syscalls: "%file"}
	for _, test := range []struct {
		args []string
		want sandbox.Options
	}{
		{nil, sandbox.Options{Workspace: "from-env", Interactive: true, Quiet: true, Command: []string{}}},
		{[]string{"-m", "ws", "-i=false", "-q=false"}, sandbox.Options{Workspace: "ws", Command: []string{}}},
		{[]string{"--mount=ws", "-d", "x.db", "ls", "-l", "--db"},
			sandbox.Options{Workspace: "ws", Database: "x.db", Interactive: true, Quiet: true, Command: []string{"ls", "-l", "--db"}}},
		{[]string{"-q", "-e", "A", "--env", "B=1", "--hide", "x", "--hide", "y", "--allow", "perf", "--", "push"},
			sandbox.Options{Workspace: "from-env", Interactive: true, Quiet: true,
				Env: []string{"A", "B=1"}, Hide: []string{"x", "y"}, Allow: []string{"perf"}, Command: []string{"push"}}},
		{[]string{"--network", "none", "--trace", "--trace-log", "l", "--trace-syscalls", "%file", "--trace-format", "json"},
			sandbox.Options{Workspace: "from-env", Interactive: true, Network: "none", Quiet: true, Trace: trace, Command: []string{}}},
	} {
		test.want.DetachKeys, _ = terminal.ParseKeys(terminal.DefaultKeys)
		got, err := parse(test.args...)
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%q:\n%+v, %v, want\n%+v", test.args, got, err, test.want)
		}
	}
}

func TestFlagsRefuse(t *testing.T) {
	for text, reason := range map[string]string{
		"--nosuch":              "nosuch",
		"--network nonee":       `"nonee"`,
		"--network=":            `""`,
		"--trace-format xml":    `"xml"`,
		"-i=maybe":              "maybe",
		"--detach-keys strg-x":  `"strg-x"`,
		"--db":                  "needs a value",
		"--interactive=perhaps": "perhaps",
	} {
		o, err := parse(strings.Fields(text)...)
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
}

// TestCommands has each command know a variable for each of its flags, without which Parse panics.
func TestCommands(t *testing.T) {
	for name, do := range commands {
		c := flags.Find("art " + name)
		words := append([]*flags.Command{c}, c.Commands()...)
		for _, word := range words {
			if word.Name == "art home diff" { // art-sync's
				continue
			}
			args := strings.Fields(strings.TrimPrefix(word.Name, c.Name))
			if _, err := do(c, append(args, "--no-such-flag")); err == nil || !strings.Contains(err.Error(), "there is no flag --no-such-flag") {
				t.Errorf("%s: %v", word.Name, err)
			}
		}
	}
}
