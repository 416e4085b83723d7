package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/packaging/completions"
)

func TestCompletionsOfferEveryFlag(t *testing.T) {
	version := flag.NewFlagSet("", flag.ContinueOnError)
	version.Bool("version", false, "")
	commands := map[string]*flag.FlagSet{prog: version}
	for _, name := range []string{"push", "pull", "diff", "reset"} {
		c, err := newSubcommand(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		commands[prog+" "+name] = c.FlagSet
		commands["art "+name] = c.FlagSet
	}
	if err := completions.Compare(commands); err != nil {
		t.Error(err)
	}
}
