package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/riverlytech/art/internal/agent"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sandbox"
)

// agentFlags are those of what art agent does, by its name.
var agentFlags = map[string][]string{"new": {"preset", "quiet"}, "ls": {"json"}, "show": {"json"}, "rm": {"force", "quiet"}}

// agentCommand returns the flags of art agent. They have no environment variables.
func agentCommand(o *agent.Options) *flag.FlagSet {
	fs := flag.NewFlagSet("art agent", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.Preset, "preset", "", "")
	fs.BoolVar(&o.JSON, "json", false, "")
	fs.BoolVar(&o.Force, "force", false, "")
	fs.BoolVar(&o.Quiet, "quiet", false, "")
	short(fs, map[string]string{"q": "quiet"})
	return fs
}

// runAgent runs art agent.
func runAgent(args []string) (int, error) {
	o := &agent.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isTerminal(os.Stdout)}
	fs := agentCommand(o)
	args, err := mixed(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return cli.OK, nil
	}
	if err == nil {
		err = checkWords("art agent", fs, args, agentFlags, "an agent")
	} else {
		err = cli.WithHint(fmt.Errorf("read the command line: %w", err), "see art --help")
	}
	if err != nil {
		return cli.ExitArt, err
	}
	if isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		o.Answer = os.Stdin
	}
	switch {
	case args[0] == "ls":
		err = agent.List(o)
	case len(args) > 2:
		return cli.ExitArt, cli.WithHint(fmt.Errorf("read the command line: %q is one word too many", args[2]), "see art --help")
	case args[0] == "new":
		err = agent.New(args[1], o)
	case args[0] == "rm":
		err = agent.Remove(args[1], o)
	default:
		err = sandbox.Show(&sandbox.Options{Agent: args[1], Workspace: ".", DefaultWorkspace: true, Quiet: true}, os.Stdout, o.JSON)
	}
	if err != nil {
		return cli.ExitError, err
	}
	return cli.OK, nil
}
