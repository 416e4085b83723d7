package sshgate

import (
	"bytes"
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
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// The markers of lines (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
const (
	markerAuthority = "@cert-authority"
	markerRevoked   = "@revoked"
)

// mostUnread is how many lines that cannot be read are told of.
const mostUnread = 5

// Known returns the keys of hosts (HOST:PORT) that files of the form known_hosts have, and those of authorities for their certificates.
// Those that are revoked are none. As for OpenSSH, a line that cannot be read is none: it is told of.
func Known(files, hosts []string) (*control.SSHHosts, error) {
	found := &control.SSHHosts{}
	lines, err := readable(files, found)
	if err != nil || len(lines) == 0 {
		return found, err
	}
	var plain, authorities [][]byte
	for _, line := range lines {
		if rest, ok := bytes.CutPrefix(line, []byte(markerAuthority)); ok {
			authorities = append(authorities, bytes.TrimLeft(rest, " \t"))
			continue
		}
		plain = append(plain, line)
		if !bytes.HasPrefix(line, []byte(markerRevoked)) {
			continue
		}
		authorities = append(authorities, line)
		_, _, key, _, _, err := ssh.ParseKnownHosts(line)
		if err != nil {
			return nil, fmt.Errorf("read the keys of hosts: %w", err)
		}
		found.Revoked = append(found.Revoked, authorized(key))
	}
	for _, authority := range []bool{false, true} {
		list := plain
		if authority {
			list = authorities
		}
		check, err := parse(list)
		if err != nil {
			return nil, fmt.Errorf("read the keys of hosts: %w", err)
		}
		for _, host := range hosts {
			keys, err := keysOf(check, host)
			if err != nil {
				return nil, fmt.Errorf("read the keys of %s: %w", host, err)
			}
			for _, key := range keys {
				one := control.SSHKnown{Host: knownhosts.Normalize(host), Key: authorized(key), Authority: authority}
				if !slices.Contains(found.Known, one) {
					found.Known = append(found.Known, one)
				}
			}
		}
	}
	return found, nil
}

func authorized(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// readable returns the lines of files that can be read. Of the others found says so.
func readable(files []string, found *control.SSHHosts) (lines [][]byte, _ error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the keys of hosts: %w", err)
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			line = bytes.TrimSpace(line)
			if len(line) == 0 || line[0] == '#' {
				continue
			}
			switch _, err := parse([][]byte{line}); {
			case err == nil:
				lines = append(lines, line)
			case len(found.Unread) < mostUnread:
				found.Unread = append(found.Unread, fmt.Sprintf("%s:%d", file, i+1))
			default:
				found.More++
			}
		}
	}
	return lines, nil
}

// parse reads lines, which the package that knows their form takes from a file alone.
func parse(lines [][]byte) (ssh.HostKeyCallback, error) {
	fd, err := unix.MemfdCreate("known_hosts", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "known_hosts")
	defer f.Close()
	if _, err := f.Write(bytes.Join(lines, []byte("\n"))); err != nil {
		return nil, err
	}
	return knownhosts.New(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// keysOf returns the keys of a host that check takes.
func keysOf(check ssh.HostKeyCallback, host string) (keys []ssh.PublicKey, _ error) {
	// The key of nobody: the answer says which ones it should have been.
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	nobody, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	err = check(host, &net.TCPAddr{}, nobody)
	want, ok := errors.AsType[*knownhosts.KeyError](err)
	if !ok {
		return nil, err
	}
	for _, k := range want.Want {
		if check(host, &net.TCPAddr{}, k.Key) == nil { // it is not revoked
			keys = append(keys, k.Key)
		}
	}
	return keys, nil
}
