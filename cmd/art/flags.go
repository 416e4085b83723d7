package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/sandbox"
	"github.com/riverlytech/art/internal/version"
)

// command returns the command line of art, which fills o and then calls run.
func command(o *sandbox.Options, run func(context.Context, []string) error) *ffcli.Command {
	cmd := runCommand(o, run)
	cmd.FlagSet.StringVar(&o.Mode, "mode", "", "")
	return cmd
}

// runCommand returns the command line of art run, which fills o and then calls run.
func runCommand(o *sandbox.Options, run func(context.Context, []string) error) *ffcli.Command {
	fs := flag.NewFlagSet("art", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are told in art's own words
	var (
		trace       sandbox.Trace
		traced      bool
		network     string
		path        string
		showVersion bool
	)
	fs.StringVar(&o.Workspace, "mount", ".", "")
	fs.StringVar(&o.Database, "db", "", "")
	fs.StringVar(&o.Name, "name", "", "")
	fs.StringVar(&o.Home, "home", "", "")
	fs.StringVar(&o.Agent, "agent", "", "")
	fs.BoolVar(&o.Adopt, "adopt", false, "")
	fs.BoolVar(&o.Interactive, "interactive", true, "")
	fs.BoolVar(&traced, "trace", false, "")
	fs.StringVar(&trace.Log, "trace-log", "", "")
	fs.StringVar(&trace.Syscalls, "trace-syscalls", "", "")
	fs.StringVar(&trace.Format, "trace-format", "text", "")
	fs.StringVar(&network, "network", "", "")
	fs.StringVar(&path, "path", "", "")
	fs.Var((*list)(&o.Env), "env", "")
	fs.StringVar(&o.Preset, "preset", "", "")
	fs.Var((*list)(&o.See), "see", "")
	fs.Var((*list)(&o.Hide), "hide", "")
	fs.Var((*list)(&o.Allow), "allow", "")
	fs.BoolVar(&o.Quiet, "quiet", false, "")
	fs.BoolVar(&showVersion, "version", false, "")
	short(fs, map[string]string{"m": "mount", "d": "db", "i": "interactive", "e": "env", "q": "quiet"})

	return &ffcli.Command{
		Name:      "art",
		FlagSet:   fs,
		UsageFunc: func(*ffcli.Command) string { return usage },
		Options:   []ff.Option{ff.WithEnvVarPrefix("ART")},
		Exec: func(ctx context.Context, args []string) error {
			if showVersion {
				fmt.Println("art", version.Version)
				return nil
			}
			given := map[string]bool{}
			fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
			o.DefaultWorkspace = !given["mount"]
			o.NoHome = given["home"] && o.Home == ""
			switch {
			case network == "host", network == "none", !given["network"]:
				o.Network = network
			default:
				return cli.WithHint(fmt.Errorf("read --network: %q is not a network", network), "use host or none")
			}
			switch {
			case path == "home", path == "host", !given["path"]:
				o.Path = path
			default:
				return cli.WithHint(fmt.Errorf("read --path: %q is neither home nor host", path), "use home, or host for the workspace at its own path too")
			}
			switch trace.Format {
			case "text", "json", "summary", "report":
			default:
				return cli.WithHint(fmt.Errorf("read --trace-format: %q is not a format", trace.Format), "use text, json, summary or report")
			}
			switch {
			case fs.Lookup("mode") == nil:
				o.Mode = sandbox.Overlay
			case o.Mode != "" && o.Mode != sandbox.Direct && o.Mode != sandbox.Overlay:
				return cli.WithHint(fmt.Errorf("read --mode: %q is not a mode", o.Mode), "use direct or overlay")
			}
			if traced {
				o.Trace = &trace
			}
			o.Command = args
			return run(ctx, args)
		},
	}
}

// configCommand returns the command line of art config: art's own, to which a command does not
// belong.
func configCommand(o *sandbox.Options) *ffcli.Command {
	var schema, asJSON bool
	cmd := command(o, func(_ context.Context, args []string) error {
		switch {
		case len(args) > 0:
			return cli.WithHint(fmt.Errorf("read the command line: %q is no flag", args[0]), "see art --help")
		case schema:
			_, err := fmt.Print(config.Schema)
			return err
		}
		return sandbox.Show(o, os.Stdout, asJSON)
	})
	cmd.FlagSet.BoolVar(&schema, "schema", false, "")
	cmd.FlagSet.BoolVar(&asJSON, "json", false, "")
	return cmd
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// alias is another name of a flag. Setting it sets that flag, which then counts
// as given, so that no environment variable overrides it.
type alias struct {
	fs     *flag.FlagSet
	target *flag.Flag
	primed *bool
}

func (a alias) String() string { return "" }

func (a alias) Set(s string) error {
	if !*a.primed {
		return nil
	}
	return a.fs.Set(a.target.Name, s)
}

func (a alias) IsBoolFlag() bool {
	b, ok := a.target.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// short gives flags a second name. The second names have no environment variable:
// ff looks for those of flags that were not set, so each is set once, to nothing.
func short(fs *flag.FlagSet, names map[string]string) {
	primed := new(bool)
	for name, long := range names {
		fs.Var(alias{fs, fs.Lookup(long), primed}, name, "")
		if err := fs.Set(name, ""); err != nil {
			panic(err) // alias.Set does not fail before it is primed
		}
	}
	*primed = true
}

// usageError makes of an error of package flag, which names neither art nor what
// to do, one of art's.
func usageError(err error) error {
	var text string
	if text = err.Error(); strings.HasPrefix(text, "error parsing ") {
		_, text, _ = strings.Cut(text, ": ")
		return cli.WithHint(errors.New("read the command line: "+text), "see art --help")
	}
	return err
}
