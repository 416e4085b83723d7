package sandbox

import (
	"crypto/ed25519"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh/agent"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sshgate"
)

// offered returns the keys that the guest's agent offers with some settings, by all that lies between; there may be no agent.
func offered(t *testing.T, s *config.SSH) (comments []string, there bool) {
	t.Helper()
	what := signing(s)
	if what == nil {
		return nil, false
	}
	var sent control.SSH
	if err := control.Unmarshal(control.Marshal(what), &sent); err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring().(agent.ExtendedAgent)
	for i, comment := range []string{"deploy", "home"} {
		key := ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), byte(i)))
		if err := ring.Add(agent.AddedKey{PrivateKey: key, Comment: comment}); err != nil {
			t.Fatal(err)
		}
	}
	gate, err := sshgate.New(ring, &sent)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { _ = gate.Serve(l) }() // to the end of l
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	keys, err := agent.NewClient(c).List()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		comments = append(comments, k.Comment)
	}
	return comments, true
}

// A workspace whose keys are none that the user allows gets none, not all.
func TestSSHKeysOfWorkspace(t *testing.T) {
	entries := func(values ...string) (list []config.Entry) {
		for _, v := range values {
			list = append(list, config.Entry{Value: v})
		}
		return list
	}
	hosts := entries("git.example")
	for _, c := range []struct {
		user, own []config.Entry
		keys      int
	}{
		{nil, nil, 2}, {entries("deploy"), nil, 1}, {nil, entries("deploy"), 1}, {entries("deploy"), entries("deploy", "nope"), 1},
		{entries("deploy"), entries("nope"), 0}, {entries("deploy"), entries("home"), 0}, {nil, entries("nope"), 0},
	} {
		merged, _, err := config.Merge(&config.Settings{SSH: config.SSH{Hosts: hosts, Keys: c.user}}, &config.Settings{SSH: config.SSH{Hosts: hosts, Keys: c.own}}, "/ws", false)
		if err != nil {
			t.Fatal(err)
		}
		if keys, _ := offered(t, &merged.SSH); len(keys) != c.keys {
			t.Errorf("of %v, a workspace with %v has %q", c.user, c.own, keys)
		}
	}
	if keys, there := offered(t, &config.SSH{Hosts: hosts, Keys: []config.Entry{}}); there {
		t.Errorf("without a key there is an agent, with %q", keys)
	}
}
