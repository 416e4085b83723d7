package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/toolchain"
)

// loadPreset reads the preset that the options name.
func (o *request) loadPreset() (err error) {
	if err := o.loadAgent(); err != nil {
		return err
	}
	if o.Preset != "" && o.preset == nil {
		o.preset, err = preset.Load(o.Preset)
	}
	if err != nil && o.agent != nil && o.agent.Preset.Value == o.Preset {
		err = fmt.Errorf("%s: %w", o.agent.Preset.Origin, err)
	}
	return err
}

// under returns the user's settings with those of the preset over them, and those of the agent over both.
func (o *request) under(user *config.Settings) *config.Settings {
	if o.preset != nil {
		user = config.Stack(user, o.preset.Settings)
		if user.Home.Value == "" {
			user.Home = config.Entry{Value: o.preset.Home, Origin: o.preset.Origin}
		}
	}
	if o.agent != nil {
		user = config.Stack(user, o.agent.Settings)
	}
	if o.preset == nil {
		return user
	}
	s := *user
	all := func(names ...string) (list []config.Entry) {
		for _, name := range names {
			list = append(list, config.Entry{Value: name, Origin: o.preset.Origin})
		}
		return list
	}
	if s.Tools == nil {
		s.Tools = all(append(toolchain.Names(), toolchain.LocalBin)...)
	}
	if s.Own == nil {
		s.Own = all(config.OwnWords...)
	}
	return &s
}

// findProgram finds the preset's program on the host, makes it the command, and adds to the settings what it needs. Where
// the host has none, the guest may have one of its own.
func (o *request) findProgram(s *config.Settings) error {
	if o.preset == nil {
		return nil
	}
	at, err := newPlaces(s.Workspace.Value, s.Mounts)
	if err != nil {
		return err
	}
	program := at.host.Find(o.preset.Program...)
	if len(o.Command) == 0 || o.Command[0] == o.Preset {
		name := o.preset.Program[0]
		if program != nil {
			name = program.Path // not what else PATH may lead to by its name
		}
		arguments := o.preset.Arguments
		subcommand := len(o.Command) > 1 && slices.Contains(o.preset.Subcommands, o.Command[1])
		if o.apart(s) && !subcommand {
			arguments = slices.Concat(arguments, o.preset.Unasked)
		}
		o.Command = slices.Concat([]string{name}, arguments, o.Command[min(1, len(o.Command)):])
	}
	if o.apart(s) {
		s.Set = append(s.Set, o.preset.UnaskedSet...)
	}
	o.tellPreset(s, program)
	if program == nil {
		return nil
	}
	for _, path := range at.hidden(program.See) {
		s.See = append(s.See, config.Entry{Value: path, Origin: o.preset.Origin})
	}
	o.dirs = at.hidden(program.Dirs)
	for _, kv := range program.Values {
		name, value, _ := strings.Cut(kv, "=")
		s.Set = append(s.Set, config.Value{Name: name, Value: value, Origin: o.preset.Origin})
	}
	return nil
}

// apart says whether all that the guest changes of the host's stays apart until it is pulled.
func (o *request) apart(s *config.Settings) bool {
	return o.Database != "" && !slices.ContainsFunc(s.Mounts, func(m config.Mount) bool { return m.Writes() })
}

// tellPreset adds to the settings what art config shows of the preset beside its settings.
func (o *request) tellPreset(s *config.Settings, program *locate.Program) {
	tell := func(key string, values ...string) {
		for _, value := range values {
			s.Preset = append(s.Preset, config.Told(key, value, o.preset.Origin))
		}
	}
	if program != nil {
		tell("program", program.Path)
	}
	tell("command", o.Command...)
	if o.preset.Sandbox != "" {
		tell("sandbox", o.preset.Sandbox)
	}
	tell("hosts", o.preset.Hosts...)
	for _, p := range o.preset.Hold {
		tell("hold", p.Text)
	}
}

// hold returns what pull is to hold back of the session's changes, as its preset says.
func (o *request) hold() (list []hold.Pattern) {
	if o.preset != nil {
		for _, p := range o.preset.Hold {
			list = append(list, p.By(o.preset.Name))
		}
	}
	return list
}

