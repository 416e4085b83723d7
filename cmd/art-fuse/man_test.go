package main

import (
	"flag"
	"io"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

func TestManPageHasEveryFlag(t *testing.T) {
	root := rootCommand(io.Discard)
	commands := map[string]*flag.FlagSet{prog: root.FlagSet}
	for _, c := range root.Subcommands {
		commands[prog+" "+c.Name] = c.FlagSet
	}
	if err := man.Compare("art-fuse.1", commands); err != nil {
		t.Error(err)
	}
}
