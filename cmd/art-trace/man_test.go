package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/packaging/man"
)

func TestManPageHasEveryFlag(t *testing.T) {
	if err := man.Compare("art-trace.1", map[string]*flag.FlagSet{prog: new(options).flags()}); err != nil {
		t.Error(err)
	}
}
