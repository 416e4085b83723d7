// Package agent makes, lists and removes agents of the user's own: settings with a name, and a workspace.
package agent

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox/seccomp"
	"github.com/riverlytech/art/internal/sync/quote"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say how to make and show agents, and what may be done to them.
type Options struct {
	Stdout, Stderr io.Writer
	Terminal       bool // Stdout is one
	JSON           bool
	Force, Quiet   bool
	// Preset is the name of the one to build on, or "".
	Preset string
	// Answer is where to read the answer to a question from; nil: nobody can be asked.
	Answer io.Reader
}

// Is says whether there is an agent of the user's own of that name.
func Is(name string) bool {
	dir := config.AgentDir(os.Getenv, "")
	if dir == "" || !config.IsPresetName(name) || slices.Contains(cli.Words, name) {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, name, "sandbox.json"))
	return err == nil
}

const envText = `# Variables of this agent, NAME=value; also encrypted, with the key in .env.keys (man art-config).
`

// New makes an agent.
func New(name string, o *Options) error {
	fail := func(err error) error { return fmt.Errorf("make the agent %s: %w", name, err) }
	dir, own := config.AgentDir(os.Getenv, name), config.AgentWorkspace(os.Getenv, name)
	switch {
	case !config.IsPresetName(name):
		return cli.WithHint(fmt.Errorf("make an agent: %q cannot be its name", name), "use small letters, digits, dots, and - and _")
	case slices.Contains(cli.Words, name):
		return fail(errors.New("this is a word of art's"))
	case preset.Is(name):
		return cli.WithHint(fail(errors.New("there is a preset of that name")), "choose another, and --preset "+name+" to build on it")
	case dir == "" || own == "":
		return cli.WithHint(fail(errors.New("neither XDG_CONFIG_HOME and XDG_DATA_HOME nor HOME are set")), "set HOME")
	}
	if o.Preset != "" {
		if _, err := preset.Load(o.Preset); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fail(unwrapped(err))
	}
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		return cli.WithHint(fail(fmt.Errorf("%s is there", dir)), "`art agent rm "+name+"` removes it")
	} else if err != nil {
		return fail(unwrapped(err))
	}
	err := os.MkdirAll(own, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".env"), []byte(envText), 0o600)
	}
	if err == nil { // last: with it there is an agent
		err = os.WriteFile(filepath.Join(dir, "sandbox.json"), settings(name, o.Preset), 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // made just now
		_ = os.Remove(own)    // these only if there is nothing in them
		_ = os.Remove(filepath.Dir(own))
		return fail(unwrapped(err))
	}
	if !o.Quiet {
		fmt.Fprintf(o.Stderr, "art: made the agent %s: settings in %s, workspace %s\n", name, cli.Printable(dir), cli.Printable(own))
	}
	return nil
}

// settings are those of a new agent.
func settings(name, preset string) []byte {
	of := struct {
		Enabled bool     `json:"enabled"`
		Preset  string   `json:"preset,omitempty"`
		Home    string   `json:"home"`
		Env     []string `json:"env"`
		Hide    []string `json:"hide"`
		Allow   []string `json:"allow"`
		Mounts  []string `json:"mounts"`
	}{true, preset, name, []string{}, []string{}, []string{}, []string{}}
	text, err := json.MarshalIndent(of, "", "  ")
	if err != nil {
		panic(err) // strings alone
	}
	return append(text, '\n')
}

// entry is an agent as JSON has it.
type entry struct {
	Name      string `json:"name"`
	Preset    string `json:"preset"`
	Enabled   bool   `json:"enabled"`
	Home      string `json:"home"`
	Workspace string `json:"workspace"`
	File      string `json:"file"`
	Error     string `json:"error,omitempty"`
}

