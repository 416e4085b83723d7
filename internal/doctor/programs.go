package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
)

// The oldest bubblewrap that has all options which a session gives it.
const oldestBubblewrap = "0.8"

func (h *host) bubblewrap() Finding {
	f := Finding{What: "bubblewrap"}
	path, err := h.look("bwrap")
	if err != nil {
		f.State, f.Says = Fail, "it is not installed"
		f.Fix = h.install("bubblewrap", "bubblewrap", "bubblewrap", "bubblewrap")
		return f
	}
	text, err := h.run(path, "--version")
	var major, minor int
	if _, scan := fmt.Sscanf(text, "bubblewrap %d.%d", &major, &minor); err != nil || scan != nil {
		f.State, f.Says = Fail, fmt.Sprintf("%s does not work: %s", path, firstLine(text, err))
		f.Fix = h.install("bubblewrap", "bubblewrap", "bubblewrap", "bubblewrap")
		return f
	}
	f.Says = strings.TrimPrefix(text, "bubblewrap ") + ", " + path
	if major == 0 && minor < 8 {
		f.State, f.Says = Fail, f.Says+", is older than "+oldestBubblewrap
		f.Fix = "build " + oldestBubblewrap + " or later from https://github.com/containers/bubblewrap/releases, or use a newer release of your system"
	}
	return f
}

func firstLine(text string, err error) string {
	if text == "" && err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (h *host) fusermount() Finding {
	f := Finding{What: "fusermount3"}
	path, err := h.look("fusermount3")
	if err == nil {
		f.Says = path
		return f
	}
	f.State, f.Says = Note, "not installed: art needs it where user namespaces may not mount FUSE, and art-fuse mount does"
	f.Fix = h.install("fuse3", "fuse3", "fuse3", "fuse3")
	return f
}

// helpers reports on art's own programs, which have to be of its version.
func helpers() []Finding {
	var findings []Finding
	for _, name := range []string{"art-fuse", "art-net", "art-trace", "art-sync", "art-replicate"} {
		f := Finding{What: name}
		if path, err := helper(name); err != nil {
			f = failure(name, err)
		} else {
			f.Says = version.Version + ", " + path
		}
		findings = append(findings, f)
	}
	return findings
}

// helper starts a helper, which compares its version with art's, and returns its path.
func helper(name string) (string, error) {
	cmd, err := libexec.Command(name, "--version")
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", said(string(out), err)
	}
	return cmd.Path, nil
}

// said returns what a program of ours has said of why it failed, which is err where it
// said nothing.
func said(text string, err error) error {
	var hint string
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !strings.HasPrefix(line, "art") {
			continue
		}
		if h, ok := strings.CutPrefix(rest, "hint: "); ok {
			hint = h
		} else {
			err = errors.New(rest)
		}
	}
	return cli.WithHint(err, hint)
}

// install returns the command that installs what the package managers of Debian, Fedora
// and Arch know by these names.
func (h *host) install(what, deb, rpm, arch string) string {
	for _, manager := range []struct{ program, command, name string }{
		{"apt-get", "apt-get install ", deb},
		{"dnf", "dnf install ", rpm},
		{"pacman", "pacman -S ", arch},
	} {
		if _, err := h.look(manager.program); err == nil {
			return "run `" + h.sudo(manager.command+manager.name) + "`"
		}
	}
	return "install " + what + " with the package manager of your system"
}

// namespaced are the findings about namespaces, and about what can be mounted in them,
// which nobody can tell where there are none.
func (h *host) namespaced() []Finding {
	f := h.namespaces()
	if f.State != OK {
		return []Finding{f}
	}
	found := []Finding{f, h.proc(), h.fuse()}
	if found[2].State == OK {
		found = append(found, h.wire())
	}
	return append(found, h.names())
}

// names reports on networks that lead to some names alone.
func (h *host) names() Finding {
	f := Finding{What: "network by name", Says: "by " + stage.TunDevice}
	if err := h.try(trialNetwork); err != nil {
		by, without := strings.CutPrefix(err.Error(), noTun)
		if without {
			f.Says = "by " + by + ", since " + stage.TunDevice + " cannot be opened"
		} else {
			f.State, f.Says, f.Fix = Note, fmt.Sprintf("%v: there is --network host or none, and none with names", err), h.Tun()
		}
	}
	return f
}

func (h *host) namespaces() Finding {
	f := Finding{What: "user namespaces", Says: "they give the right to mount"}
	if err := h.try(trialMount); err != nil {
		f.State, f.Says, f.Fix = Fail, err.Error(), h.Namespaces()
	}
	return f
}

// proc reports on the guest's own /proc.
func (h *host) proc() Finding {
	f := Finding{What: "/proc", Says: "a new one can be mounted"}
	if err := h.try(trialProc); err != nil {
		f.State, f.Says, f.Fix = Fail, err.Error(), hint.Proc()
	}
	return f
}

// fuse reports on the mount of an overlay, which fusermount3 makes where a user
// namespace may not.
func (h *host) fuse() Finding {
	f := Finding{What: "FUSE", Says: "a user namespace can mount it"}
	refusal := h.try(trialFUSE)
	if refusal == nil {
		return f
	}
	_, missing := h.look("fusermount3")
	if err := h.mount(); err != nil {
		f.State, f.Says, f.Fix = Fail, fmt.Sprintf("%v: there is no overlay mode (--db)", refusal), h.FUSE(missing == nil)
		return f
	}
	f.Says = fmt.Sprintf("fusermount3 mounts it, as a user namespace cannot: %v", refusal)
	return f
}
