// Package doctor looks at a host: whether it has what a session needs, and whether the
// sandbox that it gets there holds.
//
//	doctor.go    what is found, and how it is told
//	kernel.go    the kernel and what it is set to
//	programs.go  bubblewrap, fusermount3 and art's own helpers
//	wire.go      how requests of overlays come
//	trial.go     namespaces and mounts, tried in a process of its own
//	session.go   whole sessions, tried
//	attack.go    attempts to break out of them
//	container.go what gives a container what it lacks
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cgroup"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/sandbox/idmap"
)

// State is how well something is.
type State int

const (
	// OK is all right.
	OK State = iota
	// Note is something without which sessions run, and what they lack then.
	Note
	// Fail is something without which sessions fail.
	Fail
)

func (s State) String() string { return [...]string{"ok", "note", "FAIL"}[s] }

// MarshalText is the state as JSON has it: ok, note or fail.
func (s State) MarshalText() ([]byte, error) { return []byte(strings.ToLower(s.String())), nil }

// Finding is what was found about one thing.
type Finding struct {
	State State `json:"state"`
	// What it is about.
	What string `json:"what"`
	// Says what was found.
	Says string `json:"says"`
	// Fix is what to do, or "".
	Fix string `json:"fix,omitempty"`
	// Gives is what gives it to a container, if that was asked for.
	Gives *gives `json:"gives,omitempty"`
}

// Options are what to look at.
type Options struct {
	// Args are flags of art, for the sessions.
	Args []string
	// Attack asks for attempts to break out of them.
	Attack bool
	// Container asks for what is lacking alone, with what gives it to a container.
	Container bool
	// JSON asks for an object a line.
	JSON bool
	// Settle reads the settings and returns what they allow: options of package seccomp,
	// and attack.Network.
	Settle func() (allowed []string, err error)
	// Tools are those in the caller's home that sessions can have.
	Tools func() []string
}

// Run tells on w what it finds. It returns the exit code: 0 if sessions work here and
// nothing breaks out of them, 1 otherwise.
func Run(o *Options, w io.Writer) (int, error) {
	// A signal ends what runs, and then what was made for it is removed.
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	if o.Attack {
		return attackAll(ctx, o, w)
	}
	findings := examine(ctx, o)
	if ctx.Err() != nil {
		return cli.ExitTrouble, errors.New("look at the host: interrupted")
	}
	if o.Container {
		findings = lacks(findings)
	}
	return Tell(findings, o.JSON, w)
}

// Tell writes findings down, as JSON if asked to. It returns the exit code: 1 if one is a failure.
func Tell(findings []Finding, asJSON bool, w io.Writer) (code int, err error) {
	for _, f := range findings {
		if f.State == Fail {
			code = cli.ExitError
		}
		write := f.write
		if asJSON {
			write = func(w io.Writer) error { return json.NewEncoder(w).Encode(&f) }
		}
		if err := write(w); err != nil {
			return cli.ExitTrouble, fmt.Errorf("tell what was found: %w", err)
		}
	}
	return code, nil
}

func (f *Finding) write(w io.Writer) error {
	text := fmt.Sprintf("%-5s %-16s %s\n", f.State, f.What, f.Says)
	if f.Fix != "" {
		text += fmt.Sprintf("%5s fix: %s\n", "", f.Fix)
	}
	if g := f.Gives; g != nil {
		for _, by := range [][2]string{{"docker", g.Docker}, {"podman", g.Podman}, {"kubernetes", g.Kubernetes}} {
			if by[1] != "" {
				text += fmt.Sprintf("%5s %-11s %s\n", "", by[0]+":", by[1])
			}
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// host is the machine that is looked at: in tests, one that is made up.
type host struct {
	hint.Host
	uid int
	// look returns the path of a program, as exec.LookPath.
	look func(name string) (string, error)
	// run runs a program and returns what it says.
	run func(name string, args ...string) (string, error)
	// try makes a trial (see trial.go).
	try func(trial string) error
	// spare returns the id for guests of root's, and mapped says whether what is in a directory
	// can be shown to one as its own.
	spare  func() (int, error)
	mapped func(id int, dir string) error
	// ring makes an io_uring, and closes it.
	ring func() error
	// mount mounts FUSE with fusermount3, and unmounts it.
	mount func() error
}

func thisHost() *host {
	return &host{
		uid:  os.Getuid(),
		look: exec.LookPath,
		run: func(name string, args ...string) (string, error) {
			out, err := exec.Command(name, args...).CombinedOutput()
			return strings.TrimSpace(string(out)), err
		},
		try:    try,
		spare:  idmap.Spare,
		mapped: mapped,
		ring:   ring,
		mount:  fusermount,
	}
}

// examine returns all findings. What sessions say of themselves comes last, since the
// rest may explain it.
func examine(ctx context.Context, o *Options) []Finding {
	h := thisHost()
	findings := append([]Finding{h.kernel(), h.where(), h.bubblewrap()}, h.namespaced()...)
	findings = append(findings, h.fusermount(), h.ids(), seccomp(), landlock(), h.yama(), h.hidepid(), h.groups(cgroup.Find))
	findings = append(findings, helpers()...)
	if tools := o.Tools(); tools != nil {
		findings = append(findings, Finding{What: "tools", Says: "in your home, for presets and the setting tools: " + strings.Join(tools, ", ")})
	}
	if _, err := o.Settle(); err != nil {
		return append(findings, failure("settings", err))
	}
	return append(findings, sessions(ctx, o)...)
}

// failure is what an error of art's own says.
func failure(what string, err error) Finding {
	f := Finding{State: Fail, What: what, Says: err.Error()}
	var hinted cli.Hinted
	if errors.As(err, &hinted) {
		f.Fix = hinted.Hint()
	}
	return f
}

// sudo puts what root has to run in the words of the caller.
func (h *host) sudo(command string) string {
	if h.uid != 0 {
		command = "sudo " + command
	}
	return command
}
