package sshgate

import (
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/riverlytech/art/internal/control"
)

func newSigner(t testing.TB) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// world is a guest with an agent, and two hosts of which one is allowed.
type world struct {
	gate       *Gate
	own, other ssh.PublicKey // the caller's keys; of the other one the guest has nothing
	host, evil ssh.Signer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	ring := agent.NewKeyring().(agent.ExtendedAgent)
	w := &world{host: newSigner(t), evil: newSigner(t)}
	for comment, into := range map[string]*ssh.PublicKey{"work": &w.own, "home": &w.other} {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Add(agent.AddedKey{PrivateKey: key, Comment: comment}); err != nil {
			t.Fatal(err)
		}
		s, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		*into = s.PublicKey()
	}
	var err error
	w.gate, err = New(ring, &control.SSH{Keys: []string{"work"}, Known: []control.SSHKnown{{Host: "git.example", Key: authorized(w.host.PublicKey())}}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) connect(t testing.TB) agent.ExtendedAgent {
	t.Helper()
	guest, gate := net.Pipe()
	t.Cleanup(func() { guest.Close() })
	go func() { _ = agent.ServeAgent(&conn{g: w.gate}, gate) }()
	return agent.NewClient(guest)
}

// bind is what a program says of its session, which a host has signed.
func bind(t testing.TB, host ssh.PublicKey, by ssh.Signer, session string, forwarding bool) []byte {
	t.Helper()
	sig, err := by.Sign(rand.Reader, []byte(session))
	if err != nil {
		t.Fatal(err)
	}
	return ssh.Marshal(struct {
		HostKey, Session, Signature []byte
		Forwarding                  bool
	}{host.Marshal(), []byte(session), ssh.Marshal(sig), forwarding})
}

// login is what is signed to log in.
func login(session, service, method string, key ssh.PublicKey, rest ...byte) []byte {
	return ssh.Marshal(struct {
		Session               []byte
		Type                  byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
		Rest                  []byte `ssh:"rest"`
	}{[]byte(session), 50, "me", service, method, true, key.Type(), key.Marshal(), rest})
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	if keys, err := c.List(); err != nil || len(keys) != 1 || keys[0].Comment != "work" {
		t.Errorf("the keys are %v, %v", keys, err)
	}
	if _, err := c.Extension(sessionBind, bind(t, w.host.PublicKey(), w.host, "s1", false)); err != nil {
		t.Fatal(err)
	}
	hostbound := func(k ssh.PublicKey) []byte { return ssh.Marshal(struct{ K []byte }{k.Marshal()}) }
	for name, data := range map[string][]byte{
		"a login": login("s1", "ssh-connection", "publickey", w.own),
		"a bound": login("s1", "ssh-connection", "publickey-hostbound-v00@openssh.com", w.own, hostbound(w.host.PublicKey())...),
	} {
		sig, err := c.Sign(w.own, data)
		if err != nil || w.own.Verify(data, sig) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"another session":   login("s2", "ssh-connection", "publickey", w.own),
		"another service":   login("s1", "other", "publickey", w.own),
		"another method":    login("s1", "ssh-connection", "hostbased", w.own),
		"another key":       login("s1", "ssh-connection", "publickey", w.other),
		"more than that":    login("s1", "ssh-connection", "publickey", w.own, 1),
		"another host":      login("s1", "ssh-connection", "publickey-hostbound-v00@openssh.com", w.own, hostbound(w.evil.PublicKey())...),
		"no host":           login("s1", "ssh-connection", "publickey-hostbound-v00@openssh.com", w.own),
		"a file":            []byte("SSHSIG\x00\x00\x00\x04file"),
		"nothing":           nil,
		"a tag that is git": []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"),
	} {
		if sig, err := c.Sign(w.own, data); err == nil {
			t.Errorf("%s: %v", name, sig)
		}
	}
	if _, err := c.Sign(w.other, login("s1", "ssh-connection", "publickey", w.other)); err == nil {
		t.Error("a key that is not allowed signs")
	}
	for name, err := range map[string]error{"remove": c.RemoveAll(), "lock": c.Lock([]byte("x")), "add": c.Add(agent.AddedKey{PrivateKey: ed25519.NewKeyFromSeed(make([]byte, 32))})} {
		if err == nil {
			t.Errorf("%s: it is done", name)
		}
	}
	if r := w.gate.Report(); len(r.Denied) < 3 {
		t.Errorf("denied was %v", r)
	}
}

// Who is allowed no key has none.
func TestNoKeys(t *testing.T) {
	for all, want := range map[bool]int{false: 0, true: 1} {
		ring := agent.NewKeyring().(agent.ExtendedAgent)
		if err := ring.Add(agent.AddedKey{PrivateKey: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Comment: "work"}); err != nil {
			t.Fatal(err)
		}
		gate, err := New(ring, &control.SSH{AllKeys: all})
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := (&world{gate: gate}).connect(t).List(); err != nil || len(keys) != want {
			t.Errorf("all %v: the keys are %v, %v", all, keys, err)
		}
	}
}

// A connection that was bound to what is not allowed signs nothing any more.
func TestBind(t *testing.T) {
	w := newWorld(t)
	good := bind(t, w.host.PublicKey(), w.host, "s1", false)
	for name, binds := range map[string][][]byte{
		"none":                  nil,
		"another host":          {bind(t, w.evil.PublicKey(), w.evil, "s1", false)},
		"another host's word":   {bind(t, w.host.PublicKey(), w.evil, "s1", false)},
		"forwarded":             {bind(t, w.host.PublicKey(), w.host, "s1", true)},
		"forwarded after":       {good, bind(t, w.host.PublicKey(), w.host, "s2", true)},
		"a host after another":  {bind(t, w.evil.PublicKey(), w.evil, "s1", false), good},
		"another session after": {good, bind(t, w.host.PublicKey(), w.host, "s2", false)},
		"no session":            {bind(t, w.host.PublicKey(), w.host, "", false)},
		"what cannot be read":   {[]byte("x")},
		"no signature": {ssh.Marshal(struct {
			A, B, C []byte
			D       bool
		}{w.host.PublicKey().Marshal(), []byte("s1"), nil, false})},
	} {
		c := w.connect(t)
		for _, b := range binds {
			_, _ = c.Extension(sessionBind, b)
		}
		for _, session := range []string{"s1", "s2", ""} {
			if _, err := c.Sign(w.own, login(session, "ssh-connection", "publickey", w.own)); err == nil {
				t.Errorf("%s: it signs", name)
			}
		}
	}
	c := w.connect(t)
	if _, err := c.Extension("other@example", []byte("x")); err == nil {
		t.Error("another extension is offered")
	}
}

func TestKnown(t *testing.T) {
	a, b, revoked, authority, old := newSigner(t).PublicKey(), newSigner(t).PublicKey(), newSigner(t).PublicKey(), newSigner(t).PublicKey(), newSigner(t).PublicKey()
	file := filepath.Join(t.TempDir(), "known_hosts")
	// What OpenSSH passes over is none either: a key of a kind to come, half a line, a marker of a version to come, noise.
	text := "# keys\ngit.example,10.0.0.1 " + authorized(a) + "\n" + knownhosts.HashHostname("[git.example]:2222") + " " + authorized(b) +
		"\nother.example " + authorized(b) + "\ngit.example " + authorized(revoked) + "\n@revoked * " + authorized(revoked) +
		"\ngit.example ssh-next AAAA\ngit.example ssh-ed25519\n@next git.example " + authorized(b) + "\n\x00\xff\n|1|x|y " + authorized(b) + "\n!\n" +
		"@cert-authority *.example " + authorized(authority) + "\n@cert-authority git.example " + authorized(old) + "\n@revoked * " + authorized(old) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := Known([]string{file, file + ".none"}, []string{"git.example:22", "git.example:2222", "nobody.invalid:22"})
	if err != nil {
		t.Fatal(err)
	}
	want := []control.SSHKnown{
		{Host: "git.example", Key: authorized(a)}, {Host: "[git.example]:2222", Key: authorized(b)},
		{Host: "git.example", Key: authorized(authority), Authority: true},
	}
	if !slices.Equal(found.Known, want) || !slices.Equal(found.Revoked, []string{authorized(revoked), authorized(old)}) {
		t.Errorf("they are %v, and revoked %v", found.Known, found.Revoked)
	}
	if len(found.Unread) != mostUnread || found.More != 1 || found.Unread[0] != file+":7" {
		t.Errorf("told of are %v and %d more", found.Unread, found.More)
	}
	if found, err := Known([]string{file + ".none"}, []string{"git.example:22"}); len(found.Known) != 0 || err != nil {
		t.Errorf("without files they are %v, %v", found.Known, err)
	}
}

// The key of an authority is no host's, but its certificates are: for the host that they name, as long as they are valid.
func TestCertificates(t *testing.T) {
	authority, host, revoked := newSigner(t), newSigner(t), newSigner(t)
	w := newWorld(t)
	gate, err := New(w.gate.own, &control.SSH{
		AllKeys: true, Revoked: []string{authorized(revoked.PublicKey())},
		Known: []control.SSHKnown{{Host: "git.example", Key: authorized(authority.PublicKey()), Authority: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.gate = gate
	certificate := func(change func(*ssh.Certificate), key, by ssh.Signer) ssh.PublicKey {
		c := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"git.example"}, ValidBefore: ssh.CertTimeInfinity}
		change(c)
		if err := c.SignCert(rand.Reader, by); err != nil {
			t.Fatal(err)
		}
		return c
	}
	same := func(*ssh.Certificate) {}
	for _, c := range []struct {
		what string
		host ssh.PublicKey
		by   ssh.Signer
		may  bool
	}{
		{"a certificate", certificate(same, host, authority), host, true},
		{"one of another host", certificate(func(c *ssh.Certificate) { c.ValidPrincipals = []string{"evil.example"} }, host, authority), host, false},
		{"one of a user", certificate(func(c *ssh.Certificate) { c.CertType = ssh.UserCert }, host, authority), host, false},
		{"one that has expired", certificate(func(c *ssh.Certificate) { c.ValidBefore = 1 }, host, authority), host, false},
		{"one by somebody else", certificate(same, host, w.evil), host, false},
		{"one of a key that is revoked", certificate(same, revoked, authority), revoked, false},
		{"one whose key has not signed the session", certificate(same, host, authority), w.evil, false},
		{"the authority's own key", authority.PublicKey(), authority, false},
		{"the host's key alone", host.PublicKey(), host, false},
	} {
		_, err := w.connect(t).Extension(sessionBind, bind(t, c.host, c.by, "s1", false))
		if (err == nil) != c.may {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func FuzzRequests(f *testing.F) {
	w := newWorld(f)
	f.Add(append([]byte{27}, ssh.Marshal(struct {
		Kind string
		Rest []byte `ssh:"rest"`
	}{sessionBind, bind(f, w.host.PublicKey(), w.host, "s1", false)})...))
	f.Add(append([]byte{13}, ssh.Marshal(struct {
		Key, Data []byte
		Flags     uint32
	}{w.own.Marshal(), login("s1", "ssh-connection", "publickey", w.own), 0})...))
	f.Fuzz(func(t *testing.T, request []byte) {
		guest, gate := net.Pipe()
		go func() {
			defer gate.Close()
			_ = agent.ServeAgent(&conn{g: w.gate}, gate)
		}()
		defer guest.Close()
		length := uint32(len(request))
		if _, err := guest.Write(append([]byte{byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}, request...)); err != nil {
			return
		}
		var answer [5]byte
		if _, err := io.ReadFull(guest, answer[:]); err == nil && answer[4] == 14 {
			t.Fatal("it was signed")
		}
	})
}
