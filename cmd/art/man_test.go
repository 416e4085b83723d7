package main

import (
	"flag"
	"os"
	"testing"

	"github.com/riverlytech/art/internal/agent"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/packaging/man"
	"github.com/riverlytech/art/internal/sandbox"
)

func TestUsageNamesEveryFlag(t *testing.T) {
	var o sandbox.Options
	for _, set := range []*flag.FlagSet{configCommand(&o).FlagSet, trustCommand().FlagSet, homeCommand(new(home.Options)), agentCommand(new(agent.Options)), presetsCommand(nil).FlagSet} {
		if missing := man.Unnamed(usage, set); missing != nil {
			t.Errorf("the usage does not name %q", missing)
		}
	}
}

func TestReadmeNamesEveryFlag(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var o sandbox.Options
	for _, set := range []*flag.FlagSet{configCommand(&o).FlagSet, trustCommand().FlagSet, homeCommand(new(home.Options)), agentCommand(new(agent.Options)), presetsCommand(nil).FlagSet} {
		if missing := man.Unnamed(string(readme), set); missing != nil {
			t.Errorf("README.md does not name %q", missing)
		}
	}
}

func TestManPageHasEveryFlag(t *testing.T) {
	var o sandbox.Options
	own := command(&o, nil).FlagSet
	config := flag.NewFlagSet("", flag.ContinueOnError)
	configCommand(&o).FlagSet.VisitAll(func(f *flag.Flag) {
		if own.Lookup(f.Name) == nil {
			config.Var(f.Value, f.Name, "")
		}
	})
	of := func(names ...string) *flag.FlagSet {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		for _, name := range names {
			set.Bool(name, false, "")
		}
		return set
	}
	doctor := flag.NewFlagSet("", flag.ContinueOnError)
	doctor.Bool("attack", false, "")
	doctor.Bool("json", false, "")
	if err := man.Compare("art.1", map[string]*flag.FlagSet{"art": own, "art config": config, "art trust": trustCommand().FlagSet, "art home": homeCommand(new(home.Options)), "art agent": agentCommand(new(agent.Options)), "art presets": presetsCommand(nil).FlagSet, "art doctor": doctor,
		"art status": of("m", "mount", "workspace", "d", "db", "agent", "json"), "art log": of("m", "mount", "workspace", "d", "db", "agent", "json"), "art list": of("json"), "art rm": of("force", "q", "quiet")}); err != nil {
		t.Error(err)
	}
}
