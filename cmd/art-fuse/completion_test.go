package main

import (
	"flag"
	"io"
	"testing"

	"github.com/riverlytech/art/internal/packaging/completions"
)

func TestCompletionsOfferEveryFlag(t *testing.T) {
	root := rootCommand(io.Discard)
	commands := map[string]*flag.FlagSet{prog: root.FlagSet}
	for _, c := range root.Subcommands {
		if c.Name != "serve" { // it is art's
			commands[prog+" "+c.Name] = c.FlagSet
		}
	}
	if err := completions.Compare(commands); err != nil {
		t.Error(err)
	}
}
