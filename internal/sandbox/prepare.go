package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/stub"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/workspace"
)

// prepared is a session that could start: everything the user asked for has been
// found to make sense.
type prepared struct {
	plan    stage.Plan
	payload stub.Payload
	serve   control.Serve
	filter  []byte // of system calls, as bubblewrap reads it
	learns  bool   // of the guest's commands
	place   string // what the workspace is called in the guest's home
	// repository is the workspace's git directory, if that lies outside of it and is shown.
	repository  *gitdir.Dir
	files       []homeFile
	lent        []homeFile       // those in a home that is in memory, which is not there yet
	plainHome   *files.Directory // the home if that is a plain directory and holds any; else nil
	limits      map[string]config.Limit
	kept        kept
	ssh         *control.SSH     // what the guest's agent of SSH signs; nil without one
	sshPath     string           // the socket of the caller's
	net         *control.Net     // what the guest may reach, if that is names alone; else nil
	netSettings settingsFile     // with it: what says so
	netDenied   []string         // with it: what settings deny in whose place a flag is
	published   []published      // ports
	secrets     []string         // that a trace keeps to itself
	release     func()           // ends the protection of the configuration, and the use of the home
	failed      bool             // there will be no session
	atEnd       string           // what becomes of what the command leaves running: kill, wait or ask
	notify      string           // as config.Settings has it
	replicate   *control.Replica // what is copied where; nil: nothing is
	home        *home.Home
	beside      <-chan []string // the other databases beside the session's
}

func prepare(o *request) (_ *prepared, err error) {
	p := &prepared{release: func() {}}
	defer func() {
		if err != nil {
			p.failed = true
			p.release()
		}
	}()

	settings, root, err := loadSettings(o)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := p.begin(o, settings); err != nil {
		return nil, err
	}
	mounts, guest := present(settings.Mounts, p.plan.Workspace), filepath.Join(view.Home, p.place)
	if err := checkMounts(root, mounts, guest); err != nil {
		return nil, err
	}
	account, err := newAccount()
	if err != nil {
		return nil, err
	}
	start, err := p.findRepository(o, settings, guest, account.homes)
	if err != nil {
		return nil, err
	}
	if err := p.hideAll(o, settings, mounts); err != nil {
		return nil, err
	}
	if p.plan.Staging, err = stagingDir(); err != nil {
		return nil, err
	}
	p.makeView(o, settings, account, guest)
	if err := p.useNetwork(o, settings); err != nil {
		return nil, err
	}
	if err := p.publish(o, settings); err != nil {
		return nil, err
	}
	if err := p.keepSecrets(o, settings); err != nil {
		return nil, err
	}
	if err := p.useSSH(o, settings); err != nil {
		return nil, err
	}
	if err := p.showWorkspace(o, root, guest); err != nil {
		return nil, err
	}
	p.hearGuest(settings)
	p.noteWritten(o, p.plan.Workspace, mounts)
	if err := p.useHome(o, root, mounts); err != nil {
		return nil, err
	}
	if err := p.see(settings.See, mounts, paths.Resolve(p.plan.Workspace)); err != nil {
		return nil, err
	}
	if start != guest {
		p.plan.View.HostPath, p.payload.Start = start, filepath.Join(start, o.sub)
	}
	p.addRepository()
	if err := p.addMounts(o, root, mounts); err != nil {
		return nil, err
	}
	if err := p.showSockets(o, settings, mounts); err != nil {
		return nil, err
	}
	if p.filter, err = p.filterCalls(o, settings); err != nil {
		return nil, err
	}
	return p, p.addCommand(o, settings, account, start)
}

