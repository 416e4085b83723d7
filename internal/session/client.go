package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/version"
)

// errGone says that nobody listens on a socket any more.
var errGone = errors.New("it has ended")

// Dial connects to the session of an id, in one of the directories, and asks. The answer's body goes into body, if that is not
// nil.
func Dial(dirs []string, id string, kind control.AskKind, what, body any) (*Conn, error) {
	conn, err := dial(dirs, id)
	if err == nil {
		if err = conn.ask(kind, what, body); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	conn.setTimeout(0)
	return conn, nil
}

func dial(dirs []string, id string) (*Conn, error) {
	none := cli.WithHint(fmt.Errorf("find session %s: there is none of this id", cli.Printable(id)), "art ps lists them")
	if !IsID(id) {
		return nil, none
	}
	for _, path := range dirs {
		dir, err := openOwn(path)
		if err != nil {
			continue
		}
		conn, err := connect(dir, id+suffix)
		unix.Close(dir)
		switch {
		case errors.Is(err, unix.ENOENT):
			continue
		case errors.Is(err, errGone):
			return nil, none
		case err != nil:
			return nil, fmt.Errorf("connect to session %s: %w", id, err)
		}
		return conn, nil
	}
	return nil, none
}

// connect connects to a socket in a directory. One that nobody listens on any more it removes.
func connect(dir int, name string) (*Conn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	conn := newConn(fd) // its timeout is for connect too: a full queue is waited for (unix(7))
	err = unix.Connect(fd, address(dir, name))
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, unix.ECONNREFUSED):
		_ = unix.Unlinkat(dir, name, 0) // the next who looks tries again
		err = errGone
	case errors.Is(err, unix.EAGAIN):
		err = errSilent
	}
	conn.Close()
	return nil, err
}

var errSilent = errors.New("it does not answer")

// ask sends an Ask, and waits for the answer.
func (c *Conn) ask(kind control.AskKind, what, body any) error {
	ask := &control.Ask{Protocol: control.SessionProtocol, Version: version.Version, Kind: kind}
	if what != nil {
		ask.Body = control.Marshal(what)
	}
	if err := c.Send(ask); err != nil {
		return fmt.Errorf("ask the session: %w", silent(err))
	}
	return c.Answered(body)
}

// Answered waits for an answer.
func (c *Conn) Answered(body any) error {
	data, err := c.Receive()
	if err != nil {
		return fmt.Errorf("ask the session: %w", silent(err))
	}
	answer := &control.Answer{}
	if err = control.Unmarshal(data, answer); err == nil {
		err = answer.Err()
	}
	if err != nil || body == nil {
		return err
	}
	if answer.Version != version.Version {
		return &OtherVersionError{answer.Version}
	}
	return control.Unmarshal(answer.Body, body)
}

// silent says what an error of the time limit means.
func silent(err error) error {
	if errors.Is(err, unix.EAGAIN) {
		return errSilent
	}
	return err
}

// OtherVersionError is an answer of another version of art, whose content cannot be known.
type OtherVersionError struct{ Version string }

func (e *OtherVersionError) Error() string { return "it is art " + cli.Printable(e.Version) }

// IDs lists the ids of all sessions, and sweeps what killed ones have left, if nobody can connect to that.
func IDs(dirs []string) (ids []string) {
	for _, path := range dirs {
		fd, err := openOwn(path)
		if err != nil {
			continue // there is none, or it is somebody else's
		}
		dir := os.NewFile(uintptr(fd), path)
		names, _ := dir.Readdirnames(-1) // what it has given counts
		slices.Sort(names)
		for _, name := range names {
			if id := idOf(name); id != "" {
				ids = append(ids, id)
			} else if strings.HasPrefix(name, ".") {
				sweepTemporary(fd, name)
			}
		}
		dir.Close()
	}
	return ids
}

// sweepTemporary removes what was going to be a socket, if its process has ended, or it is old.
func sweepTemporary(dir int, name string) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return
	}
	if time.Since(time.Unix(st.Mtim.Unix())) > time.Minute || ended(temporaryPID(name)) {
		_ = unix.Unlinkat(dir, name, 0)
	}
}

// ended tells whether there is no process of an id.
func ended(pid int) bool { return pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// Reach asks who listens on a socket what it is, whoever put it there. It is what a guest must not be able to.
func Reach(path string) error {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	conn, err := connect(dir, filepath.Base(path))
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.ask(control.AskInfo, nil, &control.SessionInfo{})
}
