package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

func TestHelpHasEveryFlag(t *testing.T) {
	version := flag.NewFlagSet("", flag.ContinueOnError)
	version.Bool("version", false, "")
	commands := map[string]*flag.FlagSet{prog: version}
	for _, name := range []string{"push", "pull", "diff", "reset"} {
		c, err := newSubcommand(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		commands[prog+" "+name] = c.FlagSet
		if missing := man.Unnamed(usages[name], c.FlagSet); missing != nil {
			t.Errorf("the usage of %s does not name %q", name, missing)
		}
	}
	if err := man.Compare("art-sync.1", commands); err != nil {
		t.Error(err)
	}
}
