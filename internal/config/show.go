package config

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/riverlytech/art/internal/cli"
)

// Default is the origin of what nobody said.
const Default = "default"

// Setting is one as it is shown.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"` // nil: nobody set it
	Origin string `json:"origin"`

	text string // Value for people
}

// Show writes the settings down, a line for each, with where it was said.
func (s *Settings) Show(w io.Writer) error {
	for _, x := range s.list() {
		if err := x.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// ShowJSON is Show with an object a line: key, value and origin. The value is null where nobody
// said one; limits are numbers of bytes, seconds or pieces.
func (s *Settings) ShowJSON(w io.Writer) error {
	for _, x := range s.list() {
		if err := x.WriteJSON(w); err != nil {
			return err
		}
	}
	return nil
}

// Write writes a setting down, a line, with where it was said.
func (x *Setting) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-18s %-28s %s\n", x.Key, x.text, cli.Printable(x.Origin))
	return err
}

// WriteJSON is Write as an object.
func (x *Setting) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(x)
}

// setting is the variable as it is shown, without its value.
func (v *Value) setting() Setting {
	return Setting{"env", v.Name, v.Origin, strconv.Quote(v.Name) + " with a value"}
}

// setting is the mount as it is shown, the workspace being at root.
func (m *Mount) setting(root string) Setting {
	mode := m.Mode()
	value := map[string]string{"path": m.On(root), "guest": m.Guest, "mode": mode}
	return Setting{"mounts", value, m.Origin, fmt.Sprintf("%q %s %q", m.On(root), mode, m.Guest)}
}

// Told is a setting that is shown as it is said.
func Told(key, value, origin string) Setting {
	return Setting{key, value, origin, strconv.Quote(value)}
}

func (s *Settings) list() (all []Setting) {
	all = append(all, s.Preset...)
	add := func(key string, value any, text, origin string) {
		all = append(all, Setting{key, value, origin, text})
	}
	none := func(key string, n int) {
		if n == 0 {
			add(key, nil, "none", Default)
		}
	}
	entries := func(key string, entries []Entry) {
		for _, e := range entries {
			add(key, e.Value, strconv.Quote(e.Value), e.Origin)
		}
	}
	if s.Agent.Value != "" {
		entries("agent", []Entry{s.Agent})
	}
	entries("workspace", []Entry{s.Workspace})
	if s.Mode.Value != "" {
		entries("mode", []Entry{s.Mode})
	}
	if s.Databases.Value != "" {
		entries("db", []Entry{s.Databases})
	}
	if s.Home.Value != "" {
		entries("home", []Entry{s.Home})
	}
	entries("network", []Entry{s.Network})
	entries("path", []Entry{s.Path})
	entries("env", s.Env)
	for _, v := range s.Values {
		all = append(all, v.setting())
	}
	for _, v := range s.Set {
		add("env", v.Name+"="+v.Value, strconv.Quote(v.Name+"="+v.Value), v.Origin)
	}
	none("env", len(s.Env)+len(s.Values)+len(s.Set))
	entries("own", s.Own)
	none("own", len(s.Own))
	entries("tools", s.Tools)
	none("tools", len(s.Tools))
	entries("see", s.See)
	none("see", len(s.See))
	entries("hide", s.Hide)
	none("hide", len(s.Hide))
	entries("allow", s.Allow)
	none("allow", len(s.Allow))
	for _, m := range s.Mounts {
		all = append(all, m.setting(s.Workspace.Value))
	}
	none("mounts", len(s.Mounts))
	for _, name := range names(limits) {
		if limit, ok := s.Limits[name]; ok {
			add("limits."+name, limit.Value, describe(name, limit.Value), limit.Origin)
		} else {
			none("limits."+name, 0)
		}
	}
	return all
}
