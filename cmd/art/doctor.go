package main

import (
	"context"
	"fmt"
	"os"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/doctor"
	"github.com/riverlytech/art/internal/sandbox"
)

// doctorCommand returns the command line of art doctor, which sets code, and args without
// what is its own. The others are art's flags, for the sessions that it tries.
func doctorCommand(o *sandbox.Options, code *int, args []string) (*ffcli.Command, []string) {
	d := &doctor.Options{Settle: func() ([]string, error) { return sandbox.Allowed(o) }, Tools: sandbox.Tools}
	for _, arg := range args {
		switch arg {
		case "--attack", "-attack":
			d.Attack = true
		case "--json", "-json":
			d.JSON = true
		case "--":
			// What follows is a command, which is refused; more flags follow the others here.
		default:
			d.Args = append(d.Args, arg)
		}
	}
	run := func(_ context.Context, rest []string) (err error) {
		if len(rest) > 0 {
			return cli.WithHint(fmt.Errorf("read the command line: %q is not a flag", rest[0]), "art doctor runs commands of its own")
		}
		dir, err := sandbox.TrialWorkspace(o)
		if err != nil {
			return err
		}
		if dir != "" {
			defer os.RemoveAll(dir)
			d.Args = append(d.Args, "--mount", dir)
		}
		*code, err = doctor.Run(d, os.Stdout)
		return err
	}
	return command(o, run), d.Args
}