// begin opens the home, and finds the names of the workspace and of the database.
func (p *prepared) begin(o *request, settings *config.Settings) (err error) {
	if err := checkLimits(o, settings.Limits); err != nil {
		return err
	}
	p.atEnd, p.notify = settings.End.Value, settings.Notify.Value
	p.serve.Checkpoints = checkpoints(settings)
	p.limits, p.plan.Memory, p.plan.Counted = settings.Limits, settings.Limits["memory"].Value, counted(settings.Limits)
	p.plan.Workspace = settings.Workspace.Value
	if p.serve.Name, err = workspaceName(o.Name, p.plan.Workspace); err != nil {
		return err
	}
	p.serve.Base, p.serve.Adopt, p.serve.Hold, p.serve.Show = p.plan.Workspace, o.Adopt, o.hold(), config.GuestFiles
	p.serve.Named, p.serve.Sole = o.Name != "", o.known || o.remote != ""
	if err := p.openHome(o, settings.Home.Value); err != nil {
		return err
	}
	if p.plan.Database = o.database; p.plan.Database != "" {
		beside := make(chan []string, 1) // it takes longer the more there is
		p.beside = beside
		go func() { beside <- workspace.Beside(p.plan.Database) }()
	}
	return nil
}

// hideAll notes all that the guest is not to see.
func (p *prepared) hideAll(o *request, settings *config.Settings, mounts []config.Mount) error {
	hide, err := expanded(settings.Hide)
	if err != nil {
		return err
	}
	if err := p.useReplica(o, settings); err != nil {
		return err
	}
	copies, err := p.replicaHidden(settings, o.user)
	if err != nil {
		return err
	}
	hide = slices.Concat(hide, copies, namedSockets(os.Getenv, mounts), config.UserHidden(os.Getenv), sessionsHidden(), agentsHidden(settings, mounts))
	if err := p.hide(hide, mounts); err != nil {
		return err
	}
	p.hideConfig(settings.Files)
	if p.plan.Database != "" {
		p.hideDatabases(mounts)
	}
	return nil
}

// makeView says what the guest sees but for the workspace and what is mounted.
func (p *prepared) makeView(o *request, settings *config.Settings, account *account, guest string) {
	p.plan.Passwd, p.plan.Group = account.passwd, account.group
	p.plan.View = view.View{
		UID: account.uid, GID: account.gid,
		Workspace: guest, WorkspaceHost: p.plan.Workspace, Name: p.serve.Name,
		Passwd: p.plan.PasswdPath(), Group: p.plan.GroupPath(),
		PersonalDirs: account.homes,
		Nests:        slices.Contains(values(settings.Allow), "namespaces"),
	}
	if info, err := os.Lstat("/run"); o.gitConfig != "" && err == nil && info.IsDir() {
		p.plan.GitConfig, p.plan.View.GitConfig = o.gitConfig, p.plan.GitConfigPath()
	}
}

// showWorkspace has the guest's workspace come from art-fuse or from the host.
func (p *prepared) showWorkspace(o *request, root *os.File, guest string) error {
	if p.plan.Database != "" {
		p.plan.View.HomeSource, p.payload.Workspace = p.plan.Home(), filepath.Join(guest, o.sub)
		return nil
	}
	p.plan.View.WorkspaceSource, p.payload.Sockets = p.source("."), []string{guest}
	release, err := protectConfig(root)
	if err == nil {
		p.onRelease(release)
	}
	return err
}

// hearGuest lets the guest ask for checkpoints, where there is a database to make them in.
func (p *prepared) hearGuest(settings *config.Settings) {
	info, err := os.Lstat("/run")
	if p.plan.Database == "" || settings.Checkpoints.Value == "off" || settings.GuestCheckpoints.Value == "false" || err != nil || !info.IsDir() {
		return
	}
	p.plan.View.Checkpoints = true
	p.payload.Sockets = append(p.payload.Sockets, view.CheckpointSocket)
}

// addCommand says what runs in the guest, with which environment and limits, and what runs that.
func (p *prepared) addCommand(o *request, settings *config.Settings, account *account, start string) (err error) {
	p.payload.Command, p.payload.Shells, p.payload.Mounts = p.kept.texts(o.Command), account.shells, p.plan.View.Nests
	p.payload.Memory = settings.Limits["memory"].Value
	if p.payload.Env, err = view.Environ(os.Environ(), append(p.gitEnv(), environment(settings)...), filepath.Join(start, o.sub)); err != nil {
		return err
	}
	p.payload.Env = p.kept.env(p.payload.Env)
	if p.ssh != nil {
		p.payload.Env = mergeEnv(p.payload.Env, []string{"SSH_AUTH_SOCK=" + view.SSHSocket})
	}
	if err := p.endAuthority(); err != nil {
		return err
	}
	if !o.Quiet {
		tellUnset(o.Env)
	}
	p.secrets = secrets(p.payload.Env, settings.Values)
	bwrap, err := hostProgram("bwrap", p.plan.Workspace)
	if err != nil {
		return cli.WithHint(fmt.Errorf("find bwrap: %w", cli.Reason(err)),
			"install bubblewrap: `sudo apt-get install bubblewrap`, `sudo dnf install bubblewrap` or `sudo pacman -S bubblewrap`")
	}
	p.plan.Command, p.plan.View.Programs = []string{bwrap}, []string{bwrap}
	return nil
}

