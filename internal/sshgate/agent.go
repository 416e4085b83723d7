// Package sshgate lets a guest log in over SSH with keys that it does not have, to some hosts alone. It stands between the guest and the
// caller's own agent, and offers of that what a login takes: a list of keys, and signatures. A signature is one of a login to a host
// whose key is known: OpenSSH binds a connection to its agent to the session that it is for, by a signature of the host itself
// (session-bind@openssh.com, PROTOCOL.agent of OpenSSH).
//
//	agent.go  what the guest can ask
//	known.go  the keys of hosts
package sshgate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/riverlytech/art/internal/control"
)

// mostConns is how many connections there can be at once, and mostDenials how many different denials are remembered.
const (
	mostConns   = 16
	mostDenials = 20
)

const sessionBind = "session-bind@openssh.com"

// Gate is what the guest asks for signatures.
type Gate struct {
	own   agent.ExtendedAgent // the caller's
	all   bool                // of its keys
	keys  []string            // or these: fingerprints or comments
	known [][]byte            // keys of hosts
	signs []authority         // of certificates of hosts
	bad   [][]byte            // keys that no certificate makes those of hosts

	mu     sync.Mutex
	denied map[string]int // GUARDED_BY(mu)
	more   int            // GUARDED_BY(mu)
}

// New returns a gate to the caller's own agent.
func New(own agent.ExtendedAgent, what *control.SSH) (*Gate, error) {
	g := &Gate{own: own, all: what.AllKeys, keys: what.Keys, denied: map[string]int{}}
	for _, k := range what.Known {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k.Key))
		if err != nil {
			return nil, fmt.Errorf("read the key of %s: %w", k.Host, err)
		}
		if k.Authority {
			g.signs = append(g.signs, authority{host: k.Host, key: key.Marshal()})
		} else {
			g.known = append(g.known, key.Marshal())
		}
	}
	for _, k := range what.Revoked {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k))
		if err != nil {
			return nil, fmt.Errorf("read a key that is revoked: %w", err)
		}
		g.bad = append(g.bad, key.Marshal())
	}
	return g, nil
}

// authority is a key that signs the certificates of a host, which is called as known_hosts has it.
type authority struct {
	host string
	key  []byte
}

// knows says whether a key is one of a host that the guest may log in to, or a certificate of one.
func (g *Gate) knows(key ssh.PublicKey) bool {
	certificate, ok := key.(*ssh.Certificate)
	if !ok {
		return slices.ContainsFunc(g.known, func(known []byte) bool { return bytes.Equal(known, key.Marshal()) })
	}
	return slices.ContainsFunc(g.signs, func(a authority) bool {
		address := a.host
		if !strings.HasPrefix(address, "[") {
			address = net.JoinHostPort(address, "22")
		}
		check := ssh.CertChecker{
			IsHostAuthority: func(k ssh.PublicKey, _ string) bool { return bytes.Equal(a.key, k.Marshal()) },
			IsRevoked: func(c *ssh.Certificate) bool {
				return slices.ContainsFunc(g.bad, func(bad []byte) bool { return bytes.Equal(bad, c.Key.Marshal()) })
			},
		}
		return check.CheckHostKey(address, nil, certificate) == nil
	})
}

// Serve serves guests that connect, to the end of l.
func (g *Gate) Serve(l net.Listener) error {
	conns := make(chan struct{}, mostConns)
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		conns <- struct{}{}
		go func() {
			defer func() { <-conns }()
			defer c.Close()
			_ = agent.ServeAgent(&conn{g: g}, c) // to its end, whichever that is
		}()
	}
}

// Report returns what was denied so far.
func (g *Gate) Report() *control.NetReport {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &control.NetReport{More: g.more}
	for _, why := range slices.SortedFunc(maps.Keys(g.denied), func(a, b string) int { return cmp.Or(g.denied[b]-g.denied[a], cmp.Compare(a, b)) }) {
		r.Denied = append(r.Denied, control.Denial{What: "a signature", Why: why, Times: g.denied[why]})
	}
	return r
}

// deny notes a denial, and returns it.
func (g *Gate) deny(why string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.denied[why]; !ok && len(g.denied) >= mostDenials {
		g.more++
	} else {
		g.denied[why]++
	}
	return errors.New(why)
}

// allows says whether the guest may use a key.
func (g *Gate) allows(k *agent.Key) bool {
	return g.all || slices.Contains(g.keys, k.Comment) || slices.Contains(g.keys, ssh.FingerprintSHA256(k))
}

var errNotOffered = errors.New("it is not offered")

