package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// loadPreset reads the preset that the options name.
func (o *Options) loadPreset() (err error) {
	if o.Preset != "" && o.preset == nil {
		o.preset, err = preset.Load(o.Preset)
	}
	return err
}

// under returns the user's settings with those of the preset over them.
func (o *Options) under(user *config.Settings) *config.Settings {
	if o.preset == nil {
		return user
	}
	return config.Stack(user, o.preset.Settings)
}

// findProgram finds the preset's program on the host, and adds to the settings what it needs. Without one the command is
// as it is: the guest may have one of its own.
func (o *Options) findProgram(s *config.Settings) error {
	if o.preset == nil {
		return nil
	}
	account, err := newAccount()
	if err != nil {
		return err
	}
	hides := (&view.View{PersonalDirs: account.homes}).Hides()
	host := &locate.Host{Getenv: os.Getenv, System: filepath.SplitList(view.Path), Skip: []string{view.Resolve(s.Workspace.Value)}}
	program := host.Find(o.preset.Program...)
	own := len(o.Command) == 0 || o.Command[0] == o.Preset
	if own {
		name := o.preset.Program[0]
		if program != nil {
			name = filepath.Base(program.Path)
		}
		rest := o.Command
		if len(rest) > 0 {
			rest = rest[1:]
		}
		o.Command = slices.Concat([]string{name}, o.preset.Arguments, rest)
	}
	if program == nil {
		return nil
	}
	origin := o.preset.Origin
	for _, path := range program.See {
		if hidden(path, hides) {
			s.See = append(s.See, config.Entry{Value: path, Origin: origin})
		}
	}
	var dirs []string
	for _, dir := range program.Dirs {
		if hidden(dir, hides) {
			dirs = append(dirs, dir)
		}
	}
	if dirs != nil {
		s.Set = append(s.Set, config.Value{Name: "PATH", Value: strings.Join(append(dirs, view.Path), ":"), Origin: origin})
	}
	for _, kv := range program.Values {
		name, value, _ := strings.Cut(kv, "=")
		s.Set = append(s.Set, config.Value{Name: name, Value: value, Origin: origin})
	}
	return nil
}

// hidden says whether the guest does not have all of what leads to a path.
func hidden(path string, hides func(string) bool) bool {
	links, real, err := locate.Hops(path)
	return err == nil && (hides(real) || slices.ContainsFunc(links, func(l locate.Link) bool { return hides(l.Path) }))
}
