// Package session is how sessions that run are found, and what they are asked. Each listens on a socket of its own in a
// directory of the user's; there is no other register, and no daemon.
//
//	directory.go  where the sockets are
//	server.go     the session's side
//	peer.go       who may connect
//	client.go     the side of who asks
//	list.go       all sessions, and what they use (art ps)
//	log.go        what sessions in the background write (art logs)
//	ended.go      how they ended (art wait)
package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
)

const suffix = ".sock"

// Directories returns where sockets of the user's sessions may be, given the environment: first where new ones go. Another
// session may have another environment, as that of a shell without a login.
func Directories(getenv func(string) string) (dirs []string) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, filepath.Join(dir, "art"))
		}
	}
	if dir := config.StateDir(getenv); dir != "" {
		dirs = append(dirs, filepath.Join(dir, "sessions"))
	}
	return dirs
}

// Make makes the directory for the sockets of new sessions, and returns its path; nobody but the caller can get at what is in
// there.
func Make(getenv func(string) string) (string, error) {
	dirs := Directories(getenv)
	if len(dirs) == 0 {
		return "", cli.WithHint(errors.New("find a directory for sessions: neither XDG_RUNTIME_DIR nor HOME is set"), "set HOME")
	}
	var failed error
	for _, dir := range dirs {
		err := makeOwn(dir)
		if err == nil {
			return dir, nil
		}
		failed = errors.Join(failed, fmt.Errorf("make a directory for sessions: %s: %w", dir, cli.Reason(err)))
	}
	return "", failed
}

func makeOwn(dir string) error {
	err := unix.Mkdir(dir, 0o700)
	if errors.Is(err, unix.ENOENT) {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	fd, err := openOwn(dir)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// openOwn opens a directory of sockets, if nobody but the caller can get at it.
func openOwn(dir string) (fd int, err error) {
	fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		switch {
		case int(st.Uid) != os.Getuid():
			err = errors.New("it belongs to somebody else")
		case st.Mode&0o077 != 0:
			err = unix.Fchmod(fd, 0o700)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// address returns the address of a socket in the directory that fd is open for. It takes no more room than sun_path has,
// however long the path of the directory is (unix(7)).
func address(fd int, name string) *unix.SockaddrUnix {
	return &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", fd, name)}
}

// newID returns an id: two syllables, which can be said and typed.
func newID() string {
	const consonants, vowels = "bdfghjklmnprstvwz", "aeiou"
	var id [4]byte
	_, _ = unix.Getrandom(id[:], 0) // cannot fail for so few, once the machine has begun (getrandom(2))
	for i, random := range id {
		from := consonants
		if i%2 == 1 {
			from = vowels
		}
		id[i] = from[int(random)%len(from)]
	}
	return string(id[:])
}

// IsID tells whether a word could be an id.
func IsID(word string) bool {
	return word != "" && len(word) <= 32 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// idOf returns the id in the name of a socket, or "".
func idOf(name string) string {
	id, ok := strings.CutSuffix(name, suffix)
	if !ok || !IsID(id) {
		return ""
	}
	return id
}
