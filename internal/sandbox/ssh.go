package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/libexec"
)

// globalKnown is where OpenSSH looks for the keys of hosts beside a user's own.
const globalKnown = "/etc/ssh/ssh_known_hosts"

// sshAgent is the guest's agent of SSH: art-net, which asks the caller's.
type sshAgent struct {
	life   *os.File     // it ends when that is closed
	done   <-chan error // tells how it ended
	report *bounded
}

// useSSH gives the guest an agent that signs logins to the hosts that the settings name, and the keys of these.
func (p *prepared) useSSH(o *request, settings *config.Settings) error {
	if len(settings.SSH.Hosts) == 0 {
		return nil
	}
	without := func(format string, args ...any) error {
		if !o.Quiet {
			fmt.Fprintf(os.Stderr, "art: warning: no agent of SSH for the session: %s\n", cli.Printable(fmt.Sprintf(format, args...)))
		}
		return nil
	}
	p.sshPath = os.Getenv("SSH_AUTH_SOCK")
	if p.sshPath == "" {
		return without("SSH_AUTH_SOCK names none of yours")
	}
	if info, err := os.Lstat("/run"); err != nil || !info.IsDir() {
		return without("the host has no directory /run")
	}
	p.ssh = signing(&settings.SSH)
	if p.ssh == nil {
		return without("none of its keys is one that you allow")
	}
	found, err := knownHosts(&settings.SSH)
	if err != nil {
		return err
	}
	known := found.Known
	for _, line := range found.Unread {
		if !o.Quiet {
			fmt.Fprintf(os.Stderr, "art: warning: %s: this line is no key of a host, and passed over\n", cli.Printable(line))
		}
	}
	if found.More > 0 && !o.Quiet {
		fmt.Fprintf(os.Stderr, "art: warning: %d more lines are no keys of hosts\n", found.More)
	}
	if len(known) == 0 {
		p.ssh = nil
		return without("no key is known of %v: log in there once on the host", settings.SSH.Addresses())
	}
	p.ssh.Known, p.ssh.Revoked = known, found.Revoked
	if text, err := os.ReadFile(globalKnown); err == nil {
		p.plan.KnownHosts = string(text) + "\n"
	}
	for _, k := range known {
		if k.Authority {
			p.plan.KnownHosts += "@cert-authority "
		}
		p.plan.KnownHosts += k.Host + " " + k.Key + "\n"
	}
	if info, err := os.Stat(filepath.Dir(globalKnown)); err == nil && info.IsDir() {
		p.plan.View.KnownHosts = p.plan.KnownHostsPath()
	}
	p.plan.View.SSHAgent = true
	p.payload.Sockets = append(p.payload.Sockets, view.SSHSocket)
	return nil
}

// signing returns what may be signed with which keys, or nil if that is none: keys that are not said are all, but said and not allowed
// none.
func signing(s *config.SSH) *control.SSH {
	switch {
	case s.Keys == nil:
		return &control.SSH{AllKeys: true}
	case len(s.Keys) == 0:
		return nil
	}
	return &control.SSH{Keys: values(s.Keys)}
}

// knownHosts returns the keys of hosts that the caller has for them.
func knownHosts(s *config.SSH) (*control.SSHHosts, error) {
	files := []string{globalKnown}
	if home := os.Getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".ssh/known_hosts"), filepath.Join(home, ".ssh/known_hosts2"))
	}
	cmd, err := libexec.Command("art-net", slices.Concat([]string{"ssh-hosts"}, files, []string{"--"}, s.Addresses())...)
	if err != nil {
		return nil, err
	}
	cmd.Env, cmd.Stderr = libexec.CallerEnv(), os.Stderr
	out, err := cmd.Output()
	hosts := &control.SSHHosts{}
	if err == nil {
		err = control.Unmarshal(out, hosts)
	}
	if err != nil {
		return nil, fmt.Errorf("find the keys of hosts: art-net: %w", err)
	}
	return hosts, nil
}

// connectAgent connects to the caller's own agent.
func connectAgent(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), "agent"), nil
}

// startAgent starts the guest's agent, at the socket that the guest connects to.
func (s *session) startAgent(fd int) (err error) {
	socket := os.NewFile(uintptr(fd), "socket")
	inherited := []*os.File{socket}
	defer func() { closeFiles(inherited) }()
	defer func() {
		if err != nil {
			err = fmt.Errorf("start the agent of SSH: %w", cli.Reason(err))
		}
	}()
	s.endAgent()
	if s.ssh == nil {
		return fmt.Errorf("nobody has asked for it")
	}
	own, err := connectAgent(s.sshPath)
	if err != nil {
		return err
	}
	inherited = append(inherited, own)
	cmd, err := libexec.Command("art-net", "ssh-agent")
	if err != nil {
		return err
	}
	stdin, life, err := os.Pipe()
	if err != nil {
		return err
	}
	inherited = append(inherited, stdin)
	rules, w, err := os.Pipe()
	if err != nil {
		life.Close()
		return err
	}
	defer w.Close()
	inherited = append(inherited, rules)
	p := &process{}
	s.sshAgent.report = &bounded{most: mostReport}
	stdout, err := p.add(s.sshAgent.report)
	if err == nil {
		err = p.begin(&spawn.Command{
			Path: cmd.Path, Args: cmd.Args, Env: libexec.CallerEnv(),
			Files:  []*os.File{stdin, stdout, s.null, socket, rules, own},
			Closed: true, Setsid: true,
		})
	}
	if err != nil {
		life.Close()
		return err
	}
	s.sshAgent.life, s.sshAgent.done = life, p.done
	_, err = w.Write(control.Marshal(s.ssh))
	return err
}

// endAgent ends the guest's agent.
func (s *session) endAgent() {
	if s.sshAgent.life == nil {
		return
	}
	s.sshAgent.life.Close()
	s.sshAgent.life = nil
	<-s.sshAgent.done // what it was killed by, the guest has noticed
}

// tellUnsigned says what the guest's agent has not signed.
func (s *session) tellUnsigned() {
	var report control.NetReport
	if s.sshAgent.report == nil || control.Unmarshal(s.sshAgent.report.Bytes(), &report) != nil {
		return
	}
	for _, d := range report.Denied {
		fmt.Fprintf(os.Stderr, "art: ssh: %s\n", deniedText(&d))
	}
}
