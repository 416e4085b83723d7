package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/agent"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/internal/version"
)

// session reads a command line with the flags of a session. What the command has beside them goes into more.
func session(c *flags.Command, args []string, more map[string]any) (*sandbox.Options, *flags.Line, error) {
	o := &sandbox.Options{Workspace: ".", Interactive: true}
	trace := sandbox.Trace{Format: "text"}
	var traced, notify, systemd, commands, flatten bool
	keys := terminal.DefaultKeys
	variables := map[string]any{
		"mount": &o.Workspace, "db": &o.Database, "mode": &o.Mode, "name": &o.Name, "home": &o.Home, "agent": &o.Agent, "adopt": &o.Adopt,
		"interactive": &o.Interactive, "network": &o.Network, "learn": &o.Learn, "publish": &o.Publish, "path": &o.Path, "env": &o.Env, "preset": &o.Preset, "see": &o.See,
		"hide": &o.Hide, "allow": &o.Allow, "end": &o.End, "replicate": &o.Replicate, "take-over": &o.TakeOver, "flatten": &flatten, "notify": &notify, "commands": &commands, "systemd": &systemd, "time": duration(&o.Time), "quiet": &o.Quiet, "background": &o.Background,
		"detach-keys": &keys,
		"events":      &o.Events, "trace": &traced, "trace-log": &trace.Log, "trace-syscalls": &trace.Syscalls, "trace-format": &trace.Format,
	}
	maps.Copy(variables, more)
	line, err := c.Parse(args, variables)
	if err != nil {
		return nil, nil, err
	}
	if o.DetachKeys, err = terminal.ParseKeys(keys); err != nil {
		return nil, nil, err
	}
	if o.Learn && !slices.Contains(line.Flags, "--learn=true") {
		return nil, nil, c.Wrong("--learn is for one session: it is said on its command line, and not by %s", flags.Flag{Name: "learn"}.Variable())
	}
	if line.Given("network") {
		if err := (&config.Settings{}).SetNetwork(o.Network, "--network"); err != nil {
			return nil, nil, c.Wrong("--network: %v", err)
		}
	}
	for _, port := range o.Publish {
		if _, err := config.ParsePort(port); err != nil && port != config.PublishNone {
			return nil, nil, c.Wrong("--publish: %v", err)
		}
	}
	if line.Given("notify") {
		o.Notify = strconv.FormatBool(notify)
	}
	if line.Given("commands") {
		o.Commands = strconv.FormatBool(commands)
	}
	if line.Given("flatten") {
		o.Flatten = strconv.FormatBool(flatten)
	}
	if line.Given("systemd") {
		o.Systemd = strconv.FormatBool(systemd)
	}
	o.DefaultWorkspace = !line.Given("mount")
	o.NoHome = line.Given("home") && o.Home == ""
	if c == flags.Run {
		o.Mode = sandbox.Overlay
	}
	if traced {
		o.Trace = &trace
	}
	if c.Payload {
		o.Command = line.Words
	}
	return o, line, nil
}

// duration returns what reads a time; an empty one is none.
func duration(into *time.Duration) func(string) error {
	return func(text string) (err error) {
		if text != "" {
			*into, err = time.ParseDuration(text)
		}
		return err
	}
}

// runSession runs a command in a sandbox, or an agent by its name.
func runSession(c *flags.Command, args []string) (int, error) {
	var showVersion bool
	o, line, err := session(c, args, map[string]any{"version": &showVersion})
	if err != nil {
		if c == flags.Run && strings.Contains(err.Error(), "no flag --mode") {
			err = cli.WithHint(err, "run is overlay; art -m . COMMAND is direct")
		}
		return cli.ExitArt, err
	}
	if showVersion {
		fmt.Println("art", version.Version)
		return cli.OK, nil
	}
	if len(o.Command) > 0 && !line.Ended { // one after -- is no name of art's
		if name := o.Command[0]; agent.Is(name) && o.Agent == "" {
			o.Agent = name
		} else if o.Preset == "" && preset.Is(name) {
			o.Preset = name
			if o.Mode == "" {
				o.Mode = sandbox.Overlay // as art NAME is, whatever flags come before the name
			}
		}
	}
	o.Attended = isSession && !o.Background
	switch {
	case isSession:
	case o.Background:
		id, code, err := sandbox.StartBackground(o, os.Args[1:])
		if id != "" {
			fmt.Println(id)
		}
		return code, err
	case sandbox.CanDetach(o):
		id, code, err := sandbox.RunForeground(o, os.Args[1:])
		if id != "" {
			tellLeft(id)
		}
		return code, err
	}
	code, err := sandbox.Run(o)
	return max(code, c.Failed(err)), err
}

// runConfig shows the settings of a session.
func runConfig(c *flags.Command, args []string) (int, error) {
	var schema, asJSON bool
	o, _, err := session(c, args, map[string]any{"schema": &schema, "json": &asJSON})
	switch {
	case err != nil:
	case schema:
		_, err = fmt.Print(config.Schema)
	default:
		err = sandbox.Show(o, os.Stdout, asJSON)
	}
	return c.Failed(err), err
}
