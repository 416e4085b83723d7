package view

import (
	"path/filepath"
	"slices"

	"github.com/riverlytech/art/internal/paths"
)

// Tree is a way from the host's mounts to the guest's. The order is the meaning:
// each step covers what the ones before it put there.
type Tree struct {
	// Apart says that the tree cannot be made in place, since the root itself changes.
	// Its first step then is the root's shadow.
	Apart bool
	// Home is where Home is in this tree: /home may be a link.
	Home string
	// Steps make everything but what lies in the guest's home.
	Steps []Step
	// Own are the steps in the guest's home and after it. What is there may have been
	// written by a guest.
	Own []Step
	// emptied are the directories that show nothing of the host's but by a step of their own.
	emptied []string
	// shown are those of them that a layer shows as the host has it.
	shown []string
	// Looks says that Own has to do with what is in the home.
	Looks bool
}

// Emptied says that the guest does not see what the host has at path.
func (t *Tree) Emptied(path string) bool {
	return paths.WithinAny(path, t.emptied) && !paths.WithinAny(path, t.shown)
}

// planner collects the steps of a Tree.
type planner struct {
	*View
	tree            *Tree
	home, workspace string   // where Home and the workspace are in the tree
	scratch, hidden []string // directories that the guest may fill, and that it has nothing of
	shadowed        []string
	binds           []Mount
	steps           []Step
	inHome          []Step // of paths that are seen: the caller is called agent too
}

func (p *planner) add(s ...Step) { p.steps = append(p.steps, s...) }

// Tree returns the steps from the host's tree, as it is now, to the guest's.
func (v *View) Tree() (*Tree, error) {
	home := paths.Resolve(Home)
	p := &planner{View: v, home: home, workspace: home + v.Workspace[len(Home):]}
	p.findShadowed()
	p.addSystem()
	p.addHome()
	p.addSeen()
	p.tree.Steps, p.steps = p.steps, nil
	p.addHomeDir()
	p.add(p.inHome...)
	beneath, err := p.addBinds()
	if err != nil {
		return nil, err
	}
	p.addLayers(beneath)
	p.addSeals()
	p.tree.Own = p.steps
	return p.tree, nil
}

// findShadowed finds the directories in which entries are to be made that the host does not have.
func (p *planner) findShadowed() {
	var own []string
	p.scratch, p.hidden, own = p.emptied()
	p.binds = p.resolvedBinds(p.home, own)
	places, made := append([]string{paths.Resolve("/etc/passwd"), paths.Resolve("/etc/group")}, own...), own
	if p.Resolver != "" {
		for _, path := range []string{resolvConf, hosts} {
			_, end := follow(path, nil)
			places = append(places, end)
		}
	}
	if p.KnownHosts != "" {
		places = append(places, paths.Resolve(knownHosts))
	}
	for _, bind := range p.binds {
		places = append(places, bind.Guest)
		made = append(made, bind.Guest)
	}
	p.shadowed = shadows(places, made)
	p.tree = &Tree{Home: p.home, emptied: own, Apart: len(p.shadowed) > 0 && p.shadowed[0] == "/"}
	for _, program := range p.Programs {
		if !p.tree.Apart && paths.WithinAny(paths.Resolve(program), own) {
			p.tree.Apart, p.shadowed = true, append([]string{"/"}, p.shadowed...)
		}
	}
}

// addSystem adds all that is not in a home.
func (p *planner) addSystem() {
	for _, dir := range p.shadowed {
		p.add(Step{Do: Shadow, Target: dir})
	}
	for _, dir := range p.hidden {
		p.add(Step{Do: Tmpfs, Target: dir, Mode: 0o755})
	}
	for _, dir := range p.scratch {
		p.add(Step{Do: Tmpfs, Target: dir, Mode: 0o1777, Write: true})
	}
	p.addResolver()
	p.add(Step{Do: Bind, Source: p.Passwd, Target: paths.Resolve("/etc/passwd")}, Step{Do: Bind, Source: p.Group, Target: paths.Resolve("/etc/group")})
	if p.GitConfig != "" {
		p.add(Step{Do: Bind, Source: p.GitConfig, Target: GitConfig})
	}
	p.addCertificates()
	if p.KnownHosts != "" {
		p.add(Step{Do: Bind, Source: p.KnownHosts, Target: paths.Resolve(knownHosts)})
	}
	if p.SSHAgent {
		p.add(Step{Do: Listen, Target: SSHSocket})
	}
	if p.Checkpoints {
		p.add(Step{Do: Listen, Target: CheckpointSocket})
	}
	if !p.Traced {
		p.add(Step{Do: Proc, Target: "/proc"})
	}
	p.add(Step{Do: Tmpfs, Target: "/dev", Mode: 0o755}, Step{Do: Devices, Target: "/dev"})
}

