package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// tellMissing says why the guest had no program of a name that the caller has, or not what that is run by: it is in a
// home, and these are hidden. What has to be seen for it is the caller's to say.
func (s *session) tellMissing() {
	if len(s.payload.Command) == 0 {
		return
	}
	name := s.payload.Command[0]
	at, err := newPlaces(s.plan.Workspace, nil)
	if err != nil {
		return
	}
	var program *locate.Program
	switch {
	case !strings.Contains(name, "/"):
		program = at.host.Find(name)
	case filepath.IsAbs(name):
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			program = at.host.At(filepath.Clean(name))
		}
	}
	switch {
	case program != nil && program.Missing != "":
		fmt.Fprintf(os.Stderr, "art: hint: %s is run by %s, which is not there\n", cli.Printable(inHome(program.Path)), cli.Printable(shellWord(program.Missing)))
	case program != nil:
		s.proposeSee(at, name, program)
	case preset.Is(name):
		fmt.Fprintf(os.Stderr, "art: hint: %s is not installed on this host; art presets check %[1]s says where art has looked\n", name)
	}
}

// gitFatal is the exit code with which git gives up, as where it does not know whose a commit is (usage.c, die).
const gitFatal = 128

// tellIdentity says how the guest's git comes to know the user, if it was not told and the user's own knows.
func (s *session) tellIdentity() {
	if s.plan.GitConfig == "" && identityOfGit(s.plan.Workspace) != "" {
		fmt.Fprintln(os.Stderr, `art: hint: git in the session knows your name and mail address where the settings say "own": ["git"]`)
	}
}

// proposeSee says how to show a program.
func (s *session) proposeSee(at *places, name string, program *locate.Program) {
	see := at.hidden(program.See)
	see = slices.DeleteFunc(see, func(path string) bool {
		return slices.ContainsFunc(see, func(other string) bool { return other != path && paths.Within(path, other) })
	})
	if see == nil {
		s.proposePath(name, program)
	}
	if len(see) == 0 || slices.ContainsFunc(s.plan.View.Seen, func(seen view.Seen) bool { return seen.Path == paths.Resolve(see[0]) }) {
		return
	}
	command := "art"
	if s.known {
		command = "art run"
	}
	found := at.seeing()
	for _, path := range see {
		if err := found.add(config.Entry{Value: path}); err != nil {
			fmt.Fprintf(os.Stderr, "art: hint: yours is %s, and homes are hidden from the guest: install it for all users, or mount it (\"mounts\" in man art-config)\n", cli.Printable(program.Path))
			return
		}
		command += " --see " + inHome(path)
	}
	fmt.Fprintf(os.Stderr, "art: hint: %s is in %s, which the guest does not see: %s %s\n",
		cli.Printable(filepath.Base(name)), cli.Printable(inHome(filepath.Dir(program.Path))), cli.Printable(command), cli.Printable(shellWord(name)))
}

// proposePath says how to have a program that the guest sees, and that its PATH does not lead to.
func (s *session) proposePath(name string, program *locate.Program) {
	dir := filepath.Dir(program.Path)
	if strings.Contains(name, "/") || !slices.Contains(filepath.SplitList(os.Getenv("PATH")), dir) {
		return
	}
	for _, dir := range s.payload.Path() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return // it was found, and what it has run was not
		}
	}
	command := "art"
	if s.known {
		command = "art run"
	}
	fmt.Fprintf(os.Stderr, "art: hint: %s is in %s, which is not in the guest's PATH: %s -e PATH %s has yours there\n",
		cli.Printable(name), cli.Printable(dir), command, cli.Printable(shellWord(name)))
}

// inHome is a path for a shell, with ~ for the caller's home.
func inHome(path string) string {
	home := os.Getenv("HOME")
	if filepath.IsAbs(home) && filepath.Clean(home) != "/" && strings.HasPrefix(path, filepath.Clean(home)+"/") {
		return "~/" + shellWord(path[len(filepath.Clean(home))+1:])
	}
	return shellWord(path)
}
