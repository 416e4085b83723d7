// Command art runs a program in a sandbox that has all of this machine's tools
// and a home directory of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/agent"
	"github.com/riverlytech/art/internal/attack"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/doctor"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/stub"
	"github.com/riverlytech/art/libexec"
)

func main() {
	// art started by art in another role; see the packages.
	switch os.Args[0] {
	case stage.Name:
		os.Exit(stage.Main())
	case stage.Stub:
		os.Exit(stub.Main())
	case doctor.TrialName:
		os.Exit(doctor.Trial(os.Args[1:]))
	case doctor.AttackerName:
		os.Exit(attack.Main(os.Args, os.Stdout))
	}
	code, err := run(os.Args[1:])
	if err != nil {
		cli.Fail("art", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	options := sandbox.Options{}
	code := cli.OK
	run := func(context.Context, []string) (err error) {
		code, err = sandbox.Run(&options)
		return err
	}
	// What follows the first word is no subcommand: art run trust runs trust.
	var cmd *ffcli.Command
	isRun := false
	switch word {
	case "push", "pull", "diff", "reset", "status", "log", "list", "rm":
		return cli.ExitError, runSync(args)
	case "home":
		return runHome(args[1:])
	case "agent":
		return runAgent(args[1:])
	case "config":
		cmd, args = configCommand(&options), args[1:]
	case "trust":
		cmd, args = trustCommand(), args[1:]
	case "presets":
		cmd, args = presetsCommand(&code), args[1:]
	case "doctor":
		cmd, args = doctorCommand(&options, &code, args[1:])
	case "run":
		cmd, args, isRun = runCommand(&options, run), args[1:], true
	default:
		cmd = command(&options, run)
		if isRun = preset.Is(word); isRun {
			cmd = runCommand(&options, run)
		}
	}
	if err := cmd.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return cli.OK, nil
	} else if err != nil {
		err = usageError(err)
		if isRun && strings.HasSuffix(err.Error(), ": -mode") {
			err = cli.WithHint(err, "run is overlay; art -m . COMMAND is direct")
		}
		return cli.ExitArt, err
	}
	if name := named(args, cmd.FlagSet.Args()); agent.Is(name) && options.Agent == "" {
		options.Agent = name
	} else if options.Preset == "" && preset.Is(name) {
		options.Preset = name
	}
	if err := cmd.Run(context.Background()); err != nil {
		return cli.ExitArt, err
	}
	return code, nil
}

// named returns the first word of a command, which is what args has after the flags, or "": one after -- is no name of
// art's.
func named(args, command []string) string {
	flags := args[:len(args)-len(command)]
	if len(command) == 0 || len(flags) > 0 && flags[len(flags)-1] == "--" {
		return ""
	}
	return command[0]
}

// runSync becomes art-sync, which has the flags of its subcommands to itself. By its name it knows that a database
// need not be named.
func runSync(args []string) error {
	path, err := libexec.Find("art-sync")
	if err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{"art"}, args...), libexec.Environ())
	return fmt.Errorf("run art-sync: %w", err)
}
