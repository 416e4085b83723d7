package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sandbox"
)

// trustCommand returns the command line of art trust. Its flags have no environment
// variables: trust is given by who types it.
func trustCommand() *ffcli.Command {
	var o sandbox.TrustOptions
	fs := flag.NewFlagSet("art trust", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.Workspace, "mount", ".", "")
	fs.BoolVar(&o.Revoke, "revoke", false, "")
	fs.BoolVar(&o.DryRun, "dry-run", false, "")
	fs.BoolVar(&o.JSON, "json", false, "")
	short(fs, map[string]string{"m": "mount"})
	return &ffcli.Command{
		Name:      "art trust",
		FlagSet:   fs,
		UsageFunc: func(*ffcli.Command) string { return usage },
		Exec: func(_ context.Context, args []string) error {
			given := false
			fs.Visit(func(f *flag.Flag) { given = given || f.Name == "mount" })
			switch {
			case slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }):
				return cli.WithHint(fmt.Errorf("read the command line: the flag %s comes after the directory", args[len(args)-1]), "put flags before it: art trust "+args[len(args)-1]+" DIR")
			case len(args) > 1, len(args) == 1 && given:
				return cli.WithHint(fmt.Errorf("read the command line: %q is one directory too many", args[len(args)-1]), "see art --help")
			case len(args) == 1:
				o.Workspace = args[0]
			}
			return sandbox.Trust(&o, os.Stdout)
		},
	}
}
