package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/packaging/completions"
)

func TestCompletionsOfferEveryFlag(t *testing.T) {
	if err := completions.Compare(map[string]*flag.FlagSet{prog: new(options).flags()}); err != nil {
		t.Error(err)
	}
}
