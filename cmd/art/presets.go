package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/doctor"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox"
)

// presetsCommand returns the command line of art presets, which sets code. Flags may come before check and after it.
func presetsCommand(code *int) *ffcli.Command {
	var asJSON, schema bool
	fs := flag.NewFlagSet("art presets", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&asJSON, "json", false, "")
	fs.BoolVar(&schema, "schema", false, "")
	return &ffcli.Command{
		Name:      "art presets",
		FlagSet:   fs,
		UsageFunc: func(*ffcli.Command) string { return usage },
		Exec: func(_ context.Context, args []string) (err error) {
			var names []string
			for len(args) > 0 {
				names = append(names, args[0])
				if err := fs.Parse(args[1:]); err != nil {
					return usageError(fmt.Errorf("error parsing commandline arguments: %w", err))
				}
				args = fs.Args()
			}
			switch {
			case schema:
				_, err = io.WriteString(os.Stdout, preset.Schema())
			case len(names) == 0:
				*code, err = sandbox.ListPresets(os.Stdout, asJSON)
			case names[0] != "check" || len(names) > 2:
				return cli.WithHint(fmt.Errorf("read the command line: %q is no command of art presets", names[0]), "art presets, or art presets check NAME")
			case len(names) == 1:
				return cli.WithHint(fmt.Errorf("read the command line: art presets check: no preset given"), "art presets lists them")
			default:
				var findings []doctor.Finding
				if findings, err = checkPreset(names[1]); err == nil {
					*code, err = doctor.Tell(findings, asJSON, os.Stdout)
				}
			}
			return err
		},
	}
}

// checkPreset says what a preset finds on this host.
func checkPreset(name string) (findings []doctor.Finding, err error) {
	checks, err := sandbox.CheckPreset(name)
	for _, c := range checks {
		f := doctor.Finding{What: c.What, Says: c.Says, Fix: c.Fix}
		switch {
		case c.Failed:
			f.State = doctor.Fail
		case c.Fix != "":
			f.State = doctor.Note
		}
		findings = append(findings, f)
	}
	return findings, err
}
