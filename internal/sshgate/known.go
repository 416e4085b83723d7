package sshgate

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/riverlytech/art/internal/control"
)

// Known returns the keys of hosts (HOST:PORT) that files of the form known_hosts have. Those that are revoked are none.
func Known(files, hosts []string) ([]control.SSHKnown, error) {
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, err := os.Stat(file)
		return errors.Is(err, os.ErrNotExist)
	})
	if len(files) == 0 {
		return nil, nil
	}
	check, err := knownhosts.New(files...)
	if err != nil {
		return nil, fmt.Errorf("read the keys of hosts: %w", err)
	}
	// The key of nobody: the answer says which ones it should have been.
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	nobody, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	var known []control.SSHKnown
	for _, host := range hosts {
		var want *knownhosts.KeyError
		if err := check(host, &net.TCPAddr{}, nobody); !errors.As(err, &want) {
			continue
		}
		for _, k := range want.Want {
			if check(host, &net.TCPAddr{}, k.Key) != nil {
				continue
			}
			line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.Key)))
			one := control.SSHKnown{Host: knownhosts.Normalize(host), Key: line}
			if !slices.Contains(known, one) {
				known = append(known, one)
			}
		}
	}
	return known, nil
}
