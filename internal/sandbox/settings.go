package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/seccomp"
)

// loadSettings returns the settings of the session that o asks for, and its workspace,
// open: those of the user's file, with the workspace's in their place, and over
// both what o says.
func loadSettings(o *request) (_ *config.Settings, root *os.File, err error) {
	user := o.user
	if user == nil {
		if user, err = readUser(); err != nil {
			return nil, nil, err
		}
	}
	if o.DefaultWorkspace && !o.known && user.Workspace.Value != "" {
		o.Workspace = user.Workspace.Value
	}
	workspace, err := workspacePath(o.Workspace)
	if err != nil {
		return nil, nil, err
	}
	if root, err = os.Open(workspace); err != nil {
		return nil, nil, fmt.Errorf("open the workspace: %w", err)
	}
	s, err := o.mergeSettings(user, root, workspace)
	if err == nil {
		err = o.completeSettings(s)
	}
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return s, root, nil
}

// mergeSettings returns the user's settings with those of the workspace, which is open as root.
func (o *request) mergeSettings(user *config.Settings, root *os.File, workspace string) (*config.Settings, error) {
	own, err := readWorkspace(root, os.Getenv("HOME"))
	if err != nil {
		return nil, err
	}
	if err := o.loadPreset(); err != nil {
		return nil, err
	}
	s, err := merged(o, o.under(user), own, workspace)
	if err != nil {
		return nil, err
	}
	if err := guardSettings(o, workspace, s.Mounts); err != nil {
		return nil, err
	}
	if o.agent != nil {
		s.Agent = config.Entry{Value: o.Agent, Origin: o.agent.File}
	}
	switch {
	case o.placed:
		s.Workspace.Origin = o.agent.Settings.Workspace.Origin
	case !o.DefaultWorkspace:
		s.Workspace.Origin = "--mount"
	case s.Workspace.Value == "":
		s.Workspace.Origin = config.Default
	}
	s.Workspace.Value = workspace
	return s, nil
}

// completeSettings adds what the options say, and what the host has of what the settings name.
func (o *request) completeSettings(s *config.Settings) error {
	for _, add := range []func(*config.Settings) error{o.findProgram, o.over, o.addGroups, o.addOwn, o.addTools, o.addPath} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// checkpoints is what the settings say of checkpoints.
func checkpoints(s *config.Settings) control.Checkpoints {
	c := control.Checkpoints{
		Off:  s.Checkpoints.Value == "off",
		Most: s.Keep["checkpoints"].Value, Days: s.Keep["days"].Value, Bytes: s.Keep["size"].Value,
	}
	if every, err := time.ParseDuration(s.Checkpoints.Value); err == nil {
		c.Every = every
	}
	return c
}

// over puts what the options say over the settings.
func (o *request) over(s *config.Settings) error {
	switch {
	case o.Network != "":
		o.denied = s.NetDeny
		if err := s.SetNetwork(o.Network, "--network"); err != nil {
			return fmt.Errorf("read --network: %w", err)
		}
	case s.Network.Value == "":
		s.Network = config.Entry{Value: "host", Origin: config.Default}
	}
	if err := o.learn(s); err != nil {
		return err
	}
	switch {
	case o.Path != "":
		s.Path = config.Entry{Value: o.Path, Origin: "--path"}
	case s.Path.Value == "":
		s.Path = config.Entry{Value: "home", Origin: config.Default}
	}
	switch {
	case o.End != "":
		s.End = config.Entry{Value: o.End, Origin: "--end"}
	case s.End.Value == "":
		s.End = config.Entry{Value: "kill", Origin: config.Default}
	}
	switch own := s.Notify.Value; {
	case o.Notify == "false", o.Notify == "true" && (own == "" || own == "false"):
		s.Notify = config.Entry{Value: o.Notify, Origin: "--notify"}
	case own == "":
		s.Notify = config.Entry{Value: "false", Origin: config.Default}
	}
	if s.Checkpoints.Value == "" {
		s.Checkpoints = config.Entry{Value: "auto", Origin: config.Default}
	}
	if s.GuestCheckpoints.Value == "" {
		s.GuestCheckpoints = config.Entry{Value: "true", Origin: config.Default}
	}
	switch {
	case o.Systemd != "":
		s.Systemd = config.Entry{Value: o.Systemd, Origin: "--systemd"}
	case s.Systemd.Value == "":
		s.Systemd = config.Entry{Value: "false", Origin: config.Default}
	}
	if o.Replicate != "" {
		s.Replicate = config.Entry{Value: o.Replicate, Origin: "--replicate"}
	}
	switch {
	case o.Flatten != "":
		s.Flatten = config.Entry{Value: o.Flatten, Origin: "--flatten"}
	case s.Flatten.Value == "":
		s.Flatten = config.Entry{Value: "false", Origin: config.Default}
	}
	switch {
	case o.Commands != "":
		s.Commands = config.Entry{Value: o.Commands, Origin: "--commands"}
	case s.Commands.Value == "":
		s.Commands = config.Entry{Value: "false", Origin: config.Default}
	}
	if o.Time != 0 {
		if o.Time < time.Second || o.Time%time.Second != 0 {
			return fmt.Errorf("read --time: %v is not a time in whole seconds, such as 90s or 1h30m", o.Time)
		}
		s.Limits["time"] = config.Limit{Value: uint64(o.Time / time.Second), Origin: "--time"}
	}
	switch {
	case o.Home != "":
		s.Home = config.Entry{Value: o.Home, Origin: "--home"}
	case o.NoHome:
		s.Home = config.Entry{}
	}
	for _, env := range o.Env {
		s.Env = append(s.Env, config.Entry{Value: env, Origin: "--env"})
	}
	if err := o.overPublish(s); err != nil {
		return err
	}
	for _, path := range o.See {
		abs, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("read --see: %w", err)
		}
		s.See = append(s.See, config.Entry{Value: abs, Origin: "--see"})
	}
	for _, hide := range o.hidden() {
		s.Hide = append(s.Hide, config.Entry{Value: hide, Origin: "--hide"})
	}
	for _, option := range o.Allow {
		if err := seccomp.Check(option); err != nil {
			return fmt.Errorf("read --allow: %w", err)
		}
		s.Allow = append(s.Allow, config.Entry{Value: option, Origin: "--allow"})
	}
	return nil
}

