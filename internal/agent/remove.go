package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs/lock"
)

// Remove removes an agent, with the workspace that art has made for it; also one that was not made to the end.
func Remove(name string, o *Options) error {
	fail := func(err error) error { return fmt.Errorf("remove the agent %s: %w", name, err) }
	dir, place := config.AgentDir(os.Getenv, name), config.AgentWorkspace(os.Getenv, name)
	if !config.IsPresetName(name) || !isDirectory(dir) {
		return cli.WithHint(fail(errors.New("there is no such agent")), "`art agent ls` shows all")
	}
	if isDirectory(place) {
		if err := idle(place); err != nil {
			return fail(err)
		}
	}
	fd, err := config.LockAgent(dir, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return cli.WithHint(fail(errors.New("it is in use")), "end its sessions first")
	}
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	lost, err := onlyThere(name, dir, place)
	if err != nil {
		return fail(unwrapped(err))
	}
	if len(lost) > 0 && !o.Force {
		what := strings.Join(lost, ", ")
		if o.Answer == nil {
			return cli.WithHint(fail(fmt.Errorf("this would be lost: %s", what)), "--force removes that too")
		}
		if !cli.Confirm(o.Stderr, o.Answer, fmt.Sprintf("art: remove the agent %s, with %s?", name, what)) {
			return fail(errors.New("nothing was removed"))
		}
	}
	// What a guest has written in the workspace goes first: where that fails, the agent is still there.
	if err := home.RemoveTree(filepath.Dir(place)); err != nil {
		return fail(err)
	}
	if err := os.RemoveAll(dir); err != nil {
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
	pid, open, err := lock.Writer(w.Database)
	switch {
	case err != nil:
		return fmt.Errorf("look whether a session has %s: %w", w.Database, err)
	case open:
		return cli.WithHint(fmt.Errorf("a session works in %s (process %d has its database)", dir, pid), "end that first")
	}
	return nil
}

// onlyThere returns what would be lost with an agent: all that is not as art has made it.
func onlyThere(name, dir, place string) (lost []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		made, err := asMade(name, path)
		if err != nil {
			return nil, err
		}
		if !made {
			lost = append(lost, path)
		}
	}
	left, err := os.ReadDir(place)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(left) > 0 {
		lost = append(lost, place)
	}
	return lost, nil
}

// asMade says whether a file of an agent's is as New makes it, or only a part of that.
func asMade(name, path string) (bool, error) {
	want := []byte(envText)
	switch filepath.Base(path) {
	case ".env":
	case "sandbox.json":
		preset := ""
		if a, err := config.FindAgent(os.Getenv, name, seccomp.Options); err == nil {
			preset = a.Preset.Value
		}
		want = settings(name, preset)
	default:
		return false, nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() > int64(len(want)) {
		return false, nil
	}
	text, err := os.ReadFile(path)
	return bytes.HasPrefix(want, text), err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.IsDir()
}
