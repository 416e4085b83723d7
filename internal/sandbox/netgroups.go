package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/registries"
)

// addGroups puts rules in the place of groups of them, of a network by name. What the session's preset reaches is among them without
// being asked for: the user has named the agent, which is of no use without. What settings deny is left out, also where a flag takes
// the place of what they allow.
func (o *request) addGroups(s *config.Settings) error {
	if s.Network.Value != config.NetworkNames {
		return nil
	}
	denied, err := netrule.ParseDeny(append(values(s.NetDeny), values(o.denied)...))
	if err != nil {
		return err
	}
	asked := values(s.NetAllow)
	packages := slices.Contains(asked, config.GroupPackages)
	s.NetAllow = slices.DeleteFunc(slices.Clone(s.NetAllow), func(e config.Entry) bool {
		return e.Value == config.GroupAgent || e.Value == config.GroupPackages
	})
	add := func(list *[]config.Entry, text, origin string) error {
		r, err := netrule.Parse(text)
		if err == nil && !denied.Denies(r) && !slices.Contains(values(*list), text) {
			*list = append(*list, config.Entry{Value: text, Origin: origin})
		}
		return err
	}
	if o.preset != nil {
		for _, reach := range o.preset.Network {
			for _, host := range reach.Hosts {
				if err := add(&s.NetAllow, host, o.preset.Origin); err != nil {
					return err
				}
			}
		}
	}
	if packages {
		for _, p := range o.findPackages(s) {
			origin := config.GroupPackages + ": " + p.Tool + ", " + p.From
			err := add(&s.NetAllow, p.Rule, origin)
			if err == nil && p.Configured && slices.Contains(values(s.NetAllow), p.Rule) {
				err = add(&s.NetLocal, p.Rule, origin)
			}
			if err != nil {
				return err
			}
		}
	}
	if len(s.NetAllow) == 0 && s.NetAsk.Value != "true" && !o.Learn {
		s.Network.Value, s.NetDeny = "none", nil
		if len(asked) > 0 { // also with -q: who asked for something is to know that there is nothing
			fmt.Fprintf(os.Stderr, "art: warning: network %s: that is nothing here: the network is none\n", strings.Join(asked, ","))
		}
	}
	return nil
}

// findPackages returns where the user's package managers fetch from. No file counts that is in the workspace, or where a guest writes.
func (o *request) findPackages(s *config.Settings) []registries.Place {
	places, warnings := registries.Find(&registries.User{
		Getenv: os.Getenv, Environ: os.Environ(), Home: os.Getenv("HOME"),
		Guest: func(path string) bool {
			return paths.Within(path, paths.Resolve(s.Workspace.Value)) || slices.ContainsFunc(s.Mounts, func(m config.Mount) bool {
				return m.Writes() && paths.Within(path, paths.Resolve(m.On(s.Workspace.Value)))
			})
		},
	})
	if !o.Quiet {
		for _, w := range warnings {
			fmt.Fprintf(os.Stderr, "art: warning: packages: %s\n", cli.Printable(w.Error()))
		}
	}
	return places
}