// addPath has the guest's PATH begin with the directories of the preset's program. Of the caller's PATH come those
// directories of which something is to be seen, and with tools also those that everyone sees. What a guest may have written
// comes last: a program there takes the place of none of the host's.
func (o *request) addPath(s *config.Settings) error {
	wide := o.preset != nil || len(s.Tools) > 0
	if len(s.See) == 0 && !wide {
		return nil
	}
	at, err := newPlaces(s.Workspace.Value, s.Mounts)
	if err != nil {
		return err
	}
	var dirs, last []string
	add := func(list ...string) {
		for _, dir := range list {
			into := &dirs
			written := slices.ContainsFunc(s.Mounts, func(m config.Mount) bool { return m.Writes() && paths.Within(dir, m.Guest) })
			if written || paths.Within(dir, view.Home) && !slices.ContainsFunc(s.See, func(e config.Entry) bool { return paths.Within(dir, e.Value) }) {
				into = &last
			}
			if !slices.Contains(*into, dir) {
				*into = append(*into, dir)
			}
		}
	}
	add(o.dirs...)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		dir = filepath.Clean(dir)
		info, err := os.Stat(dir)
		switch {
		case err != nil || !info.IsDir() || !filepath.IsAbs(dir):
		case at.hidden([]string{dir}) == nil:
			if wide && !paths.Within(paths.Resolve(dir), at.workspace) {
				add(dir)
			}
		case slices.ContainsFunc(s.See, func(e config.Entry) bool {
			return paths.Within(dir, e.Value) || paths.Within(paths.Resolve(dir), paths.Resolve(e.Value)) || filepath.Dir(e.Value) == dir
		}):
			add(dir)
		}
	}
	add(o.toolDirs...)
	system := filepath.SplitList(view.Path)
	if last != nil || slices.ContainsFunc(dirs, func(dir string) bool { return !slices.Contains(system, dir) }) {
		add(system...)
		origin := config.Default
		if len(s.See) > 0 {
			origin = s.See[0].Origin
		}
		path := config.Value{Name: "PATH", Value: strings.Join(append(dirs, last...), ":"), Origin: origin}
		s.Set = append([]config.Value{path}, s.Set...)
	}
	return nil
}

// places knows where the caller's programs are, and what of the host the guest does not have.
type places struct {
	host      locate.Host
	hides     func(path string) bool
	homes     []string
	workspace string   // without symbolic links
	writes    []string // what the guest may write of the host
}

func newPlaces(workspace string, mounts []config.Mount) (*places, error) {
	account, err := newAccount()
	if err != nil {
		return nil, err
	}
	workspace = paths.Resolve(workspace)
	return &places{
		host:      locate.Host{Getenv: os.Getenv, System: filepath.SplitList(view.Path), Skip: []string{workspace}},
		hides:     (&view.View{PersonalDirs: account.homes}).Hides(),
		homes:     account.homes,
		workspace: workspace,
		writes:    writable(workspace, mounts),
	}, nil
}

// seeing returns what finds out what has to be seen for a path.
func (p *places) seeing() *seeing { return newSeeing(p.hides, p.homes, p.writes) }

// hidden returns those of paths that the guest does not have, or does not have all of what leads there.
func (p *places) hidden(paths []string) (list []string) {
	for _, path := range paths {
		links, real, err := locate.Hops(path)
		if err == nil && filepath.IsAbs(path) && (p.hides(real) || slices.ContainsFunc(links, func(l locate.Link) bool { return p.hides(l.Path) })) {
			list = append(list, path)
		}
	}
	return list
}

// loadAgent reads the agent that the options name, and leaves to it what they do not say: the preset, the mode and the
// workspace.
func (o *request) loadAgent() error {
	if o.Agent == "" || o.agent != nil {
		return nil
	}
	a, err := config.FindAgent(os.Getenv, o.Agent, seccomp.Options)
	if err == nil && o.session {
		// Until art ends, or without a sandbox the command, so that nobody removes the agent meanwhile.
		o.agentLock, err = config.LockAgent(filepath.Dir(a.File), unix.LOCK_SH)
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("run the agent %s: it is being removed", o.Agent)
		}
	}
	if err == nil {
		err = a.ReadValues()
	}
	if err != nil {
		return err
	}
	o.agent = a
	o.Preset = cmp.Or(o.Preset, a.Preset.Value)
	if o.Mode == "" && o.Database == "" {
		o.Mode = cmp.Or(a.Settings.Mode.Value, Overlay)
	}
	// The agent's name stands for the program of its preset.
	if len(o.Command) > 0 && o.Command[0] == o.Agent {
		if o.Command = slices.Clone(o.Command); o.Preset == "" {
			o.Command = o.Command[1:]
		} else {
			o.Command[0] = o.Preset
		}
	}
	if !o.DefaultWorkspace {
		return nil
	}
	if own := a.Settings.Workspace.Value; own == config.AgentWorkspace(os.Getenv, o.Agent) {
		if err := os.MkdirAll(own, 0o700); err != nil {
			return fmt.Errorf("make the agent's workspace %s: %w", own, cli.Reason(err))
		}
	}
	o.Workspace, o.DefaultWorkspace, o.placed = a.Settings.Workspace.Value, false, true
	return nil
}
