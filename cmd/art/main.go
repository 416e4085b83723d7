// Command art runs a program in a sandbox that has all of this machine's tools
// and a home directory of its own.
package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/riverlytech/art/internal/attack"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/doctor"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox"
	"github.com/riverlytech/art/internal/sandbox/join"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/stub"
	"github.com/riverlytech/art/libexec"
)

func main() {
	// art started by art in another role; see the packages.
	switch os.Args[0] {
	case stage.Name:
		os.Exit(stage.Main())
	case join.Name:
		os.Exit(join.Main())
	case stage.Stub:
		os.Exit(stub.Main())
	case doctor.TrialName:
		os.Exit(doctor.Trial(os.Args[1:]))
	case doctor.AttackerName:
		os.Exit(attack.Main(os.Args, os.Stdout))
	}
	isSession = os.Args[0] == sandbox.Background || os.Args[0] == sandbox.Foreground
	code, err := run(os.Args[1:])
	if err != nil {
		cli.Fail("art", err)
	}
	os.Exit(code)
}

// isSession says that this is the process of a session, which another art has started.
var isSession bool

// commands are what art does by a word, but for what art-sync does.
var commands = map[string]func(*flags.Command, []string) (int, error){
	"run": runSession, "config": runConfig, "trust": runTrust, "presets": runPresets, "doctor": runDoctor, "home": runHome, "agent": runAgent,
	"ps": runPs, "attach": runAttach, "logs": runLogs, "kill": runKill, "wait": runWait, "exec": runExec, "net": runNet, "ports": runPorts,
	"grant": runGrant, "grants": runGrants, "restore": runRestore,
}

func run(args []string) (int, error) {
	code, err := dispatch(args)
	if text, wanted := flags.Help(err); wanted {
		fmt.Print(text)
		return cli.OK, nil
	}
	return code, err
}

// dispatch runs what the first word says. What follows it is no subcommand: art run trust runs trust.
func dispatch(args []string) (int, error) {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	if word == "checkpoint" && inGuest() {
		return runCheckpoint(flags.Find("art checkpoint"), args)
	}
	switch word {
	case "push", "pull", "diff", "reset", "status", "log", "blame", "timeline", "list", "rm", "checkpoint", "undo", "redo", "rewind", "fork", "merge", "bisect", "try", "compare", "gc":
		return cli.ExitError, runSync(args)
	}
	if do := commands[word]; do != nil {
		return do(flags.Find("art "+word), args[1:])
	}
	if preset.Is(word) {
		return runSession(flags.Run, args)
	}
	return runSession(flags.Art, args)
}

// runSync becomes art-sync, which has the flags of its subcommands to itself. By its name it knows that a database
// need not be named.
func runSync(args []string) error {
	path, err := libexec.Find("art-sync")
	if err != nil {
		return err
	}
	env := libexec.Environ()
	if args[0] == "bisect" || args[0] == "try" { // has art run sessions
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find art itself: %w", err)
		}
		env = append(env, libexec.ArtVariable+"="+self)
	}
	err = syscall.Exec(path, append([]string{"art"}, args...), env)
	return fmt.Errorf("run art-sync: %w", err)
}
