package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

func TestHelpHasEveryFlag(t *testing.T) {
	if missing := man.Unnamed(usage, new(options).flags()); missing != nil {
		t.Errorf("the usage does not name %q", missing)
	}
	if err := man.Compare("art-trace.1", map[string]*flag.FlagSet{prog: new(options).flags()}); err != nil {
		t.Error(err)
	}
}
