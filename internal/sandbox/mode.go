package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/internal/workspace"
)

// Modes of a session.
const (
	Direct  = "direct"
	Overlay = "overlay"
)

// choose decides which mode the session has. An overlay that names no database gets the one that is kept for its
// workspace.
func (o *request) choose() error {
	user, err := readUser()
	if err != nil {
		return err
	}
	o.user = user
	if err := o.loadPreset(); err != nil || o.bare() {
		return err
	}
	if err := o.nameRemote(user); err != nil {
		return err
	}
	mode := o.Mode
	switch {
	case o.Database != "" && mode == Direct:
		return cli.WithHint(errors.New("read the command line: --mode direct has no database, and --db names one"), "leave one of the two out")
	case o.Database != "":
		mode = Overlay
	case mode == "":
		mode = user.Mode.Value
	}
	switch {
	case mode != Overlay:
		return nil
	case o.Database != "":
		return o.refuseForkName(user)
	}
	return o.findDatabase(user)
}

// refuseForkName refuses the name of a fork of the workspace's database where the path of a database belongs: a new one
// would be made there.
func (o *request) refuseForkName(user *config.Settings) error {
	if _, err := os.Lstat(o.Database); err == nil || strings.ContainsRune(o.Database, '/') {
		return nil
	}
	of := request{Options: o.Options, user: user}
	of.Database, of.Adopt = "", false
	if err := of.findDatabase(user); err != nil {
		return nil // what else there is to say of the workspace comes later
	}
	fork, err := workspace.FindFork(of.Database, o.Database)
	if err != nil {
		return nil
	}
	return cli.WithHint(fmt.Errorf("open the database %s: there is none here, and a fork of %s has that name", cli.Printable(o.Database), cli.Printable(of.Database)),
		"the fork is --db "+shellWord(fork)+"; for a new database, ./"+o.Database)
}

// findDatabase makes the session that of the workspace which the directory lies in, among those that have a database, or else
// of the directory itself. A directory that was named is the workspace.
func (o *request) findDatabase(user *config.Settings) error {
	databases, err := workspace.Directory(user)
	if err != nil {
		return err
	}
	var w workspace.Workspace
	if o.DefaultWorkspace {
		if user.Workspace.Value != "" {
			o.Workspace = user.Workspace.Value
		}
		w, err = workspace.Nearest(databases, o.Workspace)
	} else {
		w, err = workspace.At(databases, o.Workspace)
	}
	if err != nil {
		return err
	}
	if o.Adopt && !w.Known {
		return cli.WithHint(fmt.Errorf("find the database of %s: nothing was run here yet", cli.Printable(w.Dir)),
			"if the workspace was moved here, `art pull --adopt` or `art push --adopt` takes its own; without --adopt a new one is made")
	}
	if !o.DefaultWorkspace {
		o.named = o.Workspace
	}
	o.Workspace, o.Database, o.sub, o.known, o.fresh = w.Dir, w.Database, w.Sub, true, !w.Known
	return nil
}

// refuseHome refuses the caller's home, and what it lies in, as the workspace of a session that happens to be started
// there: the guest would have all that is in it, keys and tokens too. Who names it means it.
func (o *request) refuseHome() error {
	if !o.DefaultWorkspace || o.user.Workspace.Value != "" {
		return nil
	}
	dir, err := filepath.Abs(o.Workspace)
	if err != nil || !workspace.HoldsHome(paths.Resolve(dir)) {
		return nil // what else there is to say of it comes later
	}
	what, named := "your home lies in it", shellWord(dir)
	if paths.Resolve(dir) == paths.Resolve(os.Getenv("HOME")) {
		what, named = "it is your home", "~"
	}
	return cli.WithHint(fmt.Errorf("open the workspace %s: %s, and the guest would have all that is there", cli.Printable(dir), what),
		"cd to a project first, or name it if you mean it: -m "+named)
}

// begin makes ready for a session what findDatabase has found, and says which workspace it is if that is another than one may
// think.
func (o *request) begin() error {
	if err := o.refuseHome(); err != nil {
		return err
	}
	if !o.known {
		return nil
	}
	if o.sub != "." && !o.Quiet {
		fmt.Fprintf(os.Stderr, "art: the workspace is %s, and the command starts in %s of it (-m . takes this directory alone)\n", cli.Printable(o.Workspace), cli.Printable(o.sub))
	}
	return workspace.Make(filepath.Dir(o.Database))
}

// NewDatabase returns the path of a database that is to be made: the one that is named, or else that of the workspace. Its directory is there.
func NewDatabase(o *Options) (string, error) {
	if o.Database != "" {
		return databasePath(o.Database)
	}
	user, err := readUser()
	if err != nil {
		return "", err
	}
	databases, err := workspace.Directory(user)
	if err != nil {
		return "", err
	}
	w, err := workspace.At(databases, o.Workspace)
	if err == nil {
		err = workspace.Make(databases)
	}
	return w.Database, err
}

func readUser() (*config.Settings, error) {
	return config.ReadUser(config.UserFile(os.Getenv), os.Getenv("HOME"), seccomp.Options)
}
