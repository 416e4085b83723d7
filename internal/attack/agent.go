package attack

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/sandbox/view"
)

// Messages to an agent, and its answers (draft-ietf-sshm-ssh-agent).
const (
	agentSuccess   = 6
	agentList      = 11
	agentKeys      = 12
	agentSign      = 13
	agentSignature = 14
	agentAdd       = 17
	agentRemove    = 18
	agentLock      = 22
	agentUnlock    = 23
	agentExtend    = 27
)

// agent are ways to have the caller's agent of SSH do more for a guest than sign logins to some hosts. Where a session has none, nor
// has the host at that path, there is nothing to be tried.
func agent() []Attempt {
	return area("the agent of SSH", []Attempt{
		{Name: "have a text signed", Needs: Host, try: onAgent(func(a *agentConn) error { return a.sign([]byte("art")) })},
		{Name: "have a file signed", Needs: Host, try: onAgent(func(a *agentConn) error {
			return a.sign(append([]byte("SSHSIG"), packed("file", "", "sha512", strings.Repeat("x", 64))...))
		})},
		{Name: "have a login signed without a host", Needs: Host, try: onAgent(func(a *agentConn) error { return a.sign(a.login("session")) })},
		{Name: "have a login signed to a host of one's own", Needs: Host, try: onAgent(func(a *agentConn) error {
			if err := a.bind(a.own.Public().(ed25519.PublicKey), "session", false); err != nil {
				return err
			}
			return a.sign(a.login("session"))
		})},
		{Name: "have a login signed to a host that says nothing", Needs: Host, try: onAgent(func(a *agentConn) error {
			host, err := knownHost()
			if err != nil {
				return err
			}
			if err := a.bind(host, "session", false); err != nil {
				return err
			}
			return a.sign(a.login("session"))
		})},
		{Name: "forward the agent to a host of one's own", Needs: Host, try: onAgent(func(a *agentConn) error {
			return a.bind(a.own.Public().(ed25519.PublicKey), "session", true)
		})},
		{Name: "add a key to the agent", Needs: Host, try: onAgent(func(a *agentConn) error {
			public := string(a.own.Public().(ed25519.PublicKey))
			if err := a.succeeds(agentAdd, packed("ssh-ed25519", public, string(a.own), "art-attack")); err != nil {
				return err
			}
			return a.succeeds(agentRemove, packed(string(packed("ssh-ed25519", public))))
		})},
		{Name: "lock the agent", Needs: Host, try: onAgent(func(a *agentConn) error {
			if err := a.succeeds(agentLock, packed("art-attack")); err != nil {
				return err
			}
			return a.succeeds(agentUnlock, packed("art-attack"))
		})},
		{Name: "ask the agent what else it can", Needs: Host, try: onAgent(func(a *agentConn) error {
			kind, _, err := a.ask(agentExtend, packed("query"))
			if err == nil && kind != agentSuccess && kind != agentExtend+2 { // SSH_AGENT_EXTENSION_RESPONSE
				err = errNothing
			}
			return err
		})},
	})
}

// agentConn is a connection to the guest's agent.
type agentConn struct {
	io.ReadWriter
	key []byte             // the first that it has
	own ed25519.PrivateKey // of the attacker
}

// onAgent succeeds if try does on a connection to the guest's agent.
func onAgent(try func(*agentConn) error) func(*Target) error {
	return func(*Target) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "agent")
		defer f.Close()
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: view.SSHSocket}); err != nil {
			return err
		}
		a := &agentConn{ReadWriter: f, own: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
		if kind, keys, err := a.ask(agentList, nil); err == nil && kind == agentKeys && len(keys) > 8 {
			if n := binary.BigEndian.Uint32(keys[4:]); uint64(n) <= uint64(len(keys)-8) {
				a.key = keys[8 : 8+n]
			}
		}
		return try(a)
	}
}

// packed is strings as they are sent.
func packed(texts ...string) (b []byte) {
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return b
}

// ask asks something, and returns the answer.
func (a *agentConn) ask(kind byte, body []byte) (byte, []byte, error) {
	if _, err := a.Write(packed(string(append([]byte{kind}, body...)))); err != nil {
		return 0, nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(a, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > 1<<18 {
		return 0, nil, errors.New("the agent answers too much")
	}
	answer := make([]byte, n-1)
	_, err := io.ReadFull(a, answer)
	return head[4], answer, err
}

func (a *agentConn) succeeds(kind byte, body []byte) error {
	answer, _, err := a.ask(kind, body)
	if err == nil && answer != agentSuccess {
		err = fmt.Errorf("the agent refuses with %d", answer)
	}
	return err
}

// sign succeeds if the agent signs.
func (a *agentConn) sign(data []byte) error {
	if a.key == nil {
		return errNothing
	}
	answer, _, err := a.ask(agentSign, append(packed(string(a.key), string(data)), 0, 0, 0, 0))
	if err == nil && answer != agentSignature {
		err = fmt.Errorf("the agent refuses with %d", answer)
	}
	return err
}

// login is what is signed to log in (RFC 4252, 7).
func (a *agentConn) login(session string) []byte {
	kind := "ssh-ed25519"
	if len(a.key) > 4 {
		if n := binary.BigEndian.Uint32(a.key); uint64(n) <= uint64(len(a.key)-4) {
			kind = string(a.key[4 : 4+n])
		}
	}
	b := append(packed(session), 50) // SSH_MSG_USERAUTH_REQUEST
	b = append(append(b, packed("art", "ssh-connection", "publickey")...), 1)
	return append(b, packed(kind, string(a.key))...)
}

// bind says that the connection is for a session with a host, as signed by the attacker's key.
func (a *agentConn) bind(host ed25519.PublicKey, session string, forwarding bool) error {
	signature := packed("ssh-ed25519", string(ed25519.Sign(a.own, []byte(session))))
	body := packed("session-bind@openssh.com", string(packed("ssh-ed25519", string(host))), session, string(signature))
	if forwarding {
		return a.succeeds(agentExtend, append(body, 1))
	}
	return a.succeeds(agentExtend, append(body, 0))
}

// knownHost returns the key of a host that the guest may log in to.
func knownHost() (ed25519.PublicKey, error) {
	text, err := os.ReadFile("/etc/ssh/ssh_known_hosts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "ssh-ed25519" {
			continue
		}
		if key, err := base64.StdEncoding.DecodeString(fields[2]); err == nil && len(key) == 4+11+4+ed25519.PublicKeySize {
			return key[4+11+4:], nil
		}
	}
	return nil, errNothing
}