// conn is one connection of the guest's: the agent that it has. It is for one goroutine.
type conn struct {
	g       *Gate
	session []byte // that it is bound to, or nil
	host    []byte // the key of the host that has said so
	spoilt  bool   // it was bound to what is not allowed
}

// List implements agent.Agent.
func (c *conn) List() ([]*agent.Key, error) {
	if c.spoilt {
		return nil, errNotOffered
	}
	all, err := c.g.own.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(k *agent.Key) bool { return !c.g.allows(k) }), nil
}

// Extension implements agent.ExtendedAgent.
func (c *conn) Extension(kind string, contents []byte) ([]byte, error) {
	if kind != sessionBind {
		return nil, agent.ErrExtensionUnsupported
	}
	err := c.bind(contents)
	if err != nil {
		c.spoilt = true
	}
	return nil, err
}

// bind binds the connection to a session, for good.
func (c *conn) bind(contents []byte) error {
	var b struct {
		HostKey, Session, Signature []byte
		Forwarding                  bool
	}
	if err := ssh.Unmarshal(contents, &b); err != nil {
		return err
	}
	key, err := ssh.ParsePublicKey(b.HostKey)
	if err != nil {
		return err
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(b.Signature, &sig); err != nil {
		return err
	}
	switch {
	case c.session != nil:
		return c.g.deny("the connection is for a session already")
	case b.Forwarding:
		return c.g.deny("the agent would be forwarded to a host")
	case len(b.Session) == 0:
		return c.g.deny("there is no session")
	case !c.g.knows(key):
		return c.g.deny("it is for a host that is not named, or whose key is not known: " + ssh.FingerprintSHA256(key))
	}
	if err := key.Verify(b.Session, &sig); err != nil {
		return c.g.deny("the host has not signed the session")
	}
	c.session, c.host = b.Session, key.Marshal()
	return nil
}

// Sign implements agent.Agent.
func (c *conn) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return c.SignWithFlags(key, data, 0)
}

// SignWithFlags implements agent.ExtendedAgent.
func (c *conn) SignWithFlags(key ssh.PublicKey, data []byte, flags agent.SignatureFlags) (*ssh.Signature, error) {
	if err := c.check(key, data); err != nil {
		return nil, err
	}
	keys, err := c.List()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(keys, func(k *agent.Key) bool { return bytes.Equal(k.Marshal(), key.Marshal()) }) {
		return nil, c.g.deny("it is by a key that is not allowed: " + ssh.FingerprintSHA256(key))
	}
	return c.g.own.SignWithFlags(key, data, flags)
}

// check refuses what is not the login to the session that the connection is bound to (RFC 4252, 7, and PROTOCOL of OpenSSH, 3.1).
func (c *conn) check(key ssh.PublicKey, data []byte) error {
	const userauthRequest = 50
	var login struct {
		Session               []byte
		Type                  byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
		Rest                  []byte `ssh:"rest"`
	}
	switch err := ssh.Unmarshal(data, &login); {
	case c.spoilt:
		return c.g.deny("the session is not one with a host that is allowed")
	case c.session == nil:
		return c.g.deny("the program does not say which session it is for (OpenSSH does from 8.9 on)")
	case err != nil, login.Type != userauthRequest, login.Service != "ssh-connection", !login.Signed, !bytes.Equal(login.Key, key.Marshal()):
		return c.g.deny("it is not for a login")
	case !bytes.Equal(login.Session, c.session):
		return c.g.deny("it is for another session")
	}
	switch login.Method {
	case "publickey":
		if len(login.Rest) == 0 {
			return nil
		}
	case "publickey-hostbound-v00@openssh.com":
		var bound struct{ Host []byte }
		if ssh.Unmarshal(login.Rest, &bound) == nil && bytes.Equal(bound.Host, c.host) {
			return nil
		}
	}
	return c.g.deny("it is not for a login")
}

// What follows would change the caller's agent.

// Add implements agent.Agent.
func (c *conn) Add(agent.AddedKey) error { return errNotOffered }

// Remove implements agent.Agent.
func (c *conn) Remove(ssh.PublicKey) error { return errNotOffered }

// RemoveAll implements agent.Agent.
func (c *conn) RemoveAll() error { return errNotOffered }

// Lock implements agent.Agent.
func (c *conn) Lock([]byte) error { return errNotOffered }

// Unlock implements agent.Agent.
func (c *conn) Unlock([]byte) error { return errNotOffered }

// Signers implements agent.Agent.
func (c *conn) Signers() ([]ssh.Signer, error) { return nil, errNotOffered }
