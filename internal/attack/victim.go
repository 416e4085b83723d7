package attack

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	user "github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/session"
)

// Target is what is attacked on the host, as the attacker is told of it.
type Target struct {
	pid  int     // of a process
	port int     // that the process listens on, on localhost
	own  [4]byte // an address of the host's, with the same port; or none
	dir  string  // where its socket and the database are
	home string  // something in the caller's home

	begun int64 // when the trial did, in nanoseconds

	config, state         string // where the caller's settings are, and what art remembers for him
	nearConfig, nearState string // the same, or the nearest directory above that is there

	session string // the socket of a session of the caller's

	path string // what the attacker was executed as
}

// database is the name of the database in the target's directory.
const database = "ws.db"

// secret begins the value of a variable that the host's processes have. In two parts,
// so that looking for it does not find who looks.
const secret = "c4llers-" + "secret"

// Secret is a variable for the environment of whatever is not to give it away.
const Secret = "ART_ATTACK=" + secret

func (t *Target) arguments() []string {
	return []string{strconv.Itoa(t.pid), strconv.Itoa(t.port), t.dir, t.home, strconv.FormatInt(t.begun, 10),
		t.config, t.state, t.nearConfig, t.nearState, t.session, hex.EncodeToString(t.own[:])}
}

func target(args []string) (*Target, error) {
	if len(args) != 11 {
		return nil, errors.New("attack: no target was given")
	}
	t := &Target{dir: args[2], home: args[3], config: args[5], state: args[6], nearConfig: args[7], nearState: args[8], session: args[9]}
	for i, into := range []*int{&t.pid, &t.port} {
		var err error
		if *into, err = strconv.Atoi(args[i]); err != nil {
			return nil, fmt.Errorf("attack: %w", err)
		}
	}
	own, err := hex.DecodeString(args[10])
	if err != nil || copy(t.own[:], own) != len(t.own) {
		return nil, errors.New("attack: no address was given")
	}
	if t.begun, err = strconv.ParseInt(args[4], 10, 64); err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	return t, nil
}

// abstract is the name of the socket without a file.
func (t *Target) abstract() string { return "@art-attack-" + strconv.Itoa(t.pid) }

func (t *Target) socket() string { return filepath.Join(t.dir, "socket") }

// proc is a path below the process in /proc.
func (t *Target) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(t.pid), name)
}

// Victim is this process as a target.
type Victim struct {
	*Target
	// Database is the path of an empty file, for a session's database.
	Database string
	// Left is a file for programs to inherit.
	Left *os.File

	closers []func() error
}

// NewVictim makes this process a target, with its files in dir. home is the caller's.
func NewVictim(dir, home string) (_ *Victim, err error) {
	v := &Victim{Target: &Target{pid: os.Getpid(), dir: dir, home: something(home)}}
	v.config, v.state = filepath.Dir(user.UserFile(os.Getenv)), user.StateDir(os.Getenv)
	v.nearConfig, v.nearState = nearest(v.config), nearest(v.state)
	v.Database = filepath.Join(dir, database)
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	if err = v.open(); err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	if v.Left, err = os.OpenFile(v.Database, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	v.closers = append(v.closers, v.Left.Close)
	if err = v.listen(); err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	v.begun = time.Now().UnixNano()
	return v, nil
}

// listen has this process look like a session.
func (v *Victim) listen() error {
	dir, err := session.Make(os.Getenv)
	if err != nil {
		dir = v.dir
	}
	server, err := session.Listen(dir, func(c *session.Conn, _ *control.Ask) {
		_ = c.Answer(&control.SessionInfo{PID: v.pid, Started: time.Now()}) // who has gone need not know
	})
	if err != nil {
		return err
	}
	v.session = server.Path()
	v.closers = append(v.closers, func() error { server.Close(); return nil })
	return nil
}

// open makes what there is to connect to.
func (v *Victim) open() error {
	listening := func(family int, address unix.Sockaddr) (int, error) {
		fd, err := listen(family, address)
		if err == nil {
			v.closers = append(v.closers, func() error { return unix.Close(fd) })
		}
		return fd, err
	}
	fd, err := listening(unix.AF_INET, localhost(0))
	if err != nil {
		return err
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	v.port = bound.(*unix.SockaddrInet4).Port
	v.openNetwork()
	for _, name := range []string{v.socket(), v.abstract()} {
		if _, err := listening(unix.AF_UNIX, &unix.SockaddrUnix{Name: name}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// nearest returns dir, or the first directory above it that is there.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// something returns the path of something in a directory, whether there is anything
// or not.
func something(dir string) string {
	name := "none"
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		name = entries[0].Name()
	}
	return filepath.Join(dir, name)
}

// Close ends what can be attacked.
func (v *Victim) Close() {
	for _, end := range v.closers {
		_ = end() // nothing was written there
	}
}

// field returns the value of a field in a file such as /proc/PID/status.
func field(path, name string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s says nothing of %s", path, name)
}
