package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/dotenv"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/seccomp"
)

// loadAgent reads the agent that the options name, and leaves to it what they do not say: the preset, the mode and the
// workspace.
func (o *Options) loadAgent() error {
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

// bare says that the session is one without a sandbox: the user has said so of an agent of his own.
func (o *Options) bare() bool { return o.agent != nil && !o.agent.Enabled }

// runBare becomes the command, in the workspace on the host and with all that the caller may do. It returns only if that
// fails. The preset's arguments and variables stay out: some tell a program that it is in a sandbox.
func (o *Options) runBare() error {
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--db", o.Database != ""}, {"--home", o.Home != ""}, {"--network", o.Network != ""}, {"--path", o.Path != ""},
		{"--hide", o.Hide != nil}, {"--see", o.See != nil}, {"--allow", o.Allow != nil}, {"--trace", o.Trace != nil},
		{"--name", o.Name != ""}, {"--adopt", o.Adopt},
	} {
		if flag.given {
			return cli.WithHint(fmt.Errorf("run the agent %s without a sandbox: %s is of sandboxes", o.Agent, flag.name),
				`leave the flag out, or "enabled": false in `+o.agent.File)
		}
	}
	workspace, err := workspacePath(o.Workspace)
	if err != nil {
		return err
	}
	path, args, dirs, err := o.hostCommand()
	if err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, dotenv.PrivateKey) })
	set := []config.Value{{Name: "PWD", Value: workspace}}
	if dirs != nil { // with the interpreter of a program that PATH does not lead to
		set = append(set, config.Value{Name: "PATH", Value: strings.Join(append(dirs, os.Getenv("PATH")), ":")})
	}
	var named []config.Value // by --env, which counts more
	for _, kv := range o.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			named = append(named, config.Value{Name: name, Value: value})
		} else if value, ok := os.LookupEnv(name); ok {
			named = append(named, config.Value{Name: name, Value: value})
		}
	}
	for _, v := range slices.Concat(set, o.user.Values, o.agent.Settings.Values, named) {
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, v.Name+"=") })
		env = append(env, v.Name+"="+v.Value)
	}
	if err := os.Chdir(workspace); err != nil {
		return fmt.Errorf("open the workspace: %w", cli.Reason(err))
	}
	if _, err := unix.FcntlInt(uintptr(o.agentLock), unix.F_SETFD, 0); err != nil {
		return fmt.Errorf("keep the agent from being removed: %w", err)
	}
	// Also for who has asked for quiet.
	fmt.Fprintf(os.Stderr, "art: the agent %s runs WITHOUT A SANDBOX, as %s says: \"enabled\": false\n", o.Agent, cli.Printable(o.agent.File))
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, args, env))
}

// hostCommand returns the path of the command on the host, it with its arguments, and what PATH has to have for it.
func (o *Options) hostCommand() (path string, args, dirs []string, err error) {
	args = o.Command
	if o.preset != nil && (len(args) == 0 || args[0] == o.Preset) {
		host := &locate.Host{Getenv: os.Getenv, System: filepath.SplitList(view.Path), Skip: []string{paths.Resolve(o.Workspace)}}
		program := host.Find(o.preset.Program...)
		if program == nil {
			return "", nil, nil, cli.WithHint(fmt.Errorf("%s: command not found", o.preset.Program[0]), "install it, or see art presets")
		}
		return program.Path, append([]string{program.Path}, args[min(len(args), 1):]...), slices.Clone(program.Dirs), nil
	}
	if len(args) == 0 {
		args = []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh")}
	}
	path, err = exec.LookPath(args[0])
	if err == nil {
		path, err = filepath.Abs(path) // the workspace is another directory
	}
	if err != nil {
		return "", nil, nil, fmt.Errorf("%s: %w", args[0], cli.Reason(err))
	}
	return path, args, nil, nil
}
