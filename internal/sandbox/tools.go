package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/toolchain"
)

// ofTool begins the origin of what a tool needs.
const ofTool = "tools "

// addTools adds to the settings what the tools of the settings need that the host has. A program among them that stands on
// what nobody else is to see is left out.
func (o *request) addTools(s *config.Settings) error {
	if len(s.Tools) == 0 {
		return nil
	}
	at, err := newPlaces(s.Workspace.Value, s.Mounts)
	if err != nil {
		return err
	}
	host := &toolchain.Host{Getenv: os.Getenv, Home: view.Home}
	var set []config.Value
	var tools []config.Entry
	for _, e := range s.Tools {
		tool := host.Find(e.Value)
		if tool != nil || o.preset == nil || e.Origin != o.preset.Origin {
			tools = append(tools, e)
		}
		if tool == nil {
			continue
		}
		origin := ofTool + e.Value
		for _, path := range at.showable(at.standsOn(tool)) {
			s.See = append(s.See, config.Entry{Value: path, Origin: origin})
		}
		for _, kv := range tool.Values {
			name, value, _ := strings.Cut(kv, "=")
			set = append(set, config.Value{Name: name, Value: value, Origin: origin})
		}
		for _, dir := range tool.Dirs {
			if paths.Within(dir, view.Home) || at.hidden([]string{dir}) != nil {
				o.toolDirs = append(o.toolDirs, dir)
			}
		}
	}
	s.Tools = tools
	s.Set = append(set, s.Set...) // what a preset sets counts more
	return nil
}

// standsOn returns what has to be seen for a tool.
func (p *places) standsOn(tool *toolchain.Tool) []string {
	paths := slices.Clone(tool.See)
	for _, program := range tool.Programs {
		paths = append(paths, p.host.At(program).See...)
	}
	for _, link := range tool.Links {
		if info, err := os.Stat(link); err == nil && info.Mode().IsRegular() {
			paths = append(paths, p.host.At(link).See...)
		} else {
			paths = append(paths, link)
		}
	}
	return paths
}

// showable returns those of paths that are hidden, lie in no other of them, and may be seen.
func (p *places) showable(paths []string) (list []string) {
	s := p.seeing()
	for _, path := range p.hidden(paths) {
		if !slices.Contains(list, path) && s.add(config.Entry{Value: path}) == nil {
			list = append(list, path)
		}
	}
	return list
}

// Tools returns what of the tools the host has, each with where, for people.
func Tools() (found []string) {
	host := &toolchain.Host{Getenv: os.Getenv, Home: view.Home}
	for _, name := range append(toolchain.Names(), toolchain.LocalBin) {
		if tool := host.Find(name); tool != nil {
			dir := inHome(tool.Dir)
			if tool.Dir == "" || dir == name {
				found = append(found, name)
			} else {
				found = append(found, fmt.Sprintf("%s (%s)", name, dir))
			}
		}
	}
	return found
}
