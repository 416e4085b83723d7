package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/packaging/completions"
	"github.com/riverlytech/art/internal/sandbox"
)

func TestCompletionsOfferEveryFlag(t *testing.T) {
	var o sandbox.Options
	doctor := command(&o, nil).FlagSet
	doctor.Bool("attack", false, "")
	doctor.Bool("json", false, "")
	if err := completions.Compare(map[string]*flag.FlagSet{
		"art":        command(&o, nil).FlagSet,
		"art run":    runCommand(&o, nil).FlagSet,
		"art config": configCommand(&o).FlagSet,
		"art trust":  trustCommand().FlagSet,
		"art doctor": doctor,
	}); err != nil {
		t.Error(err)
	}
}
