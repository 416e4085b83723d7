package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"

	"github.com/peterbourgon/ff/v3/ffcli"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/inspect"
	"github.com/riverlytech/art/sqlvfs"
)

const lsUsage = `usage: art-fuse ls DB [PATH...] [-l] [-p] [--json]

List directories of a database; PATH is "/" unless given, which is
/home/agent in a session. Nothing is mounted and nothing is changed.

  -l      show attributes, one line an entry, as ls -l does
  -p      write a slash after the name of a directory
  --json  an object a line, with all attributes

examples:
  art-fuse ls work.db
  art-fuse ls work.db /work -l
`

const catUsage = `usage: art-fuse cat DB PATH... [--base DIR [--name NAME]]

Print the content of files in a database, byte for byte.

  --base DIR   workspace on the host that the database lies over: supplies
               what a file that was changed in part does not hold itself
  --name NAME  name of the workspace in the database (default: base name
               of DIR)

example:
  art-fuse cat work.db /work/README.md
`

const statUsage = `usage: art-fuse stat DB [PATH...] [--json]

Print all that a database knows of files: attributes, times to the
nanosecond, where they come from, and how much content it holds.

  --json  an object a line

example:
  art-fuse stat work.db /work/README.md
`

const treeUsage = `usage: art-fuse tree DB [PATH...] [--json]

List everything that a database holds below a directory ("/" unless given).

  --json  an object a line, with all attributes

example:
  art-fuse tree work.db
`

type inspector func(io.Writer, *sqlvfs.Store, string, inspect.Options) error

func lsCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse ls", flag.ContinueOnError)
	var opt inspect.Options
	set.BoolVar(&opt.Long, "l", false, "")
	set.BoolVar(&opt.Slash, "p", false, "")
	set.BoolVar(&opt.JSON, "json", false, "")
	return inspectCommand("ls", lsUsage, set, &opt, stdout, inspect.Ls)
}

func catCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse cat", flag.ContinueOnError)
	var opt inspect.Options
	set.StringVar(&opt.Base, "base", "", "")
	set.StringVar(&opt.Name, "name", "", "")
	return inspectCommand("cat", catUsage, set, &opt, stdout, inspect.Cat)
}

func statCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse stat", flag.ContinueOnError)
	var opt inspect.Options
	set.BoolVar(&opt.JSON, "json", false, "")
	return inspectCommand("stat", statUsage, set, &opt, stdout, inspect.Stat)
}

func treeCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse tree", flag.ContinueOnError)
	var opt inspect.Options
	set.BoolVar(&opt.JSON, "json", false, "")
	return inspectCommand("tree", treeUsage, set, &opt, stdout, inspect.Tree)
}

// inspectCommand makes a command that shows paths of a database opened for reading.
func inspectCommand(name, usage string, set *flag.FlagSet, opt *inspect.Options, stdout io.Writer, show inspector) *ffcli.Command {
	return &ffcli.Command{
		Name:      name,
		FlagSet:   set,
		Options:   options,
		UsageFunc: func(*ffcli.Command) string { return usage },
		Exec: func(_ context.Context, args []string) error {
			args, err := flagsAnywhere(set, args)
			switch {
			case err != nil:
				return err
			case len(args) == 0:
				return usageError(name + " needs a database")
			case len(args) == 1 && name == "cat":
				return usageError("cat needs a path")
			}
			paths := args[1:]
			if len(paths) == 0 {
				paths = []string{"/"}
			}
			if opt.Base != "" {
				if opt.Base, opt.Name, err = workspace(opt.Base, opt.Name); err != nil {
					return err
				}
			}
			if f, ok := stdout.(*os.File); ok {
				opt.Terminal = term.IsTerminal(int(f.Fd()))
			}
			store, err := openStore(args[0], false)
			if err != nil {
				return err
			}
			defer store.Close()
			out := bufio.NewWriter(stdout)
			for _, path := range paths {
				if err := show(out, store, path, *opt); err != nil {
					out.Flush() // what came before the error, before it
					return err
				}
			}
			return out.Flush()
		},
	}
}

// flagsAnywhere lets flags stand behind the arguments that they are about, as in `ls DB PATH -l`.
func flagsAnywhere(set *flag.FlagSet, args []string) (rest []string, err error) {
	for len(args) > 0 {
		if args[0] == "--" {
			return append(rest, args[1:]...), nil
		}
		if len(args[0]) > 1 && args[0][0] == '-' {
			if err := set.Parse(args); err != nil {
				return nil, flagError(err)
			}
			args = set.Args()
			continue
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	return rest, nil
}

// flagError turns the flag package's error into one of ours, but for the wish for help.
func flagError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usageError(err.Error())
}

// workspace returns the absolute path of a host directory and the name it has in the tree.
func workspace(dir, name string) (string, string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	if name == "" {
		name = filepath.Base(dir)
	}
	if !sqlvfs.ValidName(name) {
		return "", "", usageError(name + " cannot be the name of a workspace; give --name")
	}
	return dir, name, nil
}
