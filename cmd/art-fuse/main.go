// Command art-fuse serves the tree of a database: to a sandbox (serve), as a directory for anyone
// (mount), or a piece at a time on the terminal (ls, cat, stat, tree). It also looks for damage in
// one (check), copies one (backup), and makes one independent of the host (flatten).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/inspect"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-fuse"

func main() {
	if err := libexec.CheckCaller(prog); err != nil {
		cli.Fail(prog, err)
		os.Exit(cli.ExitError)
	}
	// SQLite makes its log and index beside the database with the mode that umask leaves, and what is in
	// a database is for its owner alone.
	syscall.Umask(0o077)
	os.Exit(run(os.Args[1:], os.Stdout))
}

// commands are what art-fuse does, by its word.
var commands = map[string]func(*flags.Command, []string, io.Writer) error{
	"ls": look(inspect.Ls), "cat": look(inspect.Cat), "stat": look(inspect.Stat), "tree": look(inspect.Tree),
	"mount": runMount, "check": runCheck, "backup": runBackup, "flatten": runFlatten,
}

// run executes a command line and returns the exit code: 1 for a failure, 2 for wrong usage.
func run(args []string, stdout io.Writer) int {
	err := dispatch(args, stdout)
	text, wanted := flags.Help(err)
	switch {
	case wanted:
		io.WriteString(stdout, text)
		return cli.OK
	case err == nil:
		return cli.OK
	case !errors.As(err, new(reported)):
		cli.Fail(prog, err)
	}
	if errors.As(err, new(flags.UsageError)) {
		return cli.ExitUsage
	}
	return cli.ExitError
}

func dispatch(args []string, stdout io.Writer) error {
	if len(args) > 0 {
		if args[0] == "serve" {
			return runServe(args[1:])
		}
		if do := commands[args[0]]; do != nil {
			return do(flags.Find(prog+" "+args[0]), args[1:], stdout)
		}
	}
	var showVersion bool
	_, err := flags.Fuse.Parse(args, map[string]any{"version": &showVersion})
	switch {
	case err != nil:
		return err
	case !showVersion:
		return flags.Fuse.NoCommand()
	}
	_, err = fmt.Fprintf(stdout, "%s %s\n", prog, version.Version)
	return err
}

// reported is an error that the user knows already.
type reported struct{ error }
