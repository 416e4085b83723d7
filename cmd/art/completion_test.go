package main

import (
	"flag"
	"testing"

	"github.com/riverlytech/art/internal/agent"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/packaging/completions"
	"github.com/riverlytech/art/internal/sandbox"
)

func TestCompletionsOfferEveryFlag(t *testing.T) {
	var o sandbox.Options
	doctor := command(&o, nil).FlagSet
	doctor.Bool("attack", false, "")
	doctor.Bool("json", false, "")
	// Those of art-sync's that are art's alone.
	of := func(names ...string) *flag.FlagSet {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		for _, name := range names {
			set.Bool(name, false, "")
		}
		return set
	}
	if err := completions.Compare(map[string]*flag.FlagSet{
		"art":         command(&o, nil).FlagSet,
		"art run":     runCommand(&o, nil).FlagSet,
		"art status":  of("m", "mount", "d", "db", "agent", "json"),
		"art log":     of("m", "mount", "d", "db", "agent", "json"),
		"art list":    of("json"),
		"art rm":      of("force", "q", "quiet"),
		"art config":  configCommand(&o).FlagSet,
		"art trust":   trustCommand().FlagSet,
		"art presets": presetsCommand(nil).FlagSet,
		"art agent":   agentCommand(new(agent.Options)),
		"art home":    homeCommand(new(home.Options)),
		"art doctor":  doctor,
	}); err != nil {
		t.Error(err)
	}
}
