package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// A socket of the host that a rule names is bound into the guest's tree at its own path, as a mount of it would be: a client
// connects to the server itself, which sees whose process it is. To connect takes the right to write to the socket's file, and no
// writable mount (net/unix/af_unix.c, unix_find_bsd; fs/namei.c, inode_permission).

// showSockets adds the sockets that rules allow to the view, whose mounts are known.
func (p *prepared) showSockets(o *request, settings *config.Settings, mounts []config.Mount) error {
	workspace := paths.Resolve(p.plan.Workspace)
	guests := newSeeing(nil, nil, writable(workspace, mounts))
	denied := netrule.Sockets(append(values(settings.NetDeny), values(o.denied)...))
	for _, e := range settings.NetAllow {
		for _, path := range netrule.Sockets([]string{e.Value}) {
			real, err := p.findSocket(path, mounts, guests)
			if err == nil && slices.ContainsFunc(denied, func(d string) bool { return d == path || paths.Resolve(d) == real }) {
				err = cli.WithHint(errors.New("the settings deny it"), "art config shows where: network.deny")
			}
			if err != nil {
				return fmt.Errorf("%s: show the socket %s: %w", cli.Printable(e.Origin), path, err)
			}
			p.plan.View.Binds = append(p.plan.View.Binds, view.Mount{Source: p.source(real), Guest: path, ReadOnly: true})
			p.payload.Sockets = append(p.payload.Sockets, path)
		}
	}
	return nil
}

// findSocket returns where a socket is that may be shown: its path without links.
func (p *prepared) findSocket(path string, mounts []config.Mount, guests *seeing) (real string, err error) {
	links, real, err := locate.Hops(path)
	if err != nil {
		return "", cli.WithHint(err, "start what listens there first, or take the rule out")
	}
	for _, link := range links {
		if dir := guests.planted(link.Path); dir != "" {
			return "", fmt.Errorf("%s is a symbolic link, which a guest may have made: guests write %s", link.Path, dir)
		}
		if base := filepath.Base(path); filepath.Base(link.Path) == base && paths.Resolve(filepath.Dir(path)) == filepath.Dir(link.Path) {
			return "", cli.WithHint(errors.New("it is a symbolic link"), "if what it leads to is meant, name that: unix:"+real)
		}
	}
	if dir := guests.planted(real); dir != "" {
		return "", fmt.Errorf("a guest may have made it: guests write %s", dir)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return "", cli.Reason(err)
	case info.Mode().Type() != os.ModeSocket:
		return "", cli.WithHint(errors.New("it is no socket"), "for a file or a directory see man art, --see")
	case unix.Access(real, unix.W_OK) != nil:
		return "", errors.New("you have no right to connect to it, which takes that to write to it")
	}
	if what := givesHost(real, info); what != "" {
		return "", cli.WithHint(fmt.Errorf("it is %s, by which a guest could leave the sandbox", what),
			`mount it ("mounts" in man art-config), if that is meant`)
	}
	own := config.Mount{Guest: path}
	switch err := config.CheckGuests([]config.Mount{own}, view.Home, p.plan.View.Workspace); {
	case err != nil, paths.Within(path, view.Home), paths.Within(path, "/run/art"):
		return "", errors.New("the guest has something of its own there")
	}
	for _, m := range mounts {
		if paths.Within(path, m.Guest) || paths.Within(m.Guest, path) {
			return "", fmt.Errorf("%s mounts something else there: %s", cli.Printable(m.Origin), m.Guest)
		}
	}
	if i := slices.IndexFunc(p.plan.Hide, func(hidden string) bool { return paths.Within(real, hidden) }); i >= 0 {
		return "", cli.WithHint(fmt.Errorf("%s is to be hidden", p.plan.Hide[i]), "take one of the two out")
	}
	return real, nil
}

// givesHost says what listens at a socket, if that does things on the host for whoever asks, or "".
func givesHost(real string, info os.FileInfo) string {
	for _, named := range namedSockets(os.Getenv, nil) {
		if other, err := os.Stat(named); err == nil && os.SameFile(info, other) {
			return "one that your environment names, of an agent, an engine or a desktop"
		}
	}
	if paths.WithinAny(real, sessionsHidden()) {
		return "one of art's own"
	}
	return hostPower(real)
}