// addResolver adds what the guest finds names by.
func (p *planner) addResolver() {
	if p.Resolver == "" {
		p.add(bringBack(resolvConf, p.hidden)...)
		return
	}
	// At the end of the links, which stay as they are.
	for _, file := range [][2]string{{p.Resolver, resolvConf}, {p.Hosts, hosts}} {
		steps, end := follow(file[1], p.hidden)
		p.add(append(steps, Step{Do: Bind, Source: file[0], Target: end})...)
	}
}

// addCertificates adds those that the guest believes.
func (p *planner) addCertificates() {
	if p.Authority == "" {
		return
	}
	p.add(Step{Do: Bind, Source: p.Authority, Target: Authority}, Step{Do: Bind, Source: p.Bundle, Target: Bundle})
	if p.Roots != "" {
		steps, end := follow(p.Roots, p.hidden)
		p.add(append(steps, Step{Do: Bind, Source: p.Bundle, Target: end})...)
	}
}

// addHome adds the guest's home, and in direct mode the workspace in it.
func (p *planner) addHome() {
	p.add(Step{Do: Tmpfs, Target: filepath.Dir(p.home), Mode: 0o755})
	switch {
	case p.HomeSource != "":
		p.add(Step{Do: Bind, Source: p.HomeSource, Target: p.home, Write: true})
	case p.HomeDir != "":
		p.add(Step{Do: Bind, Source: p.HomeDir, Target: p.home, Write: true})
	default:
		p.add(Step{Do: Tmpfs, Target: p.home, Mode: 0o700, Write: true})
	}
	if p.HomeSource == "" {
		p.add(Step{Do: Bind, Source: p.WorkspaceSource, Target: p.workspace, Write: true})
	}
}

func (p *planner) addSeen() {
	for _, seen := range p.Seen {
		step := Step{Do: Bind, Source: seen.Path, Target: seen.Path}
		if seen.Text != "" {
			step = Step{Do: Symlink, Source: seen.Text, Target: seen.Path}
		} else {
			p.tree.shown = append(p.tree.shown, seen.Path)
		}
		if paths.Within(seen.Path, p.home) {
			p.inHome = append(p.inHome, step)
		} else {
			p.add(step)
		}
	}
	p.tree.Looks = len(p.inHome) > 0
}

// addHomeDir adds a home of the host's around the workspace that art-fuse serves.
func (p *planner) addHomeDir() {
	if p.HomeSource != "" && p.HomeDir != "" {
		p.tree.Looks = true
		p.add(Step{Do: Bind, Source: p.HomeDir, Target: p.home, Write: true, Keep: p.workspace, From: filepath.Join(p.home, p.Name)})
	}
}

// addBinds adds the configured mounts, and returns those that are beneath a layer or the workspace's second path.
func (p *planner) addBinds() (beneath []Step, err error) {
	for i, bind := range p.binds {
		if err := p.checkMountPoint(bind, p.home, p.workspace); err != nil {
			return nil, err
		}
		step := Step{Do: Bind, Source: bind.Source, Target: bind.Guest, Write: !bind.ReadOnly}
		if p.HostPath != "" && paths.Within(bind.Guest, p.HostPath) || p.inLayer(bind.Guest) {
			beneath = append(beneath, step)
		} else {
			p.add(step)
		}
		// What another holds that art-fuse serves may need a mount point there.
		inside := slices.ContainsFunc(p.binds[:i], func(m Mount) bool { return paths.Within(bind.Guest, m.Guest) })
		p.tree.Looks = p.tree.Looks || inside || paths.Within(bind.Guest, p.home)
	}
	return beneath, nil
}

// addLayers adds the layers and the workspace's second path: last, so that both paths have the same covers and mounts. What
// they lie in comes before.
func (p *planner) addLayers(beneath []Step) {
	for _, layer := range p.Layers {
		step := Step{Do: Way, Source: layer.Source, Target: layer.Guest, Write: !layer.ReadOnly}
		if paths.Within(p.HostPath, layer.Guest) {
			p.add(step)
		} else {
			beneath = append([]Step{step}, beneath...)
		}
		if p.HomeSource == "" {
			p.tree.shown = append(p.tree.shown, layer.Guest)
		}
	}
	if p.HostPath != "" {
		p.add(Step{Do: Same, Source: p.workspace, Target: p.HostPath})
	}
	p.add(beneath...)
	p.tree.Looks = p.tree.Looks || p.HostPath != "" || len(p.Layers) > 0
}

// addSeals adds that nobody makes entries any more where they had to be made.
func (p *planner) addSeals() {
	for _, dir := range slices.Concat([]string{"/dev", filepath.Dir(p.home)}, p.hidden, p.shadowed) {
		if dir != p.HostPath && !slices.ContainsFunc(p.Layers, func(m Mount) bool { return m.Guest == dir }) {
			p.add(Step{Do: Seal, Target: dir})
		}
	}
}

func (v *View) inLayer(path string) bool {
	return slices.ContainsFunc(v.Layers, func(m Mount) bool { return paths.Within(path, m.Guest) })
}
