package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// Agent is one of the user's own: settings with a name.
type Agent struct {
	Name string
	// File is its file of settings.
	File string
	// Preset is the name of the one that it builds on, or "".
	Preset Entry
	// Enabled says that it runs in a sandbox at all.
	Enabled bool
	// Settings are its settings, with the variables beside its file.
	Settings *Settings
}

// AgentDir returns the directory of the settings of an agent of the user's own, given the environment, or "" if there is
// no place for it. Without a name it is the one of all agents.
func AgentDir(getenv func(string) string, name string) string {
	for _, dir := range configDirs(getenv) {
		return filepath.Join(dir, agentsDir, name)
	}
	return ""
}

// AgentWorkspace returns the workspace that an agent has where its settings name no other.
func AgentWorkspace(getenv func(string) string, name string) string {
	for _, dir := range dataDirs(getenv) {
		return filepath.Join(dir, "agents", name, "workspace")
	}
	return ""
}

// FindAgent reads the settings of the agent of the user's own that is called so, without its variables. It has a workspace,
// which need not be there.
func FindAgent(getenv func(string) string, name string, allowed []string) (*Agent, error) {
	if !IsPresetName(name) {
		return nil, cli.WithHint(fmt.Errorf("read the agent %q: there is no such agent", name), "`art agent ls` shows all")
	}
	a, err := readAgent(AgentDir(getenv, name), getenv("HOME"), allowed)
	if err != nil || a.Settings.Workspace.Value != "" {
		return a, err
	}
	own := AgentWorkspace(getenv, name)
	if own == "" {
		return nil, cli.WithHint(errors.New("find the agent's workspace: neither XDG_DATA_HOME nor HOME is set"), "set HOME")
	}
	a.Settings.Workspace = Entry{own, "agent " + name}
	return a, nil
}

// LockAgent locks the directory of an agent: its sessions share one, and who is to remove it has one alone. The error is
// EWOULDBLOCK where another has it.
func LockAgent(dir string, how int) (fd int, err error) {
	fail := func(err error) (int, error) { return -1, fmt.Errorf("lock %s: %w", dir, err) }
	if fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fail(err)
	}
	err = unix.Flock(fd, how|unix.LOCK_NB)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && st.Nlink == 0 { // whoever had the lock has removed it
		err = unix.ENOENT
	}
	if err != nil {
		unix.Close(fd)
		return fail(err)
	}
	return fd, nil
}

// ReadValues reads the variables beside its file.
func (a *Agent) ReadValues() (err error) {
	a.Settings.Values, err = userValues(a.File)
	return err
}

// ReadAgent reads the settings of an agent of the user's own from its directory, with its variables. home is the caller's home directory
// and allowed what Allow may have.
func ReadAgent(dir, home string, allowed []string) (*Agent, error) {
	a, err := readAgent(dir, home, allowed)
	if err == nil {
		err = a.ReadValues()
	}
	return a, err
}

func readAgent(dir, home string, allowed []string) (*Agent, error) {
	name := filepath.Base(dir)
	a := &Agent{Name: name, File: filepath.Join(dir, "sandbox.json"), Settings: &Settings{Limits: map[string]Limit{}}, Enabled: true}
	text, err := readIfThere(a.File)
	if text == nil && err == nil {
		err = cli.WithHint(fmt.Errorf("read the agent %q: there is no such agent", name), "`art agent new "+name+"` makes one")
	}
	if err != nil {
		return nil, err
	}
	root, err := parse(a.File, text)
	if err != nil {
		return nil, err
	}
	src := &source{name: a.File, home: home, user: true, allowed: allowed}
	if err := root.object(a.keys(src)); err != nil {
		return nil, err
	}
	if root.member("project") != nil && root.member("workspace") != nil {
		return nil, root.errorf(`"project" is another word for "workspace": leave one of the two out`)
	}
	if a.Settings.Home.Value == "" {
		a.Settings.Home = Entry{name, "agent " + name}
	}
	return a, nil
}

func (a *Agent) keys(src *source) map[string]func(*node) error {
	keys := src.keys(a.Settings, &a.Enabled)
	keys["project"] = keys["workspace"]
	keys["db"] = func(n *node) error {
		return n.errorf(`"db" can only be set in the user's settings: all databases are in one place`)
	}
	keys["preset"] = func(n *node) error {
		name, err := n.text()
		if err == nil && !IsPresetName(name) {
			err = n.errorf("%q is not the name of a preset", name)
		}
		a.Preset = Entry{name, n.origin()}
		return err
	}
	return keys
}

// Agents returns the names of the agents of the user's own, sorted.
func Agents(getenv func(string) string) ([]string, error) {
	const most = 1000
	dir := AgentDir(getenv, "")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the agents: %w", err)
	}
	var names []string
	for _, e := range entries[:min(len(entries), most)] {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), "sandbox.json")); err == nil && IsPresetName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