// source adds a host path to be bound, and returns it.
func (p *prepared) source(path string) string {
	p.plan.Sources = append(p.plan.Sources, path)
	return path
}

// workspacePath returns the absolute path of the workspace. Its last element
// becomes its name in the guest.
func workspacePath(path string) (string, error) {
	if path == "" {
		return "", cli.WithHint(errors.New("open the workspace: no directory given"), "name one with --mount DIR")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", cli.WithHint(fmt.Errorf("open the workspace: %s does not exist", path),
			"make it with mkdir, or name another with --mount DIR")
	case err != nil:
		return "", fmt.Errorf("open the workspace %s: %w", path, cli.Reason(err))
	case !info.IsDir():
		return "", cli.WithHint(fmt.Errorf("open the workspace: %s is not a directory", path),
			"name a directory with --mount DIR")
	}
	if real := paths.Resolve(abs); abs == "/" || real == "/" {
		return "", cli.WithHint(errors.New("open the workspace: / cannot be one: it has no name, and holds the whole system"),
			"name a directory with --mount DIR")
	}
	return abs, nil
}

// workspaceName is how a workspace is called in the guest, and in the database.
func workspaceName(given, workspace string) (string, error) {
	switch {
	case given == "":
		return filepath.Base(workspace), nil
	case given == ".", given == "..", len(given) > unix.NAME_MAX, strings.ContainsAny(given, "/\x00"):
		return "", cli.WithHint(fmt.Errorf("read --name: %q cannot be the name of a directory", given), "give a name without slashes")
	}
	return given, nil
}

// databasePath returns the absolute path of the database itself, behind links.
func databasePath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open the database: %w", err)
	}
	abs = paths.Resolve(abs)
	if info, err := os.Stat(filepath.Dir(abs)); err != nil || !info.IsDir() {
		return "", cli.WithHint(fmt.Errorf("open the database %s: its directory does not exist", path),
			"make the directory with mkdir -p")
	}
	return abs, nil
}

// present returns mounts without those that may be missing and are.
func present(mounts []config.Mount, workspace string) []config.Mount {
	return slices.DeleteFunc(slices.Clone(mounts), func(m config.Mount) bool {
		_, err := os.Stat(m.On(workspace))
		return m.Optional && errors.Is(err, os.ErrNotExist)
	})
}

// checkMounts checks that the mounts can be. The workspace is open as root, and is guest
// in the guest.
func checkMounts(root *os.File, mounts []config.Mount, guest string) error {
	for _, m := range mounts {
		fd, err := config.OpenHost(int(root.Fd()), m.Host)
		if err != nil {
			return fmt.Errorf("%s: host path %q: %w", m.Origin, m.Host, err)
		}
		unix.Close(fd)
	}
	return config.CheckGuests(mounts, view.Home, guest)
}

// checkPath checks that the workspace, which is guest in the guest, can be at its path on the host too, as if that were
// one more mount.
func checkPath(s *config.Settings, guest, path string) error {
	if path == guest {
		return nil
	}
	own := config.Mount{Host: ".", Guest: path, Origin: s.Path.Origin}
	err := config.CheckGuests([]config.Mount{own}, view.Home, guest)
	if err == nil && paths.Within(path, guest) {
		err = fmt.Errorf("%s: the workspace's path %q lies in the workspace as the guest has it", own.Origin, path)
	}
	if err != nil {
		return cli.WithHint(err, "let the workspace be in the guest's home alone: --path home")
	}
	for _, m := range s.Mounts {
		if m.Guest == path || paths.Within(m.Guest, filepath.Join(path, config.Dir)) {
			return fmt.Errorf("%s: guest %q is the workspace's own path on the host, or lies in its configuration", m.Origin, m.Guest)
		}
	}
	return nil
}

