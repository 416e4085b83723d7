package config

import (
	"fmt"
	"io"
	"strconv"
)

// Default is the origin of what nobody said.
const Default = "default"

// Show writes the settings down, a line for each, with where it was said.
func (s *Settings) Show(w io.Writer) error {
	var err error
	line := func(key, value, origin string) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-18s %-28s %s\n", key, value, origin)
		}
	}
	list := func(key string, entries []Entry) {
		for _, e := range entries {
			line(key, strconv.Quote(e.Value), e.Origin)
		}
		if len(entries) == 0 {
			line(key, "none", Default)
		}
	}
	list("workspace", []Entry{s.Workspace})
	list("network", []Entry{s.Network})
	list("env", s.Env)
	for _, v := range s.Values {
		line("env", strconv.Quote(v.Name)+" with a value", v.Origin)
	}
	list("hide", s.Hide)
	list("allow", s.Allow)
	for _, m := range s.Mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		line("mounts", fmt.Sprintf("%q %s %q", m.Host, mode, m.Guest), m.Origin)
	}
	if len(s.Mounts) == 0 {
		line("mounts", "none", Default)
	}
	for _, name := range names(limits) {
		if limit, ok := s.Limits[name]; ok {
			line("limits."+name, describe(name, limit.Value), limit.Origin)
		} else {
			line("limits."+name, "none", Default)
		}
	}
	return err
}
