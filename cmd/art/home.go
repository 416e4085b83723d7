package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/preset"
)

// homeFlags are those of what art home does, by its name.
var homeFlags = map[string][]string{"ls": {"json"}, "rm": {"force", "quiet"}, "seed": {"force", "quiet"}, "diff": {"patch", "json"}}

// homeCommand returns the flags of art home. They have no environment variables.
func homeCommand(o *home.Options) *flag.FlagSet {
	fs := flag.NewFlagSet("art home", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&o.JSON, "json", false, "")
	fs.BoolVar(&o.Force, "force", false, "")
	fs.BoolVar(&o.Patch, "patch", false, "")
	fs.BoolVar(&o.Quiet, "quiet", false, "")
	short(fs, map[string]string{"q": "quiet"})
	return fs
}

// runHome runs art home.
func runHome(args []string) (int, error) {
	o := &home.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isTerminal(os.Stdout)}
	fs := homeCommand(o)
	args, err := mixed(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return cli.OK, nil
	}
	if err != nil {
		return cli.ExitArt, cli.WithHint(fmt.Errorf("read the command line: %w", err), "see art --help")
	}
	if isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		o.Answer = os.Stdin
	}
	if err := checkWords("art home", fs, args, homeFlags, "a home"); err != nil {
		return cli.ExitArt, err
	}
	switch args[0] {
	case "ls":
		err = home.List(o)
	case "rm":
		code := cli.OK
		for _, name := range args[1:] {
			if err := home.Remove(name, o); err != nil {
				cli.Fail("art", err)
				code = cli.ExitError
			}
		}
		return code, nil
	case "seed":
		o.Seeds = seeds(args[1])
		err = home.Seed(args[1], args[2:], o)
	case "diff":
		differs, err := home.Diff(args[1], args[2:], o)
		switch {
		case err != nil:
			return cli.ExitTrouble, err
		case differs:
			return cli.ExitDiffers, nil
		}
	}
	if err != nil {
		return cli.ExitError, err
	}
	return cli.OK, nil
}

// seeds returns the paths that presets say are safe to copy into their home.
func seeds(name string) (paths []string) {
	for _, n := range preset.Names() {
		if p, err := preset.Load(n); err == nil && p.Home == name {
			for _, s := range p.Seed {
				paths = append(paths, s.Path)
			}
		}
	}
	return paths
}

// checkWords checks what follows a command whose first word says what it does, to one of what it has; flags has what each
// of these knows.
func checkWords(command string, fs *flag.FlagSet, args []string, flags map[string][]string, one string) (err error) {
	wrong := func(format string, a ...any) error {
		return cli.WithHint(fmt.Errorf("read the command line: "+format, a...), "see art --help")
	}
	words := slices.Sorted(maps.Keys(flags))
	all := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	if len(args) == 0 {
		return wrong("%s does nothing without a word: %s", command, all)
	}
	known, ok := flags[args[0]]
	switch {
	case !ok:
		return wrong("%q is nothing that %s does: %s", args[0], command, all)
	case args[0] == "ls" && len(args) > 1:
		return wrong("%q is one word too many", args[1])
	case args[0] != "ls" && len(args) == 1:
		return wrong("%s %s needs the name of %s", command, args[0], one)
	}
	fs.Visit(func(f *flag.Flag) {
		if len(f.Name) > 1 && !slices.Contains(known, f.Name) {
			err = wrong("%s %s has no flag --%s", command, args[0], f.Name)
		}
	})
	return err
}

// mixed parses flags that stand before, between and after other words, which it returns; -- ends the flags.
func mixed(fs *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return words, nil
		}
		if end := len(args) - len(rest); end > 0 && args[end-1] == "--" {
			return append(words, rest...), nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
