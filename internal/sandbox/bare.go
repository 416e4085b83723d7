package sandbox

import (
	"cmp"
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
)

// bare says that the session is one without a sandbox: the user has said so of an agent of his own.
func (o *request) bare() bool { return o.agent != nil && !o.agent.Enabled }

// runBare becomes the command, in the workspace on the host and with all that the caller may do. It returns only if that
// fails. The preset's arguments and variables stay out: some tell a program that it is in a sandbox.
func (o *request) runBare() error {
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--db", o.Database != ""}, {"--home", o.Home != ""}, {"--network", o.Network != ""}, {"--path", o.Path != ""},
		{"--hide", o.Hide != nil}, {"--see", o.See != nil}, {"--allow", o.Allow != nil}, {"--trace", o.Trace != nil}, {"--events", o.Events != ""},
		{"--replicate", o.Replicate != ""}, {"--take-over", o.TakeOver}, {"--flatten", o.Flatten != ""},
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
	if !o.Quiet {
		tellUnset(o.Env)
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
func (o *request) hostCommand() (path string, args, dirs []string, err error) {
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
