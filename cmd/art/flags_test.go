package main

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/sandbox"
)

func parse(t *testing.T, args ...string) (sandbox.Options, error) {
	t.Helper()
	var o sandbox.Options
	cmd := command(&o, func(context.Context, []string) error { return nil })
	if err := cmd.Parse(args); err != nil {
		return o, usageError(err)
	}
	return o, cmd.Run(context.Background())
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
		{nil, sandbox.Options{Workspace: "from-env", Interactive: true, Quiet: true}},
		{[]string{"-m", "ws", "-i=false", "-q=false"}, sandbox.Options{Workspace: "ws"}},
		{[]string{"--mount=ws", "-d", "x.db", "ls", "-l", "--db"},
			sandbox.Options{Workspace: "ws", Database: "x.db", Interactive: true, Quiet: true, Command: []string{"ls", "-l", "--db"}}},
		{[]string{"-q", "-e", "A", "--env", "B=1", "--hide", "x", "--hide", "y", "--allow", "perf", "--", "push"},
			sandbox.Options{Workspace: "from-env", Interactive: true, Quiet: true,
				Env: []string{"A", "B=1"}, Hide: []string{"x", "y"}, Allow: []string{"perf"}, Command: []string{"push"}}},
		{[]string{"--network", "none", "--trace", "--trace-log", "l", "--trace-syscalls", "%file", "--trace-format", "json"},
			sandbox.Options{Workspace: "from-env", Interactive: true, Network: "none", Quiet: true, Trace: trace}},
	} {
		got, err := parse(t, test.args...)
		if len(got.Command) == 0 {
			got.Command = nil
		}
		if err != nil || !reflect.DeepEqual(got, test.want) {
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
		"--db":                  "needs an argument",
		"--interactive=perhaps": "perhaps",
	} {
		o, err := parse(t, strings.Fields(text)...)
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
}
