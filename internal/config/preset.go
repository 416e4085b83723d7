package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/hold"
)

// Preset is what a program needs of the host and of art, to be run by its name.
type Preset struct {
	// Name is what it is called by, and Origin says so where its settings are shown.
	Name, Origin string
	// Program are names of the program, the first that is found to be taken.
	Program []string
	// About is a line about it.
	About string
	// Home is the name of its home.
	Home string
	// Settings are its settings, with Set.
	Settings *Settings
	// Arguments come before the caller's.
	Arguments []string
	// Unasked come after these where what the program changes stays apart: with them it does not ask before it does
	// something.
	Unasked []string
	// Subcommands are first arguments with which the program does not take Unasked.
	Subcommands []string
	// UnaskedSet are variables for the same.
	UnaskedSet []Value
	// Sandbox says why the program's own sandbox is off, or allowed.
	Sandbox string
	// Network is what it reaches, and may by each network by name.
	Network []Reach
	// Hosts are the names of other hosts that it talks to.
	Hosts []string
	// Secrets are its keys, as the user's settings could keep them from it.
	Secrets []Secret
	// Hold are the files of a workspace that pull holds back, beside those that it always does.
	Hold []hold.Pattern
	// Seed are files of the caller's home that are of use in its own.
	Seed []Seed
	// Login, Hooks and Limits are paragraphs of the manual.
	Login, Hooks, Limits string
}

// Seed is a file below the caller's home, and why it is safe to copy.
type Seed struct{ Path, Why string }

// IsPresetName says whether a preset may have that name: also a file, a home and a word of a command line. A regular
// expression would be compiled at each start of each program.
func IsPresetName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	return name != "" && len(name) <= 64 && strings.IndexByte(letters, name[0]) >= 0 && strings.Trim(name, letters+"._-") == ""
}

// ReadPreset reads the text of a preset, which errors name as file. home is the caller's home directory and allowed
// what its settings may allow.
func ReadPreset(name, file, home string, text []byte, allowed []string) (*Preset, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: it is larger than %d bytes", file, maxFile)
	}
	root, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	p := &Preset{Name: name, Origin: "preset " + name, Home: name, Settings: &Settings{Limits: map[string]Limit{}}}
	if err := root.object(p.keys(&source{name: file, home: home, allowed: allowed})); err != nil {
		return nil, err
	}
	if len(p.Program) == 0 {
		return nil, root.errorf(`the key "program" is missing`)
	}
	p.Settings.cameFrom(p.Origin)
	for i := range p.UnaskedSet {
		p.UnaskedSet[i].Origin = p.Origin
	}
	return p, nil
}

// keys are the keys of a preset, each with what reads its value.
func (p *Preset) keys(src *source) map[string]func(*node) error {
	settings := presetSettings(src, p.Settings)
	return map[string]func(*node) error{
		"$schema":     text(new(string)),
		"program":     texts(&p.Program, "the name of a program", isWord),
		"about":       text(&p.About),
		"home":        p.home,
		"settings":    func(n *node) error { return n.object(settings) },
		"set":         p.variables(&p.Settings.Set),
		"unasked_set": p.variables(&p.UnaskedSet),
		"arguments":   texts(&p.Arguments, "", nil),
		"unasked":     texts(&p.Unasked, "", nil),
		"subcommands": texts(&p.Subcommands, "", nil),
		"sandbox":     text(&p.Sandbox),
		"network":     p.reaches,
		"hosts":       texts(&p.Hosts, "the name of a host", isHost),
		"secrets":     func(n *node) error { return n.secrets(&p.Secrets) },
		"hold":        p.holds,
		"seed":        p.seeds,
		"login":       text(&p.Login),
		"hooks":       text(&p.Hooks),
		"limits":      text(&p.Limits),
	}
}

