package main

import (
	"flag"
	"io"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

func TestHelpHasEveryFlag(t *testing.T) {
	root := rootCommand(io.Discard)
	commands := map[string]*flag.FlagSet{prog: root.FlagSet}
	for _, c := range root.Subcommands {
		commands[prog+" "+c.Name] = c.FlagSet
		if missing := man.Unnamed(c.UsageFunc(c), c.FlagSet); missing != nil {
			t.Errorf("the usage of %s does not name %q", c.Name, missing)
		}
	}
	if missing := man.Unnamed(usage, root.FlagSet); missing != nil {
		t.Errorf("the usage does not name %q", missing)
	}
	if err := man.Compare("art-fuse.1", commands); err != nil {
		t.Error(err)
	}
}
