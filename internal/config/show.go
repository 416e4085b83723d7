package config

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
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

func (s *Settings) list() []Setting {
	all := slices.Clone(s.Preset)
	several := func(key string, list []Setting) {
		if len(list) == 0 {
			list = []Setting{{key, nil, Default, "none"}}
		}
		all = append(all, list...)
	}
	if s.Agent.Value != "" {
		all = append(all, s.Agent.setting("agent"))
	}
	all = append(all, s.Workspace.setting("workspace"))
	for _, x := range []Setting{s.Mode.setting("mode"), s.Databases.setting("db"), s.Home.setting("home")} {
		if x.Value != "" {
			all = append(all, x)
		}
	}
	all = append(all, s.Network.setting("network"))
	all = append(append(all, settings("network.allow", s.NetAllow)...), settings("network.deny", s.NetDeny)...)
	all = append(all, settings("network.local", s.NetLocal)...)
	all = append(all, settings("publish", s.Publish)...)
	if s.NetAsk.Value != "" {
		all = append(all, s.NetAsk.setting("network.ask"))
	}
	for i := range s.Secrets {
		all = append(all, s.Secrets[i].setting())
	}
	all = append(append(all, settings("ssh.hosts", s.SSH.Hosts)...), settings("ssh.keys", s.SSH.Keys)...)
	all = append(all, s.Path.setting("path"), s.End.setting("end"), s.Checkpoints.checkpoints(), s.GuestCheckpoints.setting("checkpoints.guest"), s.Commands.setting("commands"), s.Notify.setting("notify"), s.Replicate.setting("replicate"), s.Flatten.setting("flatten"), s.Systemd.setting("systemd"))
	env := settings("env", s.Env)
	for _, v := range s.Values {
		env = append(env, v.setting())
	}
	for _, v := range s.Set {
		env = append(env, Told("env", v.Name+"="+v.Value, v.Origin))
	}
	several("env", env)
	several("own", settings("own", s.Own))
	several("tools", settings("tools", s.Tools))
	several("see", settings("see", s.See))
	several("hide", settings("hide", s.Hide))
	several("allow", settings("allow", s.Allow))
	var mounts []Setting
	for _, m := range s.Mounts {
		mounts = append(mounts, m.setting(s.Workspace.Value))
	}
	several("mounts", mounts)
	bounds := func(key string, units map[string]unit, said map[string]Limit) {
		for _, name := range names(units) {
			var list []Setting
			if limit, ok := said[name]; ok {
				list = []Setting{{key + "." + name, limit.Value, limit.Origin, describe(units[name], limit.Value)}}
			}
			several(key+"."+name, list)
		}
	}
	bounds("keep", kept, s.Keep)
	bounds("limits", limits, s.Limits)
	return all
}

// setting is the entry as it is shown.
func (e Entry) setting(key string) Setting { return Told(key, e.Value, e.Origin) }

func settings(key string, entries []Entry) (all []Setting) {
	for _, e := range entries {
		all = append(all, e.setting(key))
	}
	return all
}