// presetSettings are the keys of a preset's settings.
func presetSettings(src *source, s *Settings) map[string]func(*node) error {
	keys := src.keys(s, new(bool))
	for _, key := range []string{"$schema", "enabled", "home"} {
		delete(keys, key)
	}
	return keys
}

func (p *Preset) home(n *node) error {
	name, err := n.text()
	if err == nil && !IsPresetName(name) {
		err = n.errorf("%q is not the name of a home: small letters, digits, dots, and - and _", name)
	}
	p.Home, p.Settings.Home.Value = name, name
	return err
}

// variables returns what reads variables with their values.
func (p *Preset) variables(into *[]Value) func(*node) error {
	return func(n *node) error {
		members, ok := n.value.([]member)
		if !ok {
			return n.unexpected("an object")
		}
		return readVariables(members, into)
	}
}

func readVariables(members []member, into *[]Value) error {
	for _, m := range members {
		name, err := variable(m.value, m.key)
		if err != nil {
			return err
		}
		value, ok := m.value.value.(string) // also an empty one
		switch {
		case !ok:
			return m.value.unexpected("a string")
		case name == "" || strings.ContainsRune(name+value, 0):
			return m.value.errorf("the variable %q has no name, or holds a NUL character", name)
		}
		*into = append(*into, Value{Name: name, Value: value})
	}
	return nil
}

// holds reads patterns, several for a reason.
func (p *Preset) holds(n *node) error {
	return n.list(func(item *node) error {
		var patterns []string
		var why string
		err := item.object(map[string]func(*node) error{"patterns": texts(&patterns, "", nil), "why": text(&why)})
		switch {
		case err != nil:
			return err
		case len(patterns) == 0:
			return item.errorf(`the key "patterns" is missing`)
		case why == "":
			return item.errorf(`the key "why" is missing`)
		case len(p.Hold)+len(patterns) > hold.MaxPatterns:
			return item.errorf("there are more than %d patterns", hold.MaxPatterns)
		}
		if err := hold.CheckWhy(why); err != nil {
			return item.errorf("the reason %.40q: %v", why, err)
		}
		for _, pattern := range patterns {
			if err := hold.Check(pattern); err != nil {
				return item.errorf("the pattern %.40q: %v", pattern, err)
			}
			p.Hold = append(p.Hold, hold.Pattern{Text: pattern, Why: why})
		}
		return nil
	})
}

func (p *Preset) seeds(n *node) error {
	return n.list(func(item *node) error {
		var s Seed
		err := item.object(map[string]func(*node) error{"path": text(&s.Path), "why": text(&s.Why)})
		switch {
		case err != nil:
		case !filepath.IsLocal(s.Path) || s.Path == ".":
			err = item.errorf("the path %q is not below the home", s.Path)
		case s.Why == "":
			err = item.errorf(`the key "why" is missing`)
		}
		s.Path = filepath.Clean(s.Path)
		p.Seed = append(p.Seed, s)
		return err
	})
}

// text returns what reads a string.
func text(into *string) func(*node) error {
	return func(n *node) (err error) {
		*into, err = n.text()
		return err
	}
}

// texts returns what reads a list of strings, each of which is what is checked, if that is asked.
func texts(into *[]string, what string, is func(string) bool) func(*node) error {
	return func(n *node) error {
		return n.list(func(item *node) error {
			s, err := item.text()
			if err == nil && is != nil && !is(s) {
				err = item.errorf("%q is not %s", s, what)
			}
			*into = append(*into, s)
			return err
		})
	}
}

func isWord(s string) bool {
	return !strings.Contains(s, "/") && s != "." && s != ".." && !strings.HasPrefix(s, "-")
}

func isHost(s string) bool { return !strings.ContainsAny(s, "/: \t\n") }