// hideConfig hides the workspace's configuration, but for the files of settings: git tracks them
// where a team shares them, and would commit their removal. The whole directory is covered, and not
// just the secrets in it: a mount over a file goes away when somebody on the host puts another file
// in its place, as editors do, which also leave copies beside it. An overlay shows only these
// files; what a guest has there is its own: push and pull leave the configuration out.
func (p *prepared) hideConfig(files []config.File) {
	workspace := paths.Resolve(p.plan.Workspace)
	p.plan.DotArt = filepath.Join(workspace, config.Dir)
	for _, f := range files {
		at := filepath.Join(workspace, f.Path)
		if !slices.ContainsFunc(p.plan.Hide, func(hidden string) bool { return paths.Within(at, hidden) }) {
			p.plan.Settings = append(p.plan.Settings, f)
		}
	}
}

// agentsHidden returns the agents' workspaces that a session has nothing of.
func agentsHidden(s *config.Settings, mounts []config.Mount) []string {
	workspace := paths.Resolve(s.Workspace.Value)
	used := []string{workspace}
	for _, m := range mounts {
		used = append(used, paths.Resolve(m.On(workspace)))
	}
	for _, e := range s.See {
		used = append(used, paths.Resolve(e.Value))
	}
	return config.AgentsHidden(os.Getenv, used...)
}

// hide sorts out the paths to hide. Relative ones are relative to the current
// directory. Of those in the workspace, neither what the host nor what the database has
// is shown.
func (p *prepared) hide(list []string, mounts []config.Mount) error {
	for _, path := range list {
		if path == "" {
			return errors.New("hide: an empty path was given")
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
		workspace := paths.Resolve(p.plan.Workspace)
		named := filepath.Join(paths.Resolve(filepath.Dir(abs)), filepath.Base(abs))
		abs = paths.Resolve(abs)
		switch {
		case abs == "/" || abs == workspace:
			return fmt.Errorf("hide %s: nothing of use would be left", path)
		case paths.Within(abs, "/proc"), paths.Within(abs, "/dev"):
			continue // the guest has its own
		}
		for _, m := range mounts {
			if paths.Within(m.On(workspace), abs) {
				return cli.WithHint(fmt.Errorf("hide %s: %s mounts %s of it", path, m.Origin, m.Host),
					"take one of the two out")
			}
		}
		if p.plan.Database != "" && paths.Within(abs, workspace) {
			inside := strings.TrimPrefix(abs, workspace)
			p.hideInWorkspace(inside)
			p.plan.HideHome = append(p.plan.HideHome, p.place+inside)
		}
		// A link too, in whose place the host may put something else.
		if p.plan.Database != "" && named != abs && paths.Within(named, workspace) {
			p.hideInWorkspace(strings.TrimPrefix(named, workspace))
		}
		// Also then: a bind may show the path at another place.
		p.plan.Hide = append(p.plan.Hide, abs)
	}
	return nil
}

// hideInWorkspace has art-fuse not show a path in the workspace. What the stage mounts over it to hide it goes away when
// the host replaces what is there (d_invalidate in fs/dcache.c).
func (p *prepared) hideInWorkspace(path string) {
	p.serve.Hide = append(p.serve.Hide, filepath.Join(p.plan.Workspace, path))
}

// stagingDir returns a directory for the stage to mount over: one that the guest
// sees none of. /dev/shm is best, since nothing in it is likely to be bound.
func stagingDir() (string, error) {
	dirs := []string{"/dev/shm", "/tmp"}
	i := slices.IndexFunc(dirs, func(dir string) bool {
		info, err := os.Lstat(dir)
		return err == nil && info.IsDir()
	})
	if i < 0 {
		return "", fmt.Errorf("prepare the sandbox: none of %s exists", strings.Join(dirs, ", "))
	}
	return dirs[i], nil
}