// List shows the agents.
func List(o *Options) error {
	names, err := config.Agents(os.Getenv)
	if err != nil {
		return err
	}
	var list []entry
	name, from := 0, 0
	for _, n := range names {
		e := look(n)
		list = append(list, e)
		name, from = max(name, len(e.Name)), max(from, len(e.Preset))
	}
	for _, e := range list {
		text, err := quote.JSON(e)
		if !o.JSON {
			rest := e.Workspace
			switch {
			case e.Error != "":
				rest = "error: " + e.Error
			case !e.Enabled:
				rest += "  (without a sandbox)"
			}
			text = fmt.Sprintf("%-*s  %-*s  %s", name, e.Name, max(from, 1), cmp.Or(e.Preset, "-"), quote.Name(rest, o.Terminal))
		}
		if err == nil {
			_, err = fmt.Fprintln(o.Stdout, text)
		}
		if err != nil {
			return fmt.Errorf("list the agents: %w", err)
		}
	}
	return nil
}

func look(name string) entry {
	a, err := config.ReadAgent(config.AgentDir(os.Getenv, name), os.Getenv("HOME"), seccomp.Options)
	if err != nil {
		return entry{Name: name, File: filepath.Join(config.AgentDir(os.Getenv, name), "sandbox.json"), Error: err.Error()}
	}
	return entry{
		Name: name, Preset: a.Preset.Value, Enabled: a.Enabled, Home: a.Settings.Home.Value, File: a.File,
		Workspace: cmp.Or(a.Settings.Workspace.Value, config.AgentWorkspace(os.Getenv, name)),
	}
}

// Remove removes an agent, with the workspace that art has made for it.
func Remove(name string, o *Options) error {
	fail := func(err error) error { return fmt.Errorf("remove the agent %s: %w", name, err) }
	if !Is(name) {
		return cli.WithHint(fail(errors.New("there is none")), "`art agent ls` shows all")
	}
	dir := config.AgentWorkspace(os.Getenv, name)
	left, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(unwrapped(err))
	}
	if err == nil {
		if err := idle(dir); err != nil {
			return fail(err)
		}
	}
	if len(left) > 0 && !o.Force {
		if err := o.confirm(name, dir); err != nil {
			return fail(err)
		}
	}
	// What a guest has written in the workspace goes first: where that fails, the agent is still there.
	if err := home.RemoveTree(filepath.Dir(dir)); err != nil {
		return fail(err)
	}
	if err := os.RemoveAll(config.AgentDir(os.Getenv, name)); err != nil {
		return fail(unwrapped(err))
	}
	if !o.Quiet {
		fmt.Fprintf(o.Stderr, "art: removed the agent %s; its home stays (art home rm), and so does its database (art list)\n", name)
	}
	return nil
}

// idle returns an error if a session works in a workspace: one whose changes stay apart, of which its database tells.
func idle(dir string) error {
	user, err := config.ReadUser(config.UserFile(os.Getenv), os.Getenv("HOME"), seccomp.Options)
	if err != nil {
		return err
	}
	databases, err := workspace.Directory(user)
	if err != nil {
		return err
	}
	w, err := workspace.At(databases, dir)
	if err != nil || !w.Known {
		return err
	}
	pid, open, err := sqlvfs.Writer(w.Database)
	switch {
	case err != nil:
		return fmt.Errorf("look whether a session has %s: %w", w.Database, err)
	case open:
		return cli.WithHint(fmt.Errorf("a session works in %s (process %d has its database)", dir, pid), "end that first")
	}
	return nil
}

// confirm asks whether a workspace is to go.
func (o *Options) confirm(name, workspace string) error {
	if o.Answer == nil {
		return cli.WithHint(fmt.Errorf("there is something in its workspace %s", workspace), "--force removes that too")
	}
	fmt.Fprintf(o.Stderr, "art: remove the agent %s, and what is in %s? [y/N] ", name, cli.Printable(workspace))
	answer, _ := bufio.NewReader(o.Answer).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was removed")
}

func unwrapped(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
