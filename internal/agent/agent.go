// Package agent makes, lists and removes agents of the user's own: settings with a name, and a workspace.
package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/seccomp"
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
	if dir == "" || !config.IsPresetName(name) || flags.IsWord(name) {
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
	case flags.IsWord(name):
		return fail(errors.New("art has a command of that name"))
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

func unwrapped(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
