// Command art-fuse serves the tree of a database: to a sandbox (serve), as a directory for anyone
// (mount), or a piece at a time on the terminal (ls, cat, stat, tree). It also looks for damage in
// one (check), copies one (backup), and makes one independent of the host (flatten).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

const prog = "art-fuse"

const usage = `usage: art-fuse mount DB DIR [flags]       show a database as a directory
       art-fuse ls   DB [PATH]            list a directory
       art-fuse cat  DB [PATH...]         print files
       art-fuse stat DB [PATH...]         print attributes
       art-fuse tree DB [PATH]            list everything below a directory
       art-fuse check DB [--repair]       look for damage, and mend it
       art-fuse backup DB FILE            copy a database
       art-fuse flatten DB --base DIR     make a database self-contained
       art-fuse --version

Look into a database made by art, also while a session is writing to it.
Nothing is changed, but by flatten, by check when told --repair, and by mount
when told --read-write.

  --base DIR     workspace on the host that the database lies over; without
                 it, only what the database itself holds is there to see
  --name NAME    name of the workspace in the database (default: base name
                 of DIR)

'art-fuse COMMAND --help' tells about the flags of a command.
'art-fuse serve' is for art alone.

examples:
  art-fuse tree work.db
  art-fuse cat work.db /work/README.md
  art-fuse mount work.db /mnt/look && ls /mnt/look/work
`

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

// rootCommand returns the command line of art-fuse.
func rootCommand(stdout io.Writer) *ffcli.Command {
	rootFlags := flag.NewFlagSet(prog, flag.ContinueOnError)
	showVersion := rootFlags.Bool("version", false, "")
	root := &ffcli.Command{
		Name:        prog,
		FlagSet:     rootFlags,
		Options:     options,
		UsageFunc:   func(*ffcli.Command) string { return usage },
		Subcommands: []*ffcli.Command{serveCommand(), mountCommand(), lsCommand(stdout), catCommand(stdout), statCommand(stdout), treeCommand(stdout), checkCommand(stdout), backupCommand(stdout), flattenCommand(stdout)},
		Exec: func(_ context.Context, args []string) error {
			if *showVersion {
				fmt.Fprintf(stdout, "%s %s\n", prog, version.Version)
				return nil
			}
			if len(args) > 0 {
				return usageError(fmt.Sprintf("%q is no command", args[0]))
			}
			return usageError("no command was given")
		},
	}
	for _, c := range append(root.Subcommands, root) {
		// The flag package would print its own words; ours are printed below.
		c.FlagSet.SetOutput(io.Discard)
	}
	return root
}

// run executes a command line and returns the exit code: 1 for a failure, 2 for wrong usage.
func run(args []string, stdout io.Writer) int {
	root := rootCommand(stdout)
	err := root.Parse(args)
	if err == nil {
		err = root.Run(context.Background())
	} else {
		err = flagError(err)
	}
	var wrong usageError
	switch {
	case err == nil:
		return cli.OK
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, helpFor(root, args))
		return cli.OK
	case errors.As(err, &wrong):
		cli.Fail(prog, cli.WithHint(err, "see "+prog+" --help"))
		return cli.ExitUsage
	}
	var done reported
	if !errors.As(err, &done) {
		cli.Fail(prog, err)
	}
	return cli.ExitError
}

// options let every flag be given as an environment variable too.
var options = []ff.Option{ff.WithEnvVarPrefix("ART")}

// usageError is a command line that makes no sense.
type usageError string

func (e usageError) Error() string { return "command line: " + string(e) }

// reported is an error that the user knows already.
type reported struct{ error }

// helpFor finds the usage text of the command that was asked about.
func helpFor(root *ffcli.Command, args []string) string {
	for _, a := range args {
		for _, c := range root.Subcommands {
			if c.Name == a {
				return c.UsageFunc(c)
			}
		}
	}
	return usage
}
