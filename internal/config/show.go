package config

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Default is the origin of what nobody said.
const Default = "default"

// said is a setting as it is shown.
type said struct {
	Key    string `json:"key"`
	Value  any    `json:"value"` // nil: nobody set it
	Origin string `json:"origin"`

	text string // Value for people
}

// Show writes the settings down, a line for each, with where it was said.
func (s *Settings) Show(w io.Writer) error {
	for _, x := range s.list() {
		if _, err := fmt.Fprintf(w, "%-18s %-28s %s\n", x.Key, x.text, x.Origin); err != nil {
			return err
		}
	}
	return nil
}

// ShowJSON is Show with an object a line: key, value and origin. The value is null where nobody
// said one; limits are numbers of bytes, seconds or pieces.
func (s *Settings) ShowJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, x := range s.list() {
		if err := e.Encode(x); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) list() (all []said) {
	add := func(key string, value any, text, origin string) {
		all = append(all, said{key, value, origin, text})
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
	entries("workspace", []Entry{s.Workspace})
	entries("network", []Entry{s.Network})
	entries("env", s.Env)
	for _, v := range s.Values {
		add("env", v.Name, strconv.Quote(v.Name)+" with a value", v.Origin)
	}
	none("env", len(s.Env)+len(s.Values))
	entries("hide", s.Hide)
	none("hide", len(s.Hide))
	entries("allow", s.Allow)
	none("allow", len(s.Allow))
	for _, m := range s.Mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		value := map[string]string{"path": m.Host, "guest": m.Guest, "mode": mode}
		add("mounts", value, fmt.Sprintf("%q %s %q", m.Host, mode, m.Guest), m.Origin)
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
