package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/toolchain"
)

// ListPresets writes all presets down, a line for each, with where its program is. It returns the exit code: 1 if one
// cannot be read, which it says on standard error.
func ListPresets(w io.Writer, asJSON bool) (code int, err error) {
	at, err := newPlaces("/nonexistent", nil)
	if err != nil {
		return cli.ExitTrouble, err
	}
	at.host.Skip = nil
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, name := range preset.Names() {
		p, err := preset.Load(name)
		if err != nil {
			cli.Fail("art", err)
			code = cli.ExitError
			continue
		}
		path := ""
		if program := at.host.Find(p.Program...); program != nil {
			path = program.Path
		}
		if asJSON {
			err = e.Encode(struct {
				Name  string  `json:"name"`
				About string  `json:"about"`
				Own   bool    `json:"own"`
				Home  string  `json:"home"`
				Path  *string `json:"path"`
			}{name, p.About, preset.Own(name), p.Home, pointer(path)})
		} else {
			if path == "" {
				path = "not installed"
			} else {
				path = inHome(path)
			}
			_, err = fmt.Fprintf(w, "%-14s %-44s %s\n", name, cli.Printable(p.About), cli.Printable(path))
		}
		if err != nil {
			return cli.ExitTrouble, fmt.Errorf("list the presets: %w", err)
		}
	}
	return code, nil
}

func pointer(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Check is what was found about one thing that a preset needs.
type Check struct {
	What, Says string
	// Fix is what to do, or "".
	Fix string
	// Failed says that it does not run without.
	Failed bool
}

// CheckPreset says what a preset finds on this host.
func CheckPreset(name string) ([]Check, error) {
	p, err := preset.Load(name)
	if err != nil {
		return nil, err
	}
	at, err := newPlaces("/nonexistent", nil)
	if err != nil {
		return nil, err
	}
	at.host.Skip = nil
	program := at.host.Find(p.Program...)
	if program == nil {
		return append([]Check{{
			What: "program", Says: "there is no " + strings.Join(p.Program, " or ") + " in PATH, nor where installers put programs: not in " + lookedIn(&at.host),
			Fix: "install it, or put its directory into PATH", Failed: true,
		}}, checkVariables(p)...), nil
	}
	checks := append([]Check{{What: "program", Says: program.Path}}, at.checkSeen(program)...)
	checks = append(checks, at.checkTools(p)...)
	return append(checks, checkVariables(p)...), nil
}

// lookedIn names the directories in which programs are looked for.
func lookedIn(host *locate.Host) string {
	var dirs []string
	for _, dir := range host.Looked() {
		if dir = inHome(dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ", ")
}

// checkTools says which links in the directories of tools lead to what cannot be shown.
func (p *places) checkTools(preset *config.Preset) (checks []Check) {
	names := values(preset.Settings.Tools)
	if preset.Settings.Tools == nil {
		names = toolchain.Names()
	}
	host := &toolchain.Host{Getenv: os.Getenv, Home: view.Home}
	s := p.seeing()
	for _, name := range names {
		tool := host.Find(name)
		if tool == nil {
			continue
		}
		for _, link := range tool.Links {
			if err := s.add(config.Entry{Value: link, Origin: ofTool + name}); err != nil {
				fix := "let it lead elsewhere, or do without it in art"
				var h cli.Hinted
				if errors.As(err, &h) && h.Hint() != "" {
					fix = h.Hint()
				}
				checks = append(checks, Check{What: "tools", Says: err.Error(), Fix: fix})
			}
		}
	}
	return checks
}

// checkSeen says what has to be seen of the host for a program.
func (p *places) checkSeen(program *locate.Program) (checks []Check) {
	s := p.seeing()
	for _, path := range p.hidden(program.See) {
		if err := s.add(config.Entry{Value: path, Origin: "preset"}); err != nil {
			return append(checks, Check{What: "seen", Says: err.Error(), Fix: "install it for all users", Failed: true})
		}
	}
	for _, seen := range s.seen() {
		says := seen.Path
		if seen.Text != "" {
			says += " -> " + seen.Text
		}
		checks = append(checks, Check{What: "seen", Says: says})
	}
	if program.Missing != "" {
		checks = append(checks, Check{What: "interpreter", Says: program.Missing + " is not there", Fix: "install it, or put its directory into PATH", Failed: true})
	}
	return checks
}

// checkVariables says which of the variables that the preset passes are there, and none of their values.
func checkVariables(p *config.Preset) []Check {
	var there, not []string
	for _, e := range p.Settings.Env {
		if slices.Contains(there, e.Value) || slices.Contains(not, e.Value) {
			continue
		}
		if _, ok := os.LookupEnv(e.Value); ok {
			there = append(there, e.Value)
		} else {
			not = append(not, e.Value)
		}
	}
	switch {
	case there != nil:
		return []Check{{What: "variables", Says: strings.Join(there, ", ")}}
	case not != nil:
		fix := p.Login
		if fix == "" {
			fix = "set the one with its key"
		}
		return []Check{{What: "variables", Says: "none is set of " + strings.Join(not, ", "), Fix: fix}}
	}
	return nil
}
