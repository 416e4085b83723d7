package main

import (
	"flag"
	"slices"
	"testing"

	"github.com/riverlytech/art/internal/cli"
)

// TestOverviewFlags holds the flags to those that cmd/art's tests compare with manual and completions.
func TestOverviewFlags(t *testing.T) {
	want := map[string][]string{
		"status": {"agent", "d", "db", "json", "m", "mount"},
		"log":    {"agent", "d", "db", "json", "m", "mount"},
		"list":   {"json"},
		"rm":     {"force", "q", "quiet"},
	}
	for _, c := range overviewCommands() {
		var flags []string
		c.FlagSet.VisitAll(func(f *flag.Flag) { flags = append(flags, f.Name) })
		if !slices.Equal(flags, want[c.Name]) {
			t.Errorf("art %s has the flags %q", c.Name, flags)
		}
		if !slices.Contains(cli.Words, c.Name) {
			t.Errorf("%s is no word of art's", c.Name)
		}
	}
}