// cameFrom says of all settings where they came from.
func (s *Settings) cameFrom(origin string) {
	for _, e := range []*Entry{&s.Network, &s.NetAsk, &s.Path, &s.End, &s.Checkpoints, &s.GuestCheckpoints, &s.Home} {
		if e.Value != "" {
			e.Origin = origin
		}
	}
	for _, list := range [][]Entry{s.NetAllow, s.NetDeny, s.Publish, s.SSH.Hosts, s.SSH.Keys, s.Env, s.Hide, s.Allow, s.See, s.Tools, s.Own} {
		for i := range list {
			list[i].Origin = origin
		}
	}
	for i := range s.Mounts {
		s.Mounts[i].Origin = origin
	}
	for i := range s.Set {
		s.Set[i].Origin = origin
	}
	for i := range s.Secrets {
		s.Secrets[i].Origin = origin
	}
	for _, limits := range []map[string]Limit{s.Limits, s.Keep} {
		for name, limit := range limits {
			limits[name] = Limit{limit.Value, origin}
		}
	}
}

// Stack returns the settings of base with those of upper, which the user trusts as much, over them: both lists hold, and of
// what there is one of, upper's.
func Stack(base, upper *Settings) *Settings {
	out := *base
	if upper.Network.Value != "" {
		out.Network, out.NetAllow, out.NetDeny, out.NetAsk = upper.Network, upper.NetAllow, upper.NetDeny, upper.NetAsk
	}
	if upper.SSH.Hosts != nil {
		out.SSH = upper.SSH
	}
	if upper.Path.Value != "" {
		out.Path = upper.Path
	}
	if upper.Systemd.Value != "" {
		out.Systemd = upper.Systemd
	}
	if upper.Commands.Value != "" {
		out.Commands = upper.Commands
	}
	if upper.Replicate.Value != "" {
		out.Replicate = upper.Replicate
	}
	if upper.Flatten.Value != "" {
		out.Flatten = upper.Flatten
	}
	if upper.Notify.Value != "" {
		out.Notify = upper.Notify
	}
	if upper.End.Value != "" {
		out.End = upper.End
	}
	if upper.Checkpoints.Value != "" {
		out.Checkpoints = upper.Checkpoints
	}
	if upper.GuestCheckpoints.Value != "" {
		out.GuestCheckpoints = upper.GuestCheckpoints
	}
	if upper.Home.Value != "" {
		out.Home = upper.Home
	}
	if upper.Tools != nil {
		out.Tools = upper.Tools
	}
	if upper.Own != nil {
		out.Own = upper.Own
	}
	out.Secrets = stackSecrets(base.Secrets, upper.Secrets)
	out.Publish = slices.Concat(base.Publish, upper.Publish)
	out.Env = slices.Concat(base.Env, upper.Env)
	out.Hide = slices.Concat(base.Hide, upper.Hide)
	out.Allow = slices.Concat(base.Allow, upper.Allow)
	out.See = slices.Concat(base.See, upper.See)
	out.Set = slices.Concat(base.Set, upper.Set)
	out.Values = slices.Concat(base.Values, upper.Values)
	out.Mounts = slices.DeleteFunc(slices.Clone(base.Mounts), func(m Mount) bool {
		return slices.ContainsFunc(upper.Mounts, func(u Mount) bool { return u.Guest == m.Guest })
	})
	out.Mounts = append(out.Mounts, upper.Mounts...)
	out.Limits, out.Keep = map[string]Limit{}, map[string]Limit{}
	for _, s := range []*Settings{base, upper} {
		maps.Copy(out.Limits, s.Limits)
		maps.Copy(out.Keep, s.Keep)
	}
	return &out
}

// PresetKeys are the keys of a preset, and of its settings, sorted.
func PresetKeys() (whole, settings []string) {
	p := &Preset{Settings: &Settings{}}
	src := &source{}
	keys := presetSettings(src, p.Settings)
	for _, key := range []string{"workspace", "db", "mode", "notify", "systemd", "commands", "keep", "replicate", "flatten"} { // which an error explains
		delete(keys, key)
	}
	return names(p.keys(src)), names(keys)
}