// learn has the guest reach all that is public, beside what the settings name. Where they say none, that holds.
func (o *request) learn(s *config.Settings) error {
	switch {
	case !o.Learn:
		return nil
	case s.Network.Value == "none":
		return cli.WithHint(fmt.Errorf("learn what is reached: there is no network: %s", cli.Printable(s.Network.Origin)), "leave --learn out, or the other")
	case o.Network == "host":
		return cli.WithHint(errors.New("learn what is reached: --network host is reached as it is, and nothing known of it"), "leave --network out")
	case s.Network.Value == "host":
		s.Network = config.Entry{Value: config.NetworkNames, Origin: "--learn"}
	}
	return nil
}

// Show writes down the settings of the session that is asked for, and where each was
// said, as JSON if asked to.
func Show(options *Options, w io.Writer, asJSON bool) error {
	o := &request{Options: *options}
	if err := o.choose(); err != nil {
		return err
	}
	s, root, err := loadSettings(o)
	if err != nil {
		return err
	}
	defer root.Close()
	show := s.Show
	if asJSON {
		show = s.ShowJSON
	}
	if err := show(w); err != nil {
		return fmt.Errorf("show the settings: %w", err)
	}
	return nil
}

// environment returns the variables to pass, the later ones to count more: a name
// without a value passes the caller's, if there is one.
func environment(s *config.Settings) []string {
	var list []string
	for _, v := range slices.Concat(s.Set, s.Values) {
		list = append(list, v.Name+"="+v.Value)
	}
	return append(list, values(s.Env)...)
}

// values returns what was said, without where.
func values(entries []config.Entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Value)
	}
	return list
}

// expanded returns the paths to hide, with what the patterns of settings match
// now in their place. What --hide names is taken as it is.
func expanded(entries []config.Entry) ([]string, error) {
	named := slices.DeleteFunc(slices.Clone(entries), func(e config.Entry) bool { return e.Origin != "--hide" })
	paths, err := config.Expand(slices.DeleteFunc(slices.Clone(entries), func(e config.Entry) bool { return e.Origin == "--hide" }))
	return append(paths, values(named)...), err
}
