package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/seccomp"
)

// merged returns the user's settings with those of the workspace, as far as they are
// allowed. What is not is left out where somebody sees it at a terminal; otherwise there
// is no session.
func merged(o *request, user, own *config.Settings, workspace string) (*config.Settings, error) {
	if !o.Quiet && (own.Content != "" || own.Values != nil) && gitdir.Tracks(workspace, config.Dir) {
		fmt.Fprintf(os.Stderr, "art: warning: git tracks %s/%s: a commit can bring settings for your sessions\n", cli.Printable(workspace), config.Dir)
	}
	s, asks, err := config.Merge(user, own, workspace, false)
	var place *config.Ask
	if o.Name == "" {
		place = config.AskPlace(filepath.Base(workspace), workspace)
	}
	if place != nil {
		asks = append(asks, *place)
	}
	if err != nil || len(asks) == 0 {
		return s, err
	}
	store, err := config.OpenTrust(config.StateDir(os.Getenv), workspace)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	trusted, err := store.Has(own.Content, asks)
	if err != nil {
		return nil, err
	}
	if trusted {
		s, _, err = config.Merge(user, own, workspace, true)
		return s, err
	}
	hint := "if that is meant: art trust " + shellWord(workspace)
	if place != nil {
		hint = "let it have another name there: --name NAME; or " + hint
	}
	refused := func(a config.Ask) error {
		return fmt.Errorf("%s: %s allows more than the user's settings do", a.Origin, a.What)
	}
	if place == nil && o.Interactive && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) {
		for i, a := range asks {
			err := fmt.Errorf("%w, and is left out", refused(a))
			if i == len(asks)-1 {
				err = cli.WithHint(err, hint)
			}
			cli.Fail("art", err)
		}
		return s, nil
	}
	last := len(asks) - 1
	for _, a := range asks[:last] {
		cli.Fail("art", refused(a))
	}
	return nil, cli.WithHint(refused(asks[last]), hint)
}

// readWorkspace reads the settings of the workspace that is open as root. What could be
// in no session is an error before anybody is asked to trust it.
func readWorkspace(root *os.File, home string) (*config.Settings, error) {
	own, err := config.ReadWorkspace(root, home, seccomp.Options)
	if err != nil {
		return nil, err
	}
	return own, config.CheckGuests(own.Mounts, view.Home, filepath.Join(view.Home, filepath.Base(root.Name())))
}

// TrustOptions are what to do about trust in a workspace's settings.
type TrustOptions struct {
	// Workspace is the host directory.
	Workspace string
	// Revoke takes trust back.
	Revoke bool
	// DryRun remembers nothing.
	DryRun bool
	// JSON writes an object a line.
	JSON bool
}

// Trust shows on w what the settings of a workspace ask for that the user's do not allow,
// and remembers that the user trusts them.
func Trust(o *TrustOptions, w io.Writer) error {
	workspace, err := workspacePath(o.Workspace)
	if err != nil && o.Revoke { // of a directory that is gone, or the next one of that path would be trusted
		workspace, err = filepath.Abs(o.Workspace)
	}
	if err != nil {
		return err
	}
	store, err := config.OpenTrust(config.StateDir(os.Getenv), workspace)
	if err != nil {
		return err
	}
	defer store.Close()
	if o.Revoke {
		return revoke(store, workspace)
	}
	content, asks, err := asked(workspace)
	if err != nil {
		return err
	}
	for _, a := range asks {
		write := a.Write
		if o.JSON {
			write = a.WriteJSON
		}
		if err := write(w); err != nil {
			return fmt.Errorf("show what the settings ask for: %w", err)
		}
	}
	switch {
	case len(asks) == 0:
		fmt.Fprintf(os.Stderr, "art: the settings of %s ask for nothing that is not allowed already\n", cli.Printable(workspace))
		return nil
	case o.DryRun:
		return nil
	}
	if err := store.Add(content, asks); err != nil {
		return err
	}
	done("art: the settings of %s are trusted, until they change\n", workspace)
	return nil
}

func revoke(store *config.Trust, workspace string) error {
	there, err := store.Remove()
	if err != nil {
		return err
	}
	if !there {
		return errors.New("forget what the user trusts: " + workspace + " was not trusted")
	}
	done("art: the settings of %s are not trusted any more\n", workspace)
	return nil
}

// asked returns what the settings of a workspace ask for that the user's do not allow, and their content.
func asked(workspace string) (content string, asks []config.Ask, err error) {
	root, err := os.Open(workspace)
	if err != nil {
		return "", nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	user, err := readUser()
	if err != nil {
		return "", nil, err
	}
	own, err := readWorkspace(root, os.Getenv("HOME"))
	if err != nil {
		return "", nil, err
	}
	if _, asks, err = config.Merge(withPresets(user), own, workspace, false); err != nil {
		return "", nil, err
	}
	if place := config.AskPlace(filepath.Base(workspace), workspace); place != nil {
		asks = append(asks, *place)
	}
	return own.Content, asks, nil
}

// withPresets returns the user's settings with the variables of all presets: a workspace's own take the place of none in any
// session without trust, and trust is of all sessions.
func withPresets(user *config.Settings) *config.Settings {
	s := *user
	for _, name := range preset.Names() {
		if p, err := preset.Load(name); err == nil { // one that cannot be read has no sessions
			s.Env = slices.Concat(s.Env, p.Settings.Env)
			s.Set = slices.Concat(s.Set, p.Settings.Set)
		}
	}
	return &s
}

// done tells people, at a terminal, what a command that went well has done.
func done(format, workspace string) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprintf(os.Stderr, format, cli.Printable(workspace))
	}
}
